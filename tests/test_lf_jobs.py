import os
import threading

import pandas as pd
import pytest

from hyperlabel.errors import HyperlabelError, ParameterError
from hyperlabel.lf import LabelingFunction, LFError, apply_lfs, keyword_lf, labeling_function

FRAME = pd.DataFrame({"id": range(101), "text": [f"text {i}" for i in range(101)]})
WORDS = {"text 7", "text 8"}


@labeling_function
def seven(x):
    return "yes" if x.text in WORDS else None


@labeling_function(resources={"most": 50})
def late(x, most):
    print("an LF that prints")
    return "no" if x["id"] > most else None


def test_lfs_in_processes_vote_as_in_one(capfd):
    closure = LabelingFunction("closure", (lambda most: lambda x: "yes" if x.id < most else None)(3))
    lfs = [seven, keyword_lf("text 9", "no"), late, closure]
    alone, together = apply_lfs(lfs, FRAME), apply_lfs(lfs, FRAME, jobs=2)
    assert together.lf_names == alone.lf_names
    assert together.cells.tolist() == alone.cells.tolist()
    assert "an LF that prints" in capfd.readouterr().err


def test_lfs_in_processes_on_a_list_get_its_items():
    lf = labeling_function("even")(lambda x: 1 if x % 2 == 0 else -1)
    assert apply_lfs([lf], list(range(5)), jobs=2).cells[:, 0].tolist() == [1, -1, 1, -1, 1]


def test_lfs_in_processes_run_outside_this_one():
    pid = LabelingFunction("pid", lambda x: 1 if __import__("os").getpid() != x else 0)
    assert apply_lfs([pid], [os.getpid()] * 4, jobs=2).cells[:, 0].tolist() == [1] * 4


def test_lf_that_fails_in_a_process_is_reported_with_the_first_row():
    bad = LabelingFunction("bad", lambda x: 1 // (0 if x.id in (40, 90) else 1))
    with pytest.raises(LFError, match="LF 'bad' failed on row 40 with ZeroDivisionError") as caught:
        apply_lfs([bad], FRAME, jobs=2)
    assert (caught.value.lf, caught.value.row) == ("bad", 40)
    assert apply_lfs([bad], FRAME, jobs=2, on_error="abstain").failures == {"bad": 2}


def test_lf_that_cannot_be_pickled_is_one_clear_error():
    lock = threading.Lock()
    bad = LabelingFunction("locked", lambda x: 1 if lock else 0)
    message = "LF 'locked' cannot be sent to another process .*lock.*; make what cannot be pickled inside the function"
    with pytest.raises(ParameterError, match=message):
        apply_lfs([seven, bad], FRAME, jobs=2)


def test_lf_that_cannot_be_pickled_without_cloudpickle_names_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        ParameterError, match="LF 'seven' cannot be sent .*; run: pip install cloudpickle, or use jobs=1"
    ):
        apply_lfs([seven], FRAME, jobs=2)


class Gone:
    """Arrives elsewhere as something that is not there."""

    def __reduce__(self):
        return __import__, ("no_such_module",)


def test_lf_that_cannot_be_loaded_in_a_process_is_one_clear_error():
    bad = LabelingFunction("bad", lambda x, gone: 1, resources={"gone": Gone()})
    with pytest.raises(ParameterError, match="could not be loaded in another process .*no_such_module"):
        apply_lfs([bad], FRAME, jobs=2)


def test_lf_that_ends_its_process_is_an_error_that_names_the_rows():
    bad = LabelingFunction("bad", lambda x: __import__("os")._exit(3))
    with pytest.raises(
        HyperlabelError, match="a process that ran LFs ended with code 3 on rows 0 to 6; run with jobs=1"
    ):
        apply_lfs([bad], FRAME, jobs=2)
