"""Label or fit a table where it is."""

import importlib
import os
from collections.abc import Hashable, Sequence
from dataclasses import replace
from glob import has_magic
from pathlib import Path
from typing import Any

from hyperlabel._core import Metric, check_choice, check_metric, check_path, is_url
from hyperlabel.data import ENDINGS, Format, Table, check_folder_target, check_target, reading
from hyperlabel.engines._base import Engine
from hyperlabel.engines._reading import MOST_PATTERNS, Job, MissingLfs
from hyperlabel.engines._run import LabelingRun
from hyperlabel.errors import ParameterError, VotesError, require, warn_of_votes
from hyperlabel.models import LabelModel, choose_model, provenance

ENGINES = {  # name: (packages that it needs, extra that has them)
    "polars": (("polars",), "cli"),
    "duckdb": (("duckdb", "pyarrow"), "duckdb"),
    "spark": (("pyspark", "pandas", "pyarrow"), "spark"),
    "dask": (("dask.dataframe", "distributed"), "dask"),
}
"""The engines, fastest on one machine first."""


def label(
    data: Any,
    *,
    lfs: Sequence[str] | None = None,
    abstain: Sequence[Any] | None = None,
    missing_lfs: MissingLfs = "error",
    model: str | LabelModel = "hlm3",
    n_classes: int | None = None,
    classes: Sequence[Hashable] | None = None,
    gold: str | None = None,
    probabilities: bool = False,
    text: str | None = None,
    metric: Metric = "accuracy",
    strict: bool = False,
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
            name of one that `hyperlabel.data.Table.open` takes. One row per item, one column per LF.
        lfs: Columns that are LFs, as names or patterns such as `lf_*`. If not given, those that the model was fitted
            on; for a model that is not fitted, those that `Votes.from_frame` would take.
        abstain: Values that abstain, as for `Votes.from_frame`; those of `fit` if not given and the model is fitted.
        missing_lfs: For a fitted model, whether an LF without a column is an `error`, or to `abstain` everywhere.
        model: A short name, or a label model. A fitted one judges the rows in its state and finds its LFs by name
            if it knows names; any other is fitted on these rows first, as a copy.
        n_classes: Number of classes; inferred if not given.
        classes: The classes, in the order of their probabilities; inferred if not given.
        gold: The column with the known classes of some items. They are the labels of these items, and a model that
            is not fitted learns from them.
        probabilities: Whether to add the probabilities of all classes.
        text: With Polars, a column of texts; rows are labeled by votes and texts, in a state learned from 200,000 rows
            at most. `label_source` says where each label comes from.
        metric: Metric to optimize the labels for, as for `LabelModel.predict`.
        strict: Whether warnings are errors.
        engine: `auto`, `polars`, `duckdb`, `spark` or `dask`. `auto` is the engine of the frame, and Polars for paths.
        out: File to write: with Polars in any table format, else parquet (a folder for Spark and Dask). It
            appears whole or not at all, and its metadata says where its labels come from. In a store, that holds for
            single objects; a folder of Spark is complete when it has `_SUCCESS`, one of Dask when this returns.
        max_patterns: With more than about this many patterns, the model reads the rows in passes instead.

    Returns:
        The path of `out` if it is given. Otherwise a frame of the same kind, evaluated when it is used if the
        engine is lazy; for a path, the engine's lazy kind of frame.

    Raises:
        VotesError: A column cannot be votes, or a value is not a class.

    >>> import polars as pl
    >>> votes = pl.LazyFrame({"id": [7, 8, 9], "a": ["spam", "ham", None], "b": ["spam", None, None]})
    >>> label(votes).collect()["label"].to_list()
    ['spam', 'ham', None]
    """
    target = out if out is None or is_url(out) else check_path(out, "out")
    run = start(
        data,
        lfs=lfs,
        abstain=abstain,
        missing_lfs=missing_lfs,
        model=model,
        n_classes=n_classes,
        classes=classes,
        gold=gold,
        probabilities=probabilities,
        text=text,
        metric=metric,
        engine=engine,
        out=target,
        max_patterns=max_patterns,
    )
    warn_of_votes(run.columns.warnings, strict=strict)
    if target is None:
        eager = type(data).__name__ == "DataFrame" and run.engine.name == "polars"
        return run.frame.collect() if eager else run.frame
    options = {"metric": metric, "gold": gold, "source": data if isinstance(data, str | Path) else None}
    run.write(target, provenance(run.model if run.n_rows else run.job.model, options))
    return target


def fit(data: Any, *, model: str | LabelModel = "hlm3", strict: bool = False, **options: Any) -> LabelModel:
    """Return a copy of a label model that has read the rows of a frame or file where they are.

    Args:
        data: The rows, as for `label`.
        model: A short name, or a label model that is not fitted.
        strict: Whether warnings are errors.
        options: `lfs`, `abstain`, `n_classes`, `classes`, `gold`, `metric`, `engine` and `max_patterns` of `label`.

    >>> import polars as pl
    >>> votes = pl.LazyFrame({"id": [7, 8], "a": ["spam", "ham"], "b": ["spam", None]})
    >>> fit(votes, model="mv").classes_.tolist()
    ['ham', 'spam']
    """
    run = start(data, model=model, **options)
    if run.job.model.is_fitted:
        raise ParameterError(f"model is {run.job.model!r}, which is already fitted; give one that is not")
    warn_of_votes(run.columns.warnings, strict=strict)
    return run.model


def start(
    data: Any,
    *,
    model: str | LabelModel = "hlm3",
    source: bool = False,
    text: str | None = None,
    metric: Metric = "accuracy",
    engine: str = "auto",
    out: str | Path | None = None,
    others: Sequence[str] = (),
    **options: Any,
) -> LabelingRun:
    """Start the work of `label` and `fit`, which is done step by step: columns, fitted model, labeled rows.

    It gives no warnings; they are in `columns.warnings` of the run. The arguments are those of `label`;
    with `source`, `label_source` is added even without texts; `others` are columns that are not LFs unless named.

    >>> import polars as pl
    >>> votes = pl.LazyFrame({"id": [7, 8], "a": ["spam", "ham"], "b": ["spam", None]})
    >>> start(votes).columns.describe()
    'LFs: a, b; ignored: id; classes: ham 1, spam 2; abstain: empty 1'
    """
    check_metric(metric)
    check_choice(options.get("missing_lfs", "error"), "missing_lfs", ["error", "abstain"])
    estimator = choose_model(model)
    kind = _engine_class(_engine_name(data, engine))
    if out is not None:
        check_result(out, kind.name)
    job = Job(estimator, others=others, source=source or text is not None, text=text, metric=metric, **options)
    if text is not None and kind.name != "polars":
        raise ParameterError(f"text is '{text}', but engine {kind.name} does not read texts; use engine polars")
    if text is not None and metric == "f1":
        raise ParameterError(
            f"text is '{text}' and metric is 'f1', which needs the probabilities of all rows at once; use hl.label"
        )
    if not isinstance(data, str | Path | Table):
        return LabelingRun(kind(data.lazy() if kind.name == "polars" else data), job)
    if kind.name != "polars" and _is_remote(data, kind.name):  # the engine reads it by itself
        url = str(data.url if isinstance(data, Table) else data)
        with reading(url, "parquet"):
            return LabelingRun(kind.open_url(url), replace(job, name=url))
    table = data if isinstance(data, Table) else Table.open(data)
    with reading(table.name, "table"):
        rows: Engine = kind(table.lazy()) if kind.name == "polars" else kind.open(table.parquet_files(), table.columns)
    return LabelingRun(
        rows, replace(job, others=[*others, *table.hive], name=table.name, written=table.kind == "csv"), table.metadata
    )


def _is_remote(data: str | Path | Table, engine: str) -> bool:
    """Return whether data is parquet in a store; for Spark also a path that is only on its own file system."""
    if isinstance(data, Table):
        return data.url is not None and data.kind == "parquet"
    format = Format.of_name(str(data).rpartition("/")[2])
    if is_url(data):
        return format is not None and format.kind == "parquet"
    return engine == "spark" and str(data).startswith("/") and not os.path.exists(data) and not has_magic(str(data))


def _engine_name(data: Any, engine: str) -> str:
    """Return the engine of data; if one was named, it must be the same."""
    check_choice(engine, "engine", ["auto", *ENGINES])
    if isinstance(data, str | Path | Table):
        return "polars" if engine == "auto" else engine
    root = type(data).__module__.partition(".")[0]
    kind = {"pyspark": "spark", "_duckdb": "duckdb", "dask_expr": "dask"}.get(root, root)
    if kind not in ENGINES:
        raise VotesError(
            f"data is of type {type(data).__module__}.{type(data).__name__}; expected a Polars, DuckDB, Spark or Dask "
            "frame, or the path of a table. For arrays and pandas frames use HyperLabelModel"
        )
    if engine not in ("auto", kind):
        raise ParameterError(f"engine is '{engine}', but data is a frame of {kind}; leave engine out")
    return kind


def _engine_class(name: str) -> Any:
    """Return the class of an engine, if its packages are installed."""
    packages, extra = ENGINES[name]
    for package in packages:
        require(package, extra=extra)
    return getattr(importlib.import_module(f"hyperlabel.engines._{name}"), f"{name.capitalize()}Engine")


def check_result(path: str | Path, engine: str, argument: str = "out") -> None:
    """Refuse a result that an engine cannot write, or cannot write there, before any work is done."""
    kind = _engine_class(engine)
    format = Format.of_name(Path(path).name)
    if format is None or format.kind not in kind.formats:
        endings = ENDINGS if kind.name == "polars" else ".parquet, .pq"
        raise ParameterError(f"{argument} is '{path}'; engine {kind.name} writes names that end in {endings}")
    if kind.name in ("spark", "dask"):
        check_folder_target(path, argument)
    else:
        check_target(path, argument)
