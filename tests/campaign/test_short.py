"""The short form of the campaign, in every test run; docs/reliability.md tells of the long one."""

import json
import os
import pickle

import numpy as np
import pytest

import hyperlabel as hl
from tests.campaign import SURFACES
from tests.campaign.corpus import CORPUS
from tests.campaign.ledger import RESULTS, Outcome, add_to_ledger, run_child
from tests.campaign.page import PAGE, table
from tests.campaign.readers import Canary, seeds

CASES = {
    "calls": 400,
    "commands": 6,
    "readers": 300,
    "saved": 200,
    "forms": 8,
    "engines": 12,
    "kills": 12,
    "threads": 3,
    "snorkel": 15,
}


@pytest.mark.campaign
@pytest.mark.parametrize("surface", SURFACES)
def test_surface_has_no_failures(surface):
    outcome = run_child(surface, seed=0, first=0, count=CASES[surface], seconds=6)
    assert outcome.failures == []
    assert outcome.tried > 0


def test_corpus_is_read_whole():
    for name, _ in seeds():
        source = CORPUS if name == "train.json" else CORPUS / name
        assert hl.read_votes(source).n_items == 12, name


class Trace(Canary):
    """A canary that sings where it is told to."""

    folder = ""

    def __reduce__(self):
        return os.mkdir, (self.folder,)


ENDINGS = ["csv", "jsonl", "parquet", "arrow", "npy", "npz", "csv.gz", "csv.zst", "safetensors", "json", "duckdb"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_unpickled(tmp_path, ending):
    trace = Trace()
    trace.folder = str(tmp_path / "sang")
    path = tmp_path / ("train.json" if ending == "json" else f"votes.{ending}")
    if ending in ("npy", "npz"):
        save = np.save if ending == "npy" else np.savez
        save(path, np.array([[trace, trace]], object), allow_pickle=True)
    else:
        path.write_bytes(pickle.dumps(trace))
    read = hl.load if ending == "safetensors" else hl.read_votes
    with pytest.raises(hl.HyperlabelError):
        read(tmp_path if ending == "json" else path)
    assert not (tmp_path / "sang").exists()
    pickle.loads(pickle.dumps(trace))  # the canary can sing
    assert (tmp_path / "sang").exists()


def test_crash_and_hang_are_failures_of_the_case_that_ran(monkeypatch, tmp_path):
    lines = "import os", "def run_case(rng):", "    if rng.integers(3) == 0: os.kill(os.getpid(), 11)"
    (tmp_path / "crashing.py").write_text("\n".join(lines))
    monkeypatch.setenv("CAMPAIGN_PATH", str(tmp_path))
    outcome = run_child("crashing", seed=0, first=0, count=100, seconds=20)
    (failure,) = outcome.failures
    assert "ended with -11" in failure["failure"]
    assert failure["case"] == outcome.tried - 1


def test_ledger_adds_up(tmp_path):
    path = tmp_path / "results.json"
    add_to_ledger([Outcome("calls", 5)], path)
    add_to_ledger([Outcome("calls", 7, [{"case": 3}])], path)
    assert json.loads(path.read_text()) == {"calls": {"failures": 1, "tried": 12}}


def test_page_shows_the_results():
    assert RESULTS.exists()
    assert table() in PAGE.read_text()
