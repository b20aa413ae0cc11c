"""Outputs of the reference implementations, read from beside the repository where they are at hand."""

from pathlib import Path

import pytest

ORACLES = Path(__file__).resolve().parents[2] / "shared" / "oracles"
NAMES = ["degenerate", "dense_bin", "imbalanced", "multi4", "sparse_bin", "unipolar"]
needs_oracles = pytest.mark.skipif(not ORACLES.exists(), reason="the reference outputs are not beside the repository")
on_oracles = pytest.mark.parametrize("name", NAMES)
