"""Engines against memory: the same rows have the same labels and probabilities, whatever columns are called."""

import os
from pathlib import Path
from typing import Any

import numpy as np

import hyperlabel as hl
from tests.campaign.forms import draw
from tests.campaign.hostile import Rng

ENGINES = ("polars", "duckdb")
BESIDE = ("text", "label", "confidence", "answers", "p_spam", "note", "Label", "__key", "pattern", "count", "index", "")


def table(cells: Any, names: list[str], classes: Any, rng: Rng) -> Any:
    """A frame of votes with an identifier and other columns beside them."""
    import polars as pl

    from tests.campaign.forms import decoded

    columns: dict[str, Any] = {"row": range(len(cells))}
    columns |= dict(zip(names, decoded(cells, classes), strict=True))
    lowered = {name.lower() for name in columns}
    for name in rng.choice(BESIDE, 2, replace=False):
        if name.lower() not in lowered:  # DuckDB tells no capitals from small letters
            columns[str(name)] = rng.choice(["x", "y", "1"], len(cells)).tolist()
            lowered.add(name.lower())
    frame = pl.DataFrame(columns, strict=False)
    if classes is None and rng.random() < 0.5:
        kind = (pl.UInt8, pl.Int16, pl.Float64, pl.UInt64)[rng.integers(4)]
        frame = frame.with_columns(pl.col(names).cast(kind))
        if kind == pl.Float64 and rng.random() < 0.5:
            frame = frame.with_columns(pl.col(names).fill_null(float("nan")))
    return frame


def run_case(rng: Rng, engines: tuple[str, ...] = ENGINES) -> None:
    """Label a file by an engine and compare each row with memory."""
    import polars as pl

    cells, names, classes, k = draw(rng)
    names = list({name.lower(): name for name in names}.values())
    cells = cells[:, : len(names)]
    if len(names) < 3:
        return
    frame = table(cells, names, classes, rng)
    path = Path(str(rng.choice(["votes.parquet", "vo[t]es.parquet", "run=3/v.parquet", "ä b.parquet"])))
    path.parent.mkdir(exist_ok=True)
    frame.write_parquet(path)
    engine, name = str(rng.choice(engines)), str(rng.choice(["hlm2", "mv", "hlm"]))
    stated: dict[str, Any] = {"n_classes": k} if classes is None else {"classes": classes}
    votes = hl.Votes.from_frame(frame, lfs=names, **stated)
    model = hl.label_model(name).fit(votes)
    most = 1 if name == "hlm2" and rng.random() < 0.2 else 1 << 20
    out = Path(f"out-{os.getpid()}.parquet")
    hl.engines.label(
        path, lfs=names, model=name, probabilities=True, engine=engine, out=out, max_patterns=most, **stated
    )
    result = pl.read_parquet(out if out.is_file() else f"{out}/*.parquet").sort("row")
    assert len(result) == len(frame)
    shares = result.select(f"p_{c}".lower() if isinstance(c, bool) else f"p_{c}" for c in votes.classes).to_numpy()
    np.testing.assert_allclose(shares, model.predict_proba(votes), atol=1e-5, err_msg=engine)
    tied = np.sort(shares, 1)
    clear = tied[:, -1] - tied[:, -2] > 1e-4 if k > 1 else np.ones(len(shares), bool)
    expected = [
        None if label in (-1, None) and not isinstance(label, bool) else label
        for label in model.predict(votes).tolist()
    ]
    found = result["label"].to_list()
    assert [x for x, c in zip(found, clear, strict=True) if c] == [
        x for x, c in zip(expected, clear, strict=True) if c
    ], engine
    for column in frame.columns:
        kept = f"{column}_input" if f"{column}_input" in result.columns else column
        assert result[kept].to_list() == frame[column].to_list() or frame[column].dtype.is_float(), column
