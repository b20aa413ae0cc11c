"""The same votes in every form: one result."""

import copy
from pathlib import Path
from typing import Any

import numpy as np

import hyperlabel as hl
from hyperlabel.engines import fit_chunks
from tests.campaign.hostile import Rng

NAMES = (
    "a",
    "b c",
    'q"q',
    "x'y",
    "label",
    "Label",
    "answers",
    "select",
    "ä",
    "p_0",
    "A",
    "id.x",
    "lf;1",
    "[z]",
    "run=3",
)
CLASSES: dict[int, Any] = {0: None, 1: ["ham", "spam", "eggs", "ä"], 2: [False, True]}
ONE_CLASS = ("hlm", "ebcc")  # models that take no votes for several classes
ITERATIVE = ("ds", "hds", "ebcc")
MODELS = ("hlm3", "mv", "bv", "hlm", *ITERATIVE)


def draw(rng: Rng) -> tuple[Any, list[str], Any, int]:
    """Cells, names of LFs, classes and their number."""
    kind = int(rng.choice([0, 0, 1, 2]))
    k = 2 if kind == 2 else int(rng.integers(2, 5))
    n, m = int(rng.integers(1, 60)), int(rng.integers(3, 6))
    cells = rng.integers(0, k, (n, m))
    cells[rng.random((n, m)) < rng.random()] = -1
    classes = None if CLASSES[kind] is None else CLASSES[kind][:k]
    return cells, list(rng.choice(NAMES, m, replace=False)), classes, k


def lean(columns: dict[str, list[Any]], classes: Any, rng: Rng) -> None:
    """Let some votes be for no single class: all but one, or one of two."""
    for column in columns.values():
        for row in rng.integers(0, len(column), rng.integers(0, 3)):
            one, other = rng.choice(classes, 2, replace=False)
            column[row] = (f"!{one}", f"{one}|{other}", f"{one}:0.7")[rng.integers(3)]


def decoded(cells: Any, classes: Any) -> list[list[Any]]:
    """Columns of classes, None where an LF abstains."""
    names = list(range(int(cells.max(initial=0)) + 1)) if classes is None else classes
    return [[None if v < 0 else names[v] for v in column] for column in cells.T.tolist()]


def forms(cells: Any, names: list[str], classes: Any, k: int, rng: Rng, leaning: bool = False) -> dict[str, Any]:
    """Votes of every form; those of class names stand in tables alone, and those that are not one class."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    columns = dict(zip(names, decoded(cells, classes), strict=True))
    if leaning and classes is not None and isinstance(classes[0], str):
        lean(columns, classes, rng)
        cells = np.array([[-1 if vote is None else 0 for vote in column] for column in columns.values()]).T
    stated = {"n_classes": k} if classes is None else {"classes": classes}
    frame = pl.DataFrame(columns, strict=False, schema=None if classes else dict.fromkeys(names, _integer(rng)))
    tables: dict[str, Any] = {
        "polars": frame,
        "lazy": frame.lazy(),
        "arrow": frame.to_arrow(),
        "records": frame.to_dicts(),
        "objects": pd.DataFrame(columns, dtype=object),
        "pandas": frame.to_pandas(),
        "nullable": pd.DataFrame(columns).convert_dtypes(),
        "table": pa.table(columns),
    }
    made = {form: hl.Votes.from_frame(table, lfs=names, **stated) for form, table in tables.items()}
    made |= _files(frame, names, stated)
    item, lf = np.nonzero(cells >= 0)
    order = rng.permutation(len(item))
    long = pl.DataFrame(
        {
            "item": item[order],
            "lf": [names[j] for j in lf[order]],
            "vote": [columns[names[j]][i] for i, j in zip(item[order], lf[order], strict=True)],
        }
    )
    if len(set(item)) == len(cells) and len(set(lf)) == len(names):
        made["long"] = hl.Votes.from_long(long, item="item", lf="lf", vote="vote", **stated)
    if classes is None:
        made |= _arrays(cells, names, k, rng)
    return made


def _integer(rng: Rng) -> Any:
    import polars as pl

    return (pl.Int8, pl.UInt8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64)[rng.integers(6)]


def _arrays(cells: Any, names: list[str], k: int, rng: Rng) -> dict[str, Any]:
    import scipy.sparse as sp

    options: dict[str, Any] = {"n_classes": k, "lfs": names}
    np.save("votes.npy", cells.astype(rng.choice(["i1", "i4", "f4", "f8"])))
    np.savez("votes.npz", L=cells)
    form = str(rng.choice(["csr", "csc", "coo", "lil", "dok", "dia", "bsr"]))
    return {
        "array": hl.Votes.from_array(cells, **options),
        "list": hl.Votes.from_array(cells.tolist(), **options),
        "fortran": hl.Votes.from_array(np.asfortranarray(cells), **options),
        "sparse": hl.Votes.from_sparse(getattr(sp, f"{form}_array")(cells + 1), **options),
        "npy": hl.read_votes("votes.npy", **options),
        "npz": hl.read_votes("votes.npz", **options),
    }


def _files(frame: Any, names: list[str], stated: dict[str, Any]) -> dict[str, Any]:
    import polars as pl

    classes = stated.get("classes")
    frame = frame.with_columns(pl.col(pl.Float32, pl.Float64).cast(pl.Int64))
    frame.write_parquet("votes.parquet")
    frame.write_ipc("votes.arrow")
    frame.write_ndjson("votes.jsonl")
    read = {ending: hl.read_votes(f"votes.{ending}", lfs=names, **stated) for ending in ("parquet", "arrow")}
    filled = all(frame[name].null_count() < len(frame) for name in names)
    if filled and all(frame[name][0] is not None for name in names):
        read["jsonl"] = hl.read_votes("votes.jsonl", lfs=names, **stated)
    if classes is None or isinstance(classes[0], str):  # true and false in a csv are texts
        frame.write_csv("votes.csv")
        read["csv"] = hl.read_votes("votes.csv", lfs=names, **stated)
    Path("run=3").mkdir(exist_ok=True)
    frame.write_parquet("run=3/votes.parquet")
    if "run=3" not in names:
        read["hive"] = hl.read_votes("run=3", lfs=names, **stated)
    return read


def run_case(rng: Rng) -> None:
    """All forms of some votes, in memory and in chunks, give what the first one gives."""
    cells, names, classes, k = draw(rng)
    name, params = draw_model(rng, classes)
    made = forms(cells, names, classes, k, rng, leaning=name not in ONE_CLASS and rng.random() < 0.3)
    first, *others = made
    reference = hl.label_model(name, **params).fit(made[first])
    expected, labels = reference.predict_proba(made[first]), reference.predict(made[first]).tolist()
    assert len(labels) == len(cells)
    for form in others:
        votes = made[form]
        assert votes.n_items == len(cells), form
        model = hl.label_model(name, **params).fit(votes)
        shares = model.predict_proba(votes)
        if form == "long":  # items and LFs stand in the order in which they first come
            shares = shares[np.argsort(votes.items)]
        assert shares.shape == expected.shape, form
        if votes.lf_names == tuple(names):
            np.testing.assert_array_equal(shares, expected, err_msg=form)
            assert form == "long" or model.predict(votes).tolist() == labels, form
        elif name not in ITERATIVE:  # which end elsewhere if they have not settled and add LFs in another order
            np.testing.assert_allclose(shares, expected, atol=1e-6, err_msg=form)
    check_chunks(made[first], hl.label_model(name, **params), expected, rng)


def draw_model(rng: Rng, classes: Any) -> tuple[str, dict[str, Any]]:
    """A label model's name and parameters; classes that are names may be in order."""
    name = str(rng.choice(MODELS))
    takes_order = name in ("hlm3", "mv", "ds") and classes is not None and len(classes) > 2
    return name, {"ordinal": True} if takes_order and rng.random() < 0.3 else {}


def check_chunks(votes: Any, model: Any, expected: Any, rng: Rng) -> None:
    """Streamed in random chunks, counted and in passes."""
    cuts = np.unique(rng.integers(0, votes.n_items + 1, rng.integers(1, 4)))
    pieces = [piece for piece in np.split(np.arange(votes.n_items), cuts) if len(piece)]
    chunks = [votes[piece] for piece in pieces]
    counted = copy.copy(model).fit(hl.Patterns.from_chunks(chunks, classes=votes.classes))
    np.testing.assert_array_equal(counted.predict_proba(votes), expected, err_msg="counted chunks")
    if model.reads_in_passes:
        read = fit_chunks(model, lambda: chunks, classes=list(votes.classes))
        np.testing.assert_allclose(read.predict_proba(votes), expected, atol=1e-5, err_msg="passes over chunks")
