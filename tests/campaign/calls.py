"""Public calls on odd data: an answer that makes sense, or one of our own errors."""

from collections.abc import Callable
from typing import Any

import numpy as np

import hyperlabel as hl
from hyperlabel.lf import LFAnalysis
from tests.campaign.hostile import Rng, array, cell, check_error, frame, sparse, votes

QUICK = ("hlm3", "hlm2", "hlm", "mv", "bv", "dp", "fs", "ds", "hds", "nplm", "metal", "auto", "cll")
PARAMS = {
    "n_classes": (2, 3, 1),
    "classes": ([0, 1], ["ham", "spam"], [False, True]),
    "tie_break": ("abstain", "random"),
    "seed": (1, -2, 2**40),
    "max_iter": (1, 5),
    "tol": (0.1,),
    "class_balance": ([0.5, 0.5], {0: 0.3, 1: 0.7}),
    "weights": ("hlm", "hlm2"),
    "lf_accuracies": ([0.7, None], {"lf0": 0.8}),
    "smoothing": (0.5, "learned"),
    "abstain": ("ignore", "outcome"),
    "power": (0.3,),
    "epochs": (2,),
    "prior_weight": (0.1,),
    "error_bound": (0.1,),
}


def model(rng: Rng) -> Any:
    """A quick label model with parameters that differ from the defaults."""
    name = str(rng.choice(QUICK))
    known = [p for p in hl.label_model(name).get_params() if p in PARAMS and not (p == "weights" and name == "hlm")]
    chosen = rng.choice(known, rng.integers(0, 3), replace=False) if rng.random() < 0.5 else []
    params = {str(p): PARAMS[str(p)][rng.integers(len(PARAMS[str(p)]))] for p in chosen}
    if "max_iter" in hl.label_model(name).get_params():
        params.setdefault("max_iter", 20)
    return hl.label_model(name, **params)


def gold(rng: Rng, n: int) -> Any:
    """Gold, sane or not."""
    kinds = (None, rng.integers(-1, 3, n), {int(rng.integers(n + 1)): int(rng.integers(3))}, {0: cell(rng)}, array(rng))
    return kinds[rng.integers(len(kinds))]


def check_labels(given: Any, labels: Any) -> None:
    """n rows in, n rows out."""
    if isinstance(given, np.ndarray | list) and not isinstance(given, hl.Patterns):
        assert len(labels) == len(given), (len(labels), len(given))


def check_shares(given: Any, shares: Any) -> None:
    """One distribution per row."""
    check_labels(given, shares)
    assert np.isfinite(shares).all()
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-6)


def predict(rng: Rng) -> None:
    given = votes(rng)
    check_labels(given, model(rng).predict(given, str(rng.choice(["accuracy", "f1"]))))


def predict_proba(rng: Rng) -> None:
    given = votes(rng)
    check_shares(given, model(rng).predict_proba(given))


def fit_predict(rng: Rng) -> None:
    given = votes(rng)
    n = len(given) if isinstance(given, list) or (isinstance(given, np.ndarray) and given.ndim) else 3
    check_shares(given, model(rng).fit_predict_proba(given, gold(rng, n)))


def fit_then_predict(rng: Rng) -> None:
    fitted = model(rng).fit(array(rng, sane=True))
    given = votes(rng)
    check_shares(given, fitted.predict_proba(given))
    labels = fitted.label(given)
    assert len(labels.confidence) == len(labels.labels)


def score(rng: Rng) -> None:
    given = votes(rng)
    assert 0 <= model(rng).score(given, gold(rng, 3), "accuracy") <= 1


def suggest(rng: Rng) -> None:
    model(rng).suggest(votes(rng), 2, gold(rng, 3))


def explain(rng: Rng) -> None:
    str(model(rng).explain(votes(rng), 0))


def from_array(rng: Rng) -> None:
    hl.Votes.from_array(array(rng))


def from_sparse(rng: Rng) -> None:
    hl.Votes.from_sparse(sparse(rng))


def from_frame(rng: Rng) -> None:
    read = hl.Votes.from_frame(votes(rng), strict=bool(rng.integers(2)))
    assert len(read) == read.n_items == len(read.to_numpy())


def from_long(rng: Rng) -> None:
    hl.Votes.from_long(frame(rng), item="lf0", lf="lf1", vote="lf2")


def use_votes(rng: Rng) -> None:
    """What a frame of votes can do."""
    read = hl.Votes.from_array(array(rng, sane=True))
    verbs: tuple[Callable[[], Any], ...] = (
        lambda: read.join(votes(rng)),
        lambda: read.with_labels(gold(rng, len(read)), "gold"),
        lambda: repr(read),
        lambda: read.to_pandas(),
        lambda: read.to_polars(),
        lambda: read._repr_html_(),
    )
    verbs[rng.integers(len(verbs))]()


def count_chunks(rng: Rng) -> None:
    chunks = [votes(rng) if rng.random() < 0.3 else rng.integers(-1, 2, (3, 2)) for _ in range(rng.integers(0, 4))]
    patterns = hl.Patterns.from_chunks(chunks)
    check_shares(patterns, model(rng).fit(patterns).predict_proba(patterns))


def analyze(rng: Rng) -> None:
    LFAnalysis(votes(rng), gold(rng, 3)).summary()


CALLS = (
    predict,
    predict_proba,
    fit_predict,
    fit_then_predict,
    score,
    suggest,
    explain,
    from_array,
    from_sparse,
    from_frame,
    from_long,
    use_votes,
    count_chunks,
    analyze,
)


def run_case(rng: Rng) -> None:
    """One call."""
    try:
        CALLS[rng.integers(len(CALLS))](rng)
    except hl.HyperlabelError as error:
        check_error(error)
