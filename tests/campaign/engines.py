"""Engines against memory: the same rows have the same labels and probabilities, whatever columns are called."""

import os
from pathlib import Path
from typing import Any

import numpy as np

import hyperlabel as hl
from tests.campaign.forms import ONE_CLASS, decoded, draw, draw_model, lean
from tests.campaign.hostile import Rng

ENGINES = ("polars", "duckdb")
GOLD = "known"
BESIDE = ("text", "label", "confidence", "answers", "p_spam", "note", "Label", "__key", "pattern", "count", "index", "")


def table(cells: Any, names: list[str], classes: Any, rng: Rng, leaning: bool = False) -> Any:
    """A frame of votes with an identifier and other columns beside them."""
    import polars as pl

    voted = dict(zip(names, decoded(cells, classes), strict=True))
    if leaning and classes is not None and isinstance(classes[0], str):
        lean(voted, classes, rng)
    columns: dict[str, Any] = {"row": range(len(cells)), **voted}
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


def draw_gold(cells: Any, classes: Any, k: int, rng: Rng) -> list[Any] | None:
    """Known classes of some items, or none at all."""
    if rng.random() < 0.6:
        return None
    known = rng.integers(-1, k, len(cells))
    names = list(range(k)) if classes is None else classes
    return [None if c < 0 else names[c] for c in known] if (known >= 0).any() else None


def run_case(rng: Rng, engines: tuple[str, ...] = ENGINES) -> None:
    """Label a file by an engine and compare each row with memory."""
    import polars as pl

    cells, names, classes, k = draw(rng)
    names = list({name.lower(): name for name in names}.values())
    cells = cells[:, : len(names)]
    if len(names) < 3:
        return
    name, params = draw_model(rng, classes)
    frame = table(cells, names, classes, rng, leaning=name not in ONE_CLASS and rng.random() < 0.3)
    gold = draw_gold(cells, classes, k, rng)
    if gold is not None:
        frame = frame.with_columns(pl.Series(GOLD, gold))
    path = Path(str(rng.choice(["votes.parquet", "vo[t]es.parquet", "run=3/v.parquet", "ä b.parquet"])))
    path.parent.mkdir(exist_ok=True)
    frame.write_parquet(path)
    engine, metric = str(rng.choice(engines)), str(rng.choice(["accuracy", "accuracy", "f1"]))
    stated: dict[str, Any] = {"n_classes": k} if classes is None else {"classes": classes}
    votes = hl.Votes.from_frame(frame, lfs=names, **stated)
    model = hl.label_model(name, **params).fit(votes, gold)
    labels = model.label(votes, metric)
    if gold is not None:
        labels = labels.with_gold(votes.with_labels(gold, "gold")[1])
    most = 1 if name == "hlm3" and rng.random() < 0.2 else 1 << 20
    out = Path(f"out-{os.getpid()}.parquet")
    hl.engines.label(
        path,
        lfs=names,
        model=hl.label_model(name, **params),
        probabilities=True,
        gold=None if gold is None else GOLD,
        metric=metric,
        engine=engine,
        out=out,
        max_patterns=most,
        **stated,
    )
    result = pl.read_parquet(out if out.is_file() else f"{out}/*.parquet").sort("row")
    assert len(result) == len(frame)
    shares = result.select(f"p_{c}".lower() if isinstance(c, bool) else f"p_{c}" for c in votes.classes).to_numpy()
    np.testing.assert_allclose(shares, labels.probabilities, atol=0 if most > 1 else 1e-5, rtol=0, err_msg=engine)
    tied = np.sort(shares, 1)
    clear = tied[:, -1] - tied[:, -2] > 1e-4 if k > 1 and most == 1 else np.ones(len(shares), bool)
    expected = [
        None if label in (-1, None) and not isinstance(label, bool) else label for label in labels.labels.tolist()
    ]
    found = result["label"].to_list()
    assert [x for x, c in zip(found, clear, strict=True) if c] == [
        x for x, c in zip(expected, clear, strict=True) if c
    ], engine
    for column in frame.columns:
        kept = f"{column}_input" if f"{column}_input" in result.columns else column
        assert result[kept].to_list() == frame[column].to_list() or frame[column].dtype.is_float(), column
