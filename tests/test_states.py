"""States: what a file remembers, and files of earlier versions, which every later one reads."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import safetensors

import hyperlabel as hl
from hyperlabel._core import read_tensors, write_tensors
from hyperlabel.errors import WeightsError

STATES = Path(__file__).with_name("states")


@pytest.mark.parametrize("path", sorted(STATES.glob("*.safetensors")), ids=lambda path: path.stem)
def test_a_state_of_an_earlier_version_predicts_as_it_did(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    model = hl.load(path)
    frame = pl.DataFrame(expected["votes"], orient="row", schema=list(model.lf_names_))
    assert model.predict(frame).tolist() == expected["labels"]
    np.testing.assert_allclose(model.predict_proba(frame), expected["probabilities"], atol=1e-9)
    assert (list(model.abstain_), model.source_) == (expected["abstain"], expected["source"])
    assert len(hl.drift(model, frame)) > 0


def test_there_is_a_state_of_this_version():
    versions = {safetensors.safe_open(path, "numpy").metadata()["hyperlabel_version"] for path in STATES.glob("*.s*")}
    assert hl.__version__ in versions


def test_a_file_says_its_versions_and_a_later_layout_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "m.safetensors"
    write_tensors(path, {}, {}, "model")
    with safetensors.safe_open(path, "numpy") as file:
        assert (file.metadata()["format_version"], file.metadata()["hyperlabel_version"]) == ("1", hl.__version__)
    monkeypatch.setattr("hyperlabel._core.tensors.FORMAT_VERSION", 2)
    write_tensors(path, {}, {}, "model")
    monkeypatch.setattr("hyperlabel._core.tensors.FORMAT_VERSION", 1)
    with pytest.raises(WeightsError, match=r"format_version '2', written by hyperlabel .* install that version"):
        read_tensors(path, "model")


def test_a_state_remembers_what_abstains_time_and_shares(tmp_path):
    frame = pl.DataFrame({"a": ["x", "y", "?", "x"] * 10, "b": ["x", "x", "y", "?"] * 10})
    votes = hl.Votes.from_frame(frame, abstain=["?"])
    hl.HyperLabelModel().fit(votes).save(tmp_path / "m.safetensors")
    model = hl.load(tmp_path / "m.safetensors")
    assert model.abstain_ == ("?",)
    assert model.fitted_at_.endswith("+00:00")
    assert model.profile_.votes.tolist() == [[20, 10], [20, 10]]
    assert model.predict(frame).tolist() == model.predict(votes).tolist()
    assert hl.engines.label(frame, model=model)["label"].to_list() == model.predict(frame).tolist()


def test_engines_keep_the_source_and_what_abstains(tmp_path):
    frame = pl.DataFrame({"a": ["x", "y", "?", "x"] * 10, "b": ["x", "x", "y", "?"] * 10})
    frame.write_parquet(tmp_path / "v.parquet")
    for most in (1 << 22, 2):  # counted patterns, and passes over rows
        model = hl.engines.fit(tmp_path / "v.parquet", abstain=["?"], max_patterns=most)
        assert (model.source_, model.abstain_) == (str(tmp_path / "v.parquet"), ("?",))
        assert model.profile_.votes.tolist() == [[20, 10], [20, 10]]


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
def test_engines_let_missing_lfs_abstain(tmp_path, engine):
    rng = np.random.default_rng(0)
    votes = pl.DataFrame(rng.integers(-1, 2, (200, 3)), schema=["a", "b", "c"])
    model = hl.HyperLabelModel().fit(votes)
    votes.drop("b").with_row_index("id").write_parquet(tmp_path / "v.parquet")
    with pytest.raises(hl.VotesError, match="votes lacks the LF 'b'.*missing_lfs"):
        hl.engines.label(tmp_path / "v.parquet", model=model, engine=engine, out=tmp_path / "o.parquet")
    out = hl.engines.label(
        tmp_path / "v.parquet", model=model, engine=engine, out=tmp_path / "o.parquet", missing_lfs="abstain"
    )
    labeled = pl.read_parquet(out / "*.parquet" if out.is_dir() else out).sort("id")
    assert labeled.columns == ["id", "a", "c", "label", "confidence"]
    want = model.predict(votes.with_columns(b=pl.lit(-1)))
    assert labeled["label"].fill_null(-1).to_list() == want.tolist()
