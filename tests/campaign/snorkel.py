"""`hyperlabel.compat.snorkel` against Snorkel itself, where it is installed: voters and analyses say the same."""

import importlib.util
from typing import Any

import numpy as np

from hyperlabel.compat import snorkel as ours
from tests.campaign.hostile import Rng

HAS_SNORKEL = importlib.util.find_spec("snorkel") is not None


def run_case(rng: Rng) -> None:
    """One matrix of votes, by both."""
    if not HAS_SNORKEL:
        return
    from snorkel import labeling as theirs
    from snorkel.labeling.model import MajorityClassVoter, MajorityLabelVoter

    k = int(rng.integers(2, 5))
    votes = rng.integers(-1, k, (int(rng.integers(1, 40)), int(rng.integers(1, 6))))
    votes[0, 0] = k - 1  # Snorkel takes the number of classes from the largest vote
    voter = ours.MajorityLabelVoter(cardinality=k)
    np.testing.assert_allclose(voter.predict_proba(votes), MajorityLabelVoter(cardinality=k).predict_proba(votes))
    labels = MajorityLabelVoter(cardinality=k).predict(votes, tie_break_policy="abstain")
    np.testing.assert_array_equal(voter.predict(votes, tie_break_policy="abstain"), labels)
    balance = rng.dirichlet(np.ones(k))
    classes = ours.MajorityClassVoter(cardinality=k), MajorityClassVoter(cardinality=k)
    for each in classes:
        each.fit(balance)
    np.testing.assert_allclose(*(each.predict_proba(votes) for each in classes))
    compare_analyses(ours.LFAnalysis(votes), theirs.LFAnalysis(votes), rng.integers(0, k, len(votes)))


def compare_analyses(one: Any, other: Any, truth: Any) -> None:
    """Everything that both say of LFs."""
    for verb in ("lf_coverages", "lf_overlaps", "lf_conflicts", "label_coverage", "label_overlap", "label_conflict"):
        np.testing.assert_allclose(getattr(one, verb)(), getattr(other, verb)(), err_msg=verb)
    np.testing.assert_allclose(one.lf_empirical_accuracies(truth), other.lf_empirical_accuracies(truth))
    assert one.lf_polarities() == other.lf_polarities()
