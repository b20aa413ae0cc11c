"""Outputs of the reference implementations; tests/oracles/provenance.json says how each was made."""

from pathlib import Path

import pytest

ORACLES = Path(__file__).parent / "oracles"
NAMES = ["degenerate", "dense_bin", "imbalanced", "multi4", "sparse_bin", "unipolar"]
on_oracles = pytest.mark.parametrize("name", NAMES)
