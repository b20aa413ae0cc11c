import json

import pytest

from experiments.page import SECTIONS, write_page
from hyperlabel import ParameterError


def make_record(dataset="imdb", **more):
    bins = {"items": [0.0] * 9 + [10.0], "confidence": [0.0] * 9 + [9.5], "right": [0.0] * 9 + [7.5]}
    return {"model": "mv", "dataset": dataset, "seed": 0, "score": 75.0, "brier": 0.3, "log_loss": 0.5, "prior": "own",
            "scores_by_prior": {"own": 75.0}, "family": "wrench", "metric": "accuracy", "ceiling": 80.0,
            "protocol": "all rows", "reliability": bins, "seconds": 0.1, "machine": "a machine, 2 cores",
            "versions": {"python": "3.11", "numpy": "2.0"}, **more}  # fmt: skip


@pytest.fixture
def results(tmp_path):
    records = [make_record(), make_record("made"), make_record(model="hlm", score=70.0)]
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "aggregate.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def test_page_shows_tables_figures_and_commands_of_what_was_run(results, tmp_path):
    path = write_page(results, tmp_path / "docs")
    text = path.read_text()
    assert path == tmp_path / "docs" / "benchmarks.md"
    assert "| imdb | acc | 80.0 | 70.0<br>(75.0) | **75.0**<br>(75.0) |" in text
    assert "python -m experiments aggregate --data DATA" in text
    assert "3 records, made on: a machine, 2 cores. python 3.11, numpy 2.0." in text
    for name in ("aggregate_gains", "aggregate_reliability"):
        assert f"](benchmarks/{name}.png)" in text
        assert (tmp_path / "docs" / "benchmarks" / f"{name}.png").stat().st_size > 0


def test_page_says_which_sections_were_not_run_in_order(results, tmp_path):
    text = write_page(results, tmp_path).read_text()
    assert text.count("*Not run yet: there are no records of this experiment.*") == len(SECTIONS) - 1
    places = [text.index(f"## {section.title}") for section in SECTIONS]
    assert places == sorted(places)
    assert [s.name for s in SECTIONS] == ["aggregate", "runs", "runtime", "semi", "ablation", "theory", "endmodel"]


def test_page_counts_the_papers_sets_from_the_records(results, tmp_path):
    assert "Of the paper's 14 sets 1 are available (imdb);\n  1 others" in write_page(results, tmp_path).read_text()


def test_page_of_broken_records_leaves_the_old_page(results, tmp_path):
    old = write_page(results, tmp_path).read_text()
    (results / "runtime.jsonl").write_text("nonsense\n")
    with pytest.raises(ParameterError, match="line 1 of"):
        write_page(results, tmp_path)
    assert (tmp_path / "benchmarks.md").read_text() == old
