"""Engines: labeling where the data is. Count patterns, judge the patterns, join the labels back.

Polars, DuckDB, Spark and Dask behind one function. Rows stay with the engine; this process sees the patterns, or,
where there are too many, sums over rows. How it works and what it costs: docs/scale.md.
"""

import importlib
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from hyperlabel.engines.base import Engine
from hyperlabel.engines.chunks import fit_chunks
from hyperlabel.engines.output import check_replaceable, reason_of, write_whole
from hyperlabel.engines.run import MOST_PATTERNS, Job, label_rows
from hyperlabel.errors import HyperlabelError, ParameterError, VotesError, require
from hyperlabel.metrics import Metric, check_metric
from hyperlabel.models import LabelModel, label_model

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
        data: A Polars LazyFrame or DataFrame, a DuckDB relation, a Spark or Dask DataFrame; or the path of a parquet
            file or a folder of them (with Polars of a csv or tsv file, too). One row per item, one column per LF;
            null, NaN, an empty text and -1 abstain.
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
        out: File to write; Spark and Dask make it a folder. It appears whole or not at all.
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
    target = None if out is None else Path(out)
    if target is not None:
        check_replaceable(target)
    kind = _engine_class(_engine_name(data, engine))
    if target is not None:
        _check_suffix(target, "out", kind)
    rows = _open(data, kind)
    try:
        frame = label_rows(rows, job)
    except kind.failures as error:
        raise HyperlabelError(f"engine {kind.name} failed: {reason_of(error)}") from error
    if target is None:
        return frame.collect() if type(data).__name__ == "DataFrame" and kind.name == "polars" else frame
    write_whole(target, lambda part: rows.write(frame, part), kind.failures)
    return target


def _engine_name(data: Any, engine: str) -> str:
    """The engine of data, which must be the one that was named, if one was."""
    if engine != "auto" and engine not in ENGINES:
        raise ParameterError(f"engine is '{engine}'; expected auto, {', '.join(ENGINES)}")
    if isinstance(data, str | Path):
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


def _open(data: Any, kind: Any) -> Engine:
    """Rows of a frame or path."""
    opened: Engine
    if not isinstance(data, str | Path):
        opened = kind(data.lazy() if hasattr(data, "lazy") else data)
        return opened
    path = Path(data)
    if not path.exists():
        raise VotesError(f"there is no file or folder '{path}'; check the path")
    if path.is_dir() and not any(path.glob("*.parquet")):
        raise VotesError(f"'{path}' is a folder without parquet files; expected a table, or a folder of parquet files")
    if not path.is_dir():
        _check_suffix(path, "data", kind)
    try:
        opened = kind.open(path)
    except (*kind.failures, OSError) as error:
        raise VotesError(f"'{path}' cannot be read: {reason_of(error)}. Is it a whole table?") from error
    return opened


def _check_suffix(path: Path, argument: str, kind: Any) -> None:
    if path.suffix not in kind.suffixes:
        raise ParameterError(
            f"{argument} is '{path}'; engine {kind.name} reads and writes names that end in {', '.join(kind.suffixes)}"
        )


__all__ = [
    "ENGINES",
    "MOST_PATTERNS",
    "fit_chunks",
    "label",
]
