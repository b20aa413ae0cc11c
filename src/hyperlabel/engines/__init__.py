"""Engines: labeling where the data is. Count patterns, judge the patterns, join the labels back.

Polars, DuckDB, Spark and Dask behind one function. Rows stay with the engine; this process sees the patterns, or,
where there are too many, sums over rows. How it works and what it costs: docs/scale.md.
"""

import importlib
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hyperlabel.engines.base import Engine
from hyperlabel.engines.chunks import fit_chunks
from hyperlabel.engines.run import MOST_PATTERNS, Job, label_rows
from hyperlabel.errors import HyperlabelError, ParameterError, VotesError, require
from hyperlabel.metrics import Metric, check_metric
from hyperlabel.models import LabelModel, label_model
from hyperlabel.read import lf_columns, number_texts
from hyperlabel.tables import (
    ENDINGS,
    Format,
    Table,
    check_folder_target,
    check_target,
    reading,
    reason_of,
    write_whole,
)

ENGINES = {  # name: (packages that it needs, extra that has them)
    "polars": (("polars",), "cli"),
    "duckdb": (("duckdb", "pyarrow"), "duckdb"),
    "spark": (("pyspark", "pandas", "pyarrow"), "spark"),
    "dask": (("dask.dataframe", "distributed"), "dask"),
}
"""The engines, quickest on one machine first."""


def label(
    data: Any,
    *,
    lfs: Sequence[str] | None = None,
    model: str | LabelModel = "hlm2",
    n_classes: int | None = None,
    classes: Sequence[Hashable] | None = None,
    gold: str | None = None,
    probabilities: bool = False,
    metric: Metric = "accuracy",
    engine: str = "auto",
    out: str | Path | None = None,
    max_patterns: int = MOST_PATTERNS,
) -> Any:
    r"""Label every row of a frame or file where it is.

    All rows and columns are kept. `label` and `confidence` are added, and with `probabilities` one `p_<class>` for
    each class; a row without votes has no label, unless gold gives it one. A column that already has one of these names
    is kept as `*_input`.

    Args:
        data: A Polars LazyFrame or DataFrame, a DuckDB relation, a Spark or Dask DataFrame; or a `Table`, or the
            name of one that `hyperlabel.tables.Table.open` takes. One row per item, one column per LF; null, NaN, an
            empty text and -1 abstain.
        lfs: Columns that are LFs, as names or patterns such as `lf_*`. If not given, those that the model was fitted
            on; for a model that is not fitted, all but id, item, text, gold, truth, label.
        model: A short name, or a label model. One that is fitted judges the rows in its state, its LFs found by name
            where it knows names; any other is fitted on these rows first, as a copy.
        n_classes: Number of classes; inferred if not given.
        classes: The classes, in the order of their probabilities; inferred if not given.
        gold: The column with the known classes of some items. They are the labels of these items, and a model that
            is not fitted learns from them.
        probabilities: Whether to add the probabilities of all classes.
        metric: What the labels are to be good at, as for `LabelModel.predict`.
        engine: `auto`, `polars`, `duckdb`, `spark` or `dask`. `auto` is the engine of the frame, and Polars for paths.
        out: File to write, with Polars in any format of tables, else parquet, which Spark and Dask make a folder. It
            appears whole or not at all.
        max_patterns: Beyond about so many patterns they are not counted: the model reads the rows in passes.

    Returns:
        The path of `out` if it is given. Otherwise a frame of the same kind, evaluated when it is used where the
        engine is lazy; of a path, the engine's lazy kind of frame.

    >>> import polars as pl
    >>> votes = pl.LazyFrame({"id": [7, 8, 9], "a": ["spam", "ham", None], "b": ["spam", None, None]})
    >>> label(votes).collect()["label"].to_list()
    ['spam', 'ham', None]
    """
    check_metric(metric)
    estimator = label_model(model) if isinstance(model, str) else model
    job = Job(estimator, lfs, n_classes, classes, gold, probabilities, metric, max_patterns)
    kind = _engine_class(_engine_name(data, engine))
    target = None if out is None else Path(out)
    format = None if target is None else _check_target(target, kind)
    rows, job = _open(data, kind, job)
    try:
        frame = label_rows(rows, job)
    except kind.failures as error:
        raise HyperlabelError(f"engine {kind.name} failed: {reason_of(error)}") from error
    if target is None or format is None:
        return frame.collect() if type(data).__name__ == "DataFrame" and kind.name == "polars" else frame
    write_whole(target, lambda part: rows.write(frame, part, format), kind.failures)
    return target


def _engine_name(data: Any, engine: str) -> str:
    """The engine of data, which must be the one that was named, if one was."""
    if engine != "auto" and engine not in ENGINES:
        raise ParameterError(f"engine is '{engine}'; expected auto, {', '.join(ENGINES)}")
    if isinstance(data, str | Path | Table):
        return "polars" if engine == "auto" else engine
    root = type(data).__module__.partition(".")[0]
    kind = {"pyspark": "spark", "_duckdb": "duckdb", "dask_expr": "dask"}.get(root, root)
    if kind not in ENGINES:
        raise VotesError(
            f"data is a {type(data).__module__}.{type(data).__name__}; expected a Polars, DuckDB, Spark or Dask frame, "
            "or the path of a table. For arrays and pandas frames use HyperLabelModel"
        )
    if engine not in ("auto", kind):
        raise ParameterError(f"engine is '{engine}', but data is a frame of {kind}; leave engine out")
    return kind


def _engine_class(name: str) -> Any:
    """The class of an engine, if its packages are there."""
    packages, extra = ENGINES[name]
    for package in packages:
        require(package, extra=extra)
    return getattr(importlib.import_module(f"hyperlabel.engines.{name}"), f"{name.capitalize()}Engine")


def _open(data: Any, kind: Any, job: Job) -> tuple[Engine, Job]:
    """Rows of a frame or of a table, and what to do with them: columns that folders stand for are not LFs."""
    opened: Engine
    if not isinstance(data, str | Path | Table):
        opened = kind(data.lazy() if hasattr(data, "lazy") else data)
        return opened, job
    table = data if isinstance(data, Table) else Table.open(data)
    if job.lfs is None and table.hive and not job.model.is_fitted:
        job = replace(job, lfs=lf_columns([name for name in table.columns if name not in table.hive], None))
    if table.kind == "csv":
        fitted = job.model.lf_names_ if job.model.is_fitted else None
        names = lf_columns(table.columns, fitted if job.lfs is None else job.lfs)
        gold = [] if job.gold is None else [job.gold]
        with table.reading():
            table = replace(table, frame=number_texts(table.frame, [*names, *gold]))
    with reading(table.name, "table"):
        opened = kind(table.lazy()) if kind.name == "polars" else kind.open(table.parquet_files())
    return opened, job


def _check_target(path: Path, kind: Any) -> Format:
    """The format of a result; refuses one that the engine cannot write, or not there, before any work is done."""
    format = Format.of_name(path.name)
    if format is None or format.kind not in kind.formats:
        endings = ENDINGS if kind.name == "polars" else ".parquet, .pq"
        raise ParameterError(f"out is '{path}'; engine {kind.name} writes names that end in {endings}")
    if kind.name in ("spark", "dask"):
        check_folder_target(path)
    else:
        check_target(path)
    return format


__all__ = [
    "ENGINES",
    "MOST_PATTERNS",
    "fit_chunks",
    "label",
]
