"""What the tests of the Snorkel door share: Snorkel itself, scripts run on both doors, frames and votes."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from hyperlabel.compat import snorkel as ours


def import_snorkel():
    """Snorkel's names, as users find them in its modules; None where it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its own, at import
            from snorkel import labeling, preprocess, utils
            from snorkel.labeling import model
            from snorkel.labeling.apply import dask
    except ImportError:
        return None
    return SimpleNamespace(
        **{name: found for m in (utils, preprocess, dask, model, labeling) for name, found in vars(m).items()}
    )


REAL = import_snorkel()
with_snorkel = pytest.mark.skipif(REAL is None, reason="snorkel is not installed (pip install snorkel==0.10.0)")
DOORS = [
    pytest.param(REAL, id="snorkel", marks=[with_snorkel, pytest.mark.filterwarnings("ignore")]),
    pytest.param(ours, id="hyperlabel"),
]
both_doors = pytest.mark.parametrize("door", DOORS)


def run_both(script):
    """What a script gives with Snorkel and with hyperlabel; what Snorkel warns of is its own affair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        real = script(REAL)
    return real, script(ours)


def assert_same_array(real, other):
    assert real.shape == other.shape
    assert real.dtype == other.dtype
    assert_array_equal(real, other)


def frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    words = np.array(["free", "money", "http://x.y", "lunch", "you", "WIN", ""])
    return pd.DataFrame(
        {
            "text": [" ".join(rng.choice(words, rng.integers(0, 8))) for _ in range(n)],
            "num": rng.integers(-50, 50, n),
            "share": np.where(rng.random(n) < 0.1, np.nan, rng.random(n)),
            "author": rng.choice(np.array(["ann", "bob", None]), n),
            "count": rng.integers(0, 9, n),
            "name": rng.choice(np.array(["x", "y"]), n),
            "two words": rng.random(n) < 0.5,
            "when": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
        },
        index=rng.permutation(n) // 2,  # an index that is neither sorted nor unique
    )


def random_votes(n=300, m=6, k=2, coverage=0.4, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    votes = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, k, (n, m)))
    votes = np.where(rng.random((n, m)) < coverage, votes, -1)
    votes[:, 0] = np.where(votes[:, 0] == 1, 1, -1)
    return votes, truth


def lf_named(name):
    return ours.LabelingFunction(name, lambda x: -1)
