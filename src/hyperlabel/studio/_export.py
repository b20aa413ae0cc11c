"""Saving results: labels of all rows, the report, and the certificate."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.classify import Classifier
from hyperlabel.data import OutputColumns, Table, add_labels, check_target, decode, exactly, write_table, write_text
from hyperlabel.engines import label as label_rows
from hyperlabel.errors import ProjectError
from hyperlabel.lf import LabelingFunction, LFAnalysis, apply_lfs
from hyperlabel.models import provenance
from hyperlabel.reports import ShownItems, render
from hyperlabel.studio._data import Data, check_gold_text, number_columns
from hyperlabel.studio._folder import GoldLabel, ProjectState
from hyperlabel.studio._snapshot import Snapshot
from hyperlabel.trust import certify

_GOLD, _ROW = "__gold__", "__row__"
_MOST_LEARNED = 20_000  # rows that teach the classifier of other rows


def write_labels(data: Data, state: ProjectState, snapshot: Snapshot, path: Path) -> int:
    """Write the table with labels, and return the number of labeled rows.

    A table that was read completely gets the labels that are shown. In a larger one, all rows get votes and are labeled
    by an engine, with the same LFs and all gold.
    """
    check_target(path)
    if not (snapshot.best >= 0).any():
        raise ProjectError("there is no gold and no LF, so there are no labels to write; label an item first")
    rows = data.read_again()
    if data.is_sample:
        write_table(_label_all(data, state.source.lfs, state.gold, snapshot), path)
        return _count_labels(path)
    metadata = provenance(snapshot.model) if snapshot.columns else {}
    write_table(add_labels(rows, snapshot.labels), path, metadata=metadata)
    return int((snapshot.best >= 0).sum())


def _label_all(
    data: Data, lfs: Mapping[str, LabelingFunction], gold: Mapping[str, GoldLabel], snapshot: Snapshot
) -> Any:
    """Label all rows of a table, as a lazy Polars frame."""
    frame = _add_gold(data, number_columns(data.table, data.settings, data.table.lazy()), gold)
    voted = apply_lfs(list(lfs.values()), frame, classes=snapshot.classes) if lfs else frame
    hidden = {name: f"__vote_{j}__" for j, name in enumerate(lfs)}  # an LF may be named like a column that is added
    names = [hidden.get(name, name) for name in snapshot.lf_names]
    if not names:
        return _label_by_text(data, fit_classifier(data, snapshot), voted).drop(_GOLD)
    text = data.settings.text if len(np.unique(snapshot.best[snapshot.best >= 0])) > 1 and snapshot.text else None
    labeled = label_rows(voted.rename(hidden), lfs=names, model=snapshot.new_model(), gold=_GOLD, text=text)
    return labeled.drop([*hidden.values(), _GOLD])


def _label_by_text(data: Data, classifier: Classifier, frame: Any) -> Any:
    """Label all rows of a lazy frame by their texts, but for those with gold."""
    import polars as pl

    kind = OutputColumns(data.settings.classes).label_type
    schema = {**frame.collect_schema(), "label": kind, "confidence": pl.Float64, "label_source": pl.String}

    def add(part: Any) -> Any:
        shares = classifier.predict_proba(part[data.settings.text].fill_null("").to_list())
        gold = part[_GOLD]
        best = pl.Series([data.settings.classes[i] for i in shares.argmax(1)], dtype=kind)
        return part.with_columns(
            label=gold.fill_null(best),
            confidence=pl.when(gold.is_null()).then(pl.Series(shares.max(1))).otherwise(1.0),
            label_source=pl.when(gold.is_null()).then(pl.lit("text")).otherwise(pl.lit("gold")),
        )

    return frame.map_batches(add, streamable=True, schema=schema, projection_pushdown=False)


def _add_gold(data: Data, frame: Any, gold: Mapping[str, GoldLabel]) -> Any:
    """Add a column of gold to a lazy frame: from gold.csv, else from the table."""
    import polars as pl
    import polars.selectors as cs

    column, kind = data.settings.gold, OutputColumns(data.settings.classes).label_type
    labels = pl.LazyFrame(
        {_ROW: list(gold), _GOLD: [each.label for each in gold.values()]}, schema={_ROW: pl.String, _GOLD: kind}
    )
    numbered = frame.with_columns(_identify_rows(data).alias(_ROW))
    _check_gold(data, numbered.join(labels, on=_ROW, how="semi"), gold)
    joined = numbered.join(labels, on=_ROW, how="left", maintain_order="left")
    if column:
        joined = joined.with_columns(pl.coalesce(pl.col(_GOLD), cs.by_name(column).cast(kind, strict=False)))
    return joined.drop(_ROW)


def _identify_rows(data: Data) -> Any:
    """Return the identifiers of all rows as strings, as `Data.ids` has those of the rows that are explored."""
    import polars as pl
    import polars.selectors as cs

    column = data.settings.id
    if column is None:
        return pl.int_range(pl.len()).cast(pl.String)
    kind, ids = data.frame.schema[column], cs.by_name(column)
    if kind == pl.String or kind.is_integer():
        return ids.cast(pl.String)
    # Polars writes dates and the like in other ways than Python.
    return ids.as_expr().map_batches(lambda ids: pl.Series([str(each) for each in ids.to_list()]), pl.String)


def _check_gold(data: Data, frame: Any, gold: Mapping[str, GoldLabel]) -> None:
    """Refuse gold that fits two rows, or a row with another text: only a sample of the rows was read before."""
    if not gold:
        return
    with data.table.reading():
        rows = frame.select(exactly([_ROW, data.settings.text])).collect(engine="streaming").rows()
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


def fit_classifier(data: Data, snapshot: Snapshot) -> Classifier:
    """Teach a classifier of texts the labels that are shown, at most those of a random sample of rows."""
    known = np.flatnonzero(snapshot.best >= 0)
    if not len(known):
        raise ProjectError("there is no gold and no LF, so there is nothing to learn from; label an item first")
    rows = np.sort(np.random.default_rng(0).permutation(known)[:_MOST_LEARNED])
    return Classifier().fit(data.texts.gather(rows).to_list(), snapshot.labels[rows])


def write_classifier(data: Data, snapshot: Snapshot, path: Path) -> None:
    """Write a classifier of texts to a safetensors file."""
    check_target(path)
    fit_classifier(data, snapshot).save(path)


def write_report(data: Data, snapshot: Snapshot, truth: NDArray[np.int64], path: Path) -> None:
    """Write a report on the rows that are explored, with scores if the table has the truth."""
    if not snapshot.columns:
        raise ProjectError("there is no LF, so there is nothing to report; add one first")
    if path.suffix not in (".html", ".htm"):
        raise ProjectError(f"path is '{path}'; expected a name that ends in .html")
    analysis = LFAnalysis(snapshot.patterns, model=snapshot.model)
    if (truth >= 0).any():
        analysis.truth = snapshot.patterns.count_labels(truth)
    render(analysis, ShownItems(data.ids, data.texts), title=Path(data.table.name).name).save(path)


def write_certificate(
    snapshot: Snapshot, picked: NDArray[np.bool_], path: Path, error: float, confidence: float
) -> str:
    """Certify labels with the gold of items picked at random, write the certificate, and return its sentence.

    `picked` is (n,) whether an item has gold and was picked at random; the model learns from the other gold.
    """
    if not snapshot.columns or not picked.any():
        raise ProjectError(
            "a certificate needs LFs, and gold of items picked at random; pick the next items by 'random' "
            "and give each its class"
        )
    gold, learn = (decode(np.where(part, snapshot.gold, -1), snapshot.classes) for part in (picked, ~picked))
    learns = (snapshot.gold[~picked] >= 0).any()
    certificate = str(
        certify(snapshot.new_model(), snapshot.votes, gold, error, confidence, learn=learn if learns else None)
    )
    note = "It holds for rules that were written before these items were looked at, or independently of them."
    write_text(path, f"{certificate}\n{note}\n")
    return certificate
