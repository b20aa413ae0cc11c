"""`hyperlabel studio` from the command line: what it refuses, and the data of its demo."""

import polars as pl
import pytest

from hyperlabel.cli._app import run
from hyperlabel.errors import HyperlabelError, ParameterError, ProjectError, VotesError

pytest.importorskip("nicegui")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ([], ParameterError, "TABLE is missing; name a table of texts or the folder of a project, or use --demo"),
        (["t.csv", "--demo"], ParameterError, "TABLE is 't.csv', but --demo has its own"),
        (["t.csv", "--text", "body"], ProjectError, "text is 'body', but .* has the columns text"),
        (["missing.csv"], VotesError, "there is no file or folder '.*missing.csv'"),
        ([""], ParameterError, "table is ''; expected the path of a table"),
        (["/"], ParameterError, "table is '/'; expected the path of a table"),
        (["t.csv", "--classes", "x"], ParameterError, r"classes is \['x'\]; expected at least two"),
        (
            ["t.csv", "--port", "1", "--host", "192.0.2.1"],
            ParameterError,
            "port is 1, but it cannot be used on 192.0.2.1",
        ),
        (["t.csv", "--port", "99999"], ParameterError, "port is 99999, but it cannot be used on 127.0.0.1: .*0-65535"),
        (["t.csv", "--port", "-1"], ParameterError, "port is -1, but it cannot be used on 127.0.0.1: .*0-65535"),
        (["t.csv", "--host", "a..b"], ParameterError, "port is 0, but it cannot be used on a..b: "),
    ],
)
def test_a_mistake_is_refused_before_anything_is_served(tmp_path, monkeypatch, arguments, error, message):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"text": ["a", "b"]}).write_csv("t.csv")
    with pytest.raises(error, match=message):
        run(["studio", *arguments])


def test_a_project_that_cannot_begin_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"text": ["a", "b"]}).write_csv("t.csv")
    (tmp_path / "mine").mkdir()
    for arguments in (["t.csv", "--text", "body"], ["missing.csv"], ["t.csv", "--text", "body", "--project", "mine"]):
        with pytest.raises(HyperlabelError):
            run(["studio", *arguments])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "t.csv"]


def test_the_demo_is_real_sentences_with_their_packages(tmp_path):
    from hyperlabel.studio import write_demo

    n = write_demo(tmp_path / "demo" / "sentences.parquet")
    frame = pl.read_parquet(tmp_path / "demo" / "sentences.parquet")
    assert len(frame) == n > 1000
    assert frame["text"].n_unique() == n
    counts = dict(frame["truth"].value_counts().iter_rows())
    assert counts.keys() == {"numpy", "polars", "nicegui"}
    assert min(counts.values()) > 100
    means = frame.filter(pl.col("text").str.contains("Compute the arithmetic mean"))
    assert means["truth"].unique().to_list() == ["numpy"]
