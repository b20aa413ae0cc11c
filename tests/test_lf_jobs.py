import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

from hyperlabel.errors import HyperlabelError, ParameterError, VotesWarning
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
    with pytest.warns(VotesWarning, match="LF 'bad' failed on 2 of 101 items and abstains there; the first: row 40"):
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


def test_file_of_the_current_folder_with_the_name_of_a_package_is_not_run(tmp_path):
    (tmp_path / "numpy.py").write_text("open('ran', 'w').close()\nraise RuntimeError\n")
    program = "import sys; sys.path.remove(''); import hyperlabel as hl; hl.apply_lfs; sys.path.insert(0, '')\n" + SHORT
    program += "print(hl.apply_lfs([short], ['a', 'bbbb'] * 50, jobs=2).to_numpy()[:2].tolist())"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[[1], [-1]]", done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at /proc")
def test_worker_ends_with_the_process_that_started_it(tmp_path):
    program = "import hyperlabel as hl\n" + ENDLESS + "hl.apply_lfs([endless], ['a'] * 50, jobs=2)"
    parent = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "worker")], cwd=tmp_path)
    worker = wait_for_worker(tmp_path / "worker")
    parent.kill()
    parent.wait()
    end = time.monotonic() + 60
    while is_running(worker) and time.monotonic() < end:
        time.sleep(0.1)
    assert not is_running(worker)


SHORT = """
@hl.labeling_function()
def short(x):
    return 1 if len(x) < 2 else -1

"""

ENDLESS = """
import os, sys
file = sys.argv[1]
@hl.labeling_function()
def endless(x):
    with open(file, "a") as out:
        out.write(f"{os.getpid()} ")
    while True:
        pass

"""


def wait_for_worker(path):
    """The process that runs the endless LF."""
    end = time.monotonic() + 60
    while not (path.exists() and path.read_text().endswith(" ")):
        assert time.monotonic() < end
        time.sleep(0.1)
    return int(path.read_text().split()[0])


def is_running(process):
    status = Path(f"/proc/{process}/status")
    return status.exists() and "State:\tZ" not in status.read_text()
