import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import hyperlabel as hl
from hyperlabel import ParameterError
from hyperlabel._core import checks
from hyperlabel.models import _dawid_skene as dawid_skene

VOTES = np.random.default_rng(0).integers(-1, 30, (40, 5))


@pytest.fixture
def small(monkeypatch):
    """A machine of 30 kB."""
    monkeypatch.setattr(checks, "memory_bytes", lambda: 30_000)


@pytest.mark.parametrize("name", ["hlm3", "ds", "hds", "dp", "fs", "metal", "nplm", "ebcc"])
def test_model_that_does_not_fit_into_memory_is_refused_before_it_learns(small, name):
    message = r"on 40 different rows, 5 LFs and 30 classes needs about 0 GB of memory, .* use majority vote \('mv'\)"
    with pytest.raises(ParameterError, match=message):
        hl.label_model(name).fit(VOTES)


def test_probabilities_that_do_not_fit_are_refused_and_labels_are_not(small):
    votes = np.repeat(VOTES[:20], 10, axis=0)
    model = hl.label_model("mv").fit(votes)
    assert len(model.predict(votes)) == 200
    with pytest.raises(
        ParameterError, match=r"the probabilities of 200 items and 30 classes needs .* predict\(votes\)"
    ):
        model.predict_proba(votes)
    with pytest.raises(ParameterError, match="label fewer items at a time"):
        model.label(votes)


def test_confusions_that_would_take_minutes_are_refused_with_a_remedy():
    rng = np.random.default_rng(0)
    votes = rng.integers(0, 2000, (2000, 9))
    votes[:, 0] = np.arange(2000)
    message = "votes has 9 LFs and 2,000 classes; DawidSkene learns 36,000,000 numbers .* Use 'hlm3' or 'mv'"
    with pytest.raises(ParameterError, match=message):
        hl.label_model("ds").fit(votes)
    assert dawid_skene.MOST_CONFUSIONS < 36_000_000


@pytest.mark.parametrize(("name", "who"), [("ds", "DawidSkene"), ("hlm", "HyperLabelModel with the weights 'hlm'")])
def test_many_classes_that_would_take_minutes_are_refused_with_a_remedy(name, who):
    votes = np.tile(np.arange(2000)[:, None], 5)
    votes[:, 0] = votes[::-1, 0]
    message = f"votes has 2,000 classes and 10,000 votes in different rows; {who} looks at .* Use 'hlm3' or 'mv'"
    with pytest.raises(ParameterError, match=message):
        hl.label_model(name).predict(votes)
    few = hl.Votes.from_array(votes[:50], n_classes=2000)
    assert len(hl.label_model(name).predict(few)) == 50


def test_classes_that_nobody_votes_for_cost_nothing():
    """Once it took a minute and 6 GB: three LFs times the square of 10,000 classes."""
    assert hl.HyperLabelModel().predict([[0, 1, 9999], [1, 1, 0]]).tolist() == [1, 1]


def test_memory_of_an_unknown_system_is_assumed(monkeypatch):
    monkeypatch.delattr("os.sysconf")
    checks.memory_bytes.cache_clear()
    assert checks.memory_bytes() == 1 << 34
    checks.memory_bytes.cache_clear()


def test_stated_classes_of_votes_that_all_abstain_cost_nothing():
    """Once it took minutes: nothing is learned about thousands of classes that nobody votes for."""
    shares = hl.HyperLabelModel(n_classes=10_000).predict_proba([[-1, -1, -1]])
    assert shares.shape == (1, 10_000)
    assert np.allclose(shares, 1e-4)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems need not heed the limit")
def test_limit_of_the_process_is_the_memory_that_there_is():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))\n"
        "from hyperlabel._core.checks import memory_bytes; print(memory_bytes() <= 1 << 33)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\n"


def test_no_more_memory_is_taken_than_was_checked(monkeypatch):
    counted = []
    monkeypatch.setattr("hyperlabel.models._base.check_memory", lambda numbers, *_: counted.append(numbers))
    tracemalloc.start()
    try:
        hl.HyperLabelModel(n_classes=800, class_balance="uniform").fit(VOTES, {0: 1, 1: 2})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * max(counted)
