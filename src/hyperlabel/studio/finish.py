"""Saving results: labels of all rows, the report, and the certificate."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.sources import exactly
from hyperlabel.engines import label as label_rows
from hyperlabel.errors import ProjectError
from hyperlabel.labels.added import Added, add_labels
from hyperlabel.lf import LabelingFunction, apply_lfs
from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.provenance import provenance
from hyperlabel.reports import ShownItems, render
from hyperlabel.studio.data import Data, check_gold_text, number_columns
from hyperlabel.studio.folder import GoldLabel
from hyperlabel.studio.snapshot import Snapshot
from hyperlabel.tables import Table, check_target, write_table, write_text
from hyperlabel.trust import certify
from hyperlabel.votes.classes import decode

_GOLD, _ROW = "__gold__", "__row__"


def write_labels(
    data: Data,
    lfs: Mapping[str, LabelingFunction],
    gold: Mapping[str, GoldLabel],
    snapshot: Snapshot,
    path: Path,
) -> int:
    """Write the table with labels; returns how many rows have one.

    A table that was read completely gets the labels that are shown. In a larger one, all rows get votes and are labeled
    by an engine, with the same LFs and all gold.
    """
    check_target(path)
    if not snapshot.columns:
        raise ProjectError("there is no LF, so there are no labels to write; add one first")
    rows = data.read_again()
    if data.is_sample:
        frame = label_all(data, lfs, gold, snapshot)
        write_table(frame, path)
        return _count_labels(path)
    write_table(add_labels(rows, snapshot.labels), path, metadata=provenance(snapshot.model))
    return int((snapshot.best >= 0).sum())


def label_all(
    data: Data, lfs: Mapping[str, LabelingFunction], gold: Mapping[str, GoldLabel], snapshot: Snapshot
) -> Any:
    """All rows of a table with their labels, a lazy Polars frame."""
    given = _with_gold(data, number_columns(data.table, data.settings, data.table.lazy()), gold)
    voted = apply_lfs(list(lfs.values()), given, classes=snapshot.classes) if lfs else given
    hidden = {name: f"__vote_{j}__" for j, name in enumerate(lfs)}  # an LF may be named like a column that is added
    names = [hidden.get(name, name) for name in snapshot.lf_names]
    labeled = label_rows(voted.rename(hidden), lfs=names, model=snapshot.new_model(), gold=_GOLD)
    return labeled.drop([*hidden.values(), _GOLD])


def _with_gold(data: Data, frame: Any, gold: Mapping[str, GoldLabel]) -> Any:
    """A lazy frame with a column of gold: from gold.csv, else from the table."""
    import polars as pl
    import polars.selectors as cs

    own, kind = data.settings, Added(data.settings.classes).label_type
    known = pl.LazyFrame(
        {_ROW: list(gold), _GOLD: [each.label for each in gold.values()]}, schema={_ROW: pl.String, _GOLD: kind}
    )
    numbered = frame.with_columns(_name_items(data).alias(_ROW))
    _check_gold(data, numbered.join(known, on=_ROW, how="semi"), gold)
    joined = numbered.join(known, on=_ROW, how="left", maintain_order="left")
    if own.gold:
        joined = joined.with_columns(pl.coalesce(pl.col(_GOLD), cs.by_name(own.gold).cast(kind, strict=False)))
    return joined.drop(_ROW)


def _name_items(data: Data) -> Any:
    """The identifiers of all rows as strings, as `Data.ids` has those of the rows that are explored."""
    import polars as pl
    import polars.selectors as cs

    own = data.settings.id
    if own is None:
        return pl.int_range(pl.len()).cast(pl.String)
    kind, ids = data.frame.schema[own], cs.by_name(own)
    if kind == pl.String or kind.is_integer():
        return ids.cast(pl.String)
    # Polars writes dates and the like in other ways than Python.
    return ids.as_expr().map_batches(lambda ids: pl.Series([str(each) for each in ids.to_list()]), pl.String)


def _check_gold(data: Data, found: Any, gold: Mapping[str, GoldLabel]) -> None:
    """Refuse gold that is not of one row, with the text it was given for; only a sample of the rows was read before."""
    if not gold:
        return
    with data.table.reading():
        rows = found.select(exactly([_ROW, data.settings.text])).collect(engine="streaming").rows()
    times = Counter(item for item, _ in rows)
    for item, text in rows:
        if times[item] > 1:
            raise ProjectError(f"id is '{data.settings.id}', which has the value {item!r} twice; gold cannot be placed")
        check_gold_text(item, text or "", gold[item], data.settings)


def _count_labels(path: Path) -> int:
    import polars as pl

    label = pl.col("label").cast(pl.String)
    frame = Table.open(str(path)).lazy()
    return int(frame.select((label.is_not_null() & (label != "")).sum()).collect(engine="streaming").item())


def write_report(data: Data, snapshot: Snapshot, truth: NDArray[np.int64], path: Path) -> None:
    """Write the report about the rows that are explored, with scores if the table has the truth."""
    if not snapshot.columns:
        raise ProjectError("there is no LF, so there is nothing to report; add one first")
    if path.suffix not in (".html", ".htm"):
        raise ProjectError(f"path is '{path}'; expected a name that ends in .html")
    analysis = LFAnalysis(snapshot.patterns, model=snapshot.model)
    if (truth >= 0).any():
        analysis.truth = snapshot.patterns.count_labels(truth)
    page = render(analysis, ShownItems(data.ids, data.texts), title=Path(data.table.name).name)
    write_text(path, page)


def write_certificate(
    snapshot: Snapshot, picked: NDArray[np.bool_], path: Path, error: float, confidence: float
) -> str:
    """Write which labels you can rely on, by the gold of items picked at random; returns the sentence.

    `picked` is (n,) whether an item has gold and was picked at random; the other gold teaches.
    """
    if not snapshot.columns or not picked.any():
        raise ProjectError(
            "a certificate needs LFs, and gold of items picked at random; pick the next items by 'random' "
            "and give each its class"
        )
    gold, learn = (decode(np.where(part, snapshot.gold, -1), snapshot.classes) for part in (picked, ~picked))
    learns = (snapshot.gold[~picked] >= 0).any()
    found = certify(snapshot.new_model(), snapshot.votes, gold, error, confidence, learn=learn if learns else None)
    note = "It holds for rules that were written before these items were looked at, or independently of them."
    write_text(path, f"{found}\n{note}\n")
    return str(found)
