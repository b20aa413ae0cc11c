"""Probabilities of the bundled weights on fixed votes, to the last digits that float32 has.

A change here means that users get other labels. If that is wanted, write the file anew and say so in the changelog:

    python tests/test_golden.py
"""

import json
from pathlib import Path

import numpy as np
import pytest

import hyperlabel as hl

GOLDEN = Path(__file__).with_name("golden.json")
WEIGHTS = ("hlm", "hlm-text", "hlm2", "hlm3")
CASES = {"two classes": (40, 6, 2), "four classes": (30, 5, 4), "many LFs": (12, 80, 2), "one LF": (6, 1, 2)}


def draw_votes(n, m, k):
    rng = np.random.default_rng([n, m, k])
    return np.where(rng.random((n, m)) < 0.5, rng.integers(0, k, (n, m)), -1)


def probabilities(weights, case, *, gold):
    n, m, k = CASES[case]
    votes = draw_votes(n, m, k)
    known = {i: i % k for i in range(0, n, 3)} if gold else None
    return hl.HyperLabelModel(weights=weights, n_classes=k).fit(votes, known).predict_proba(votes)


def key(weights, case, *, gold):
    return f"{weights}, {case}, gold" if gold else f"{weights}, {case}"


@pytest.mark.parametrize("gold", [False, True])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_probabilities_of_bundled_weights_are_as_recorded(weights, case, gold):
    recorded = json.loads(GOLDEN.read_text())[key(weights, case, gold=gold)]
    np.testing.assert_allclose(probabilities(weights, case, gold=gold), recorded, atol=2e-6)


if __name__ == "__main__":
    cases = [(weights, case, gold) for weights in WEIGHTS for case in CASES for gold in (False, True)]
    record = {key(w, c, gold=g): probabilities(w, c, gold=g).tolist() for w, c, g in cases}
    GOLDEN.write_text(json.dumps(record) + "\n")
