"""LFs that can be stopped: the same answers as in this process, and an end to endless ones."""

import threading

import polars as pl
import pytest

from chromium import wait_for
from hyperlabel import LFError, keyword_lf, prompt_lf
from hyperlabel.lf import labeling_function, read_items

pytest.importorskip("nicegui")

from hyperlabel.studio import LFStoppedError, StoppableRun, run_here

ITEMS = read_items(pl.DataFrame({"text": ["free", "song", None] * 1500}))


def ignore(rows):
    pass


def test_answers_are_those_of_this_process_and_progress_is_told():
    limit = 5

    @labeling_function
    def short(x):
        return "spam" if x.text is not None and len(x.text) < limit else None

    @labeling_function
    async def waits(x):
        return "ham" if x.text == "song" else None

    judge = prompt_lf("{text}", lambda prompt: {"free": "Spam."}.get(prompt, "unsure"), ["ham", "spam"])
    done = []
    for lf in (short, keyword_lf("free", "spam"), waits, judge):
        one, other = StoppableRun()(lf, ITEMS, done.append), run_here(lf, ITEMS, ignore)
        assert (one.values, one.codes.tolist()) == (other.values, other.codes.tolist())
    assert done[:3] == [2000, 2000, 500]


def test_an_lf_that_fails_names_the_row():
    @labeling_function
    def length(x):
        return len(x.text)

    with pytest.raises(LFError, match="LF 'length' failed on row 2 with TypeError"):
        StoppableRun()(length, ITEMS, ignore)


def test_an_endless_lf_ends_when_it_is_stopped(tmp_path):
    mark = str(tmp_path / "started")

    @labeling_function
    def endless(x):
        open(mark, "w").close()
        while True:
            pass

    run = StoppableRun()

    def stop():
        wait_for((tmp_path / "started").exists, 300, "the LF")
        run.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(LFStoppedError, match="LF 'endless' was stopped after 0 rows; nothing was changed"):
        run(endless, ITEMS, ignore)
    thread.join()
    assert run.lf is None
