"""Engines that really run, for the tests of engines: local Spark, two Dask workers, DuckDB and Polars."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

ENGINES = ("polars", "duckdb", "spark", "dask")


def start_spark(master: str, options: Mapping[str, str] | None = None) -> Any:
    """A Spark session on this machine alone; its Python workers are processes of their own."""
    from pyspark.sql import SparkSession

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    common = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    return SparkSession.builder.master(master).config(map={**common, **(options or {})}).getOrCreate()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local Spark session of two threads."""
    pytest.importorskip("pyspark", reason="pyspark is not installed (extra `spark`)")
    session = start_spark("local[2]")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def dask_workers() -> Iterator[Any]:
    """Two Dask workers in processes of their own; all Dask work goes there."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed (extra `dask`)")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(params=ENGINES)
def engine(request) -> str:
    """The name of each engine, which is running."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    elif request.param == "dask":
        request.getfixturevalue("dask_workers")
    else:
        pytest.importorskip(request.param)
    return request.param


@pytest.fixture
def open_frame(engine, request) -> Callable[[Path], Any]:
    """Opens a parquet file as a frame of the engine."""

    def open_it(path: Path) -> Any:
        if engine == "polars":
            return pl.scan_parquet(path)
        if engine == "duckdb":
            import duckdb

            return duckdb.connect().read_parquet(str(path))
        if engine == "spark":
            return request.getfixturevalue("spark").read.parquet(str(path)).repartition(3)
        import dask.dataframe as dd

        return dd.read_parquet(str(path), dtype_backend="pyarrow").repartition(npartitions=3)

    return open_it


def collect(frame: Any) -> pl.DataFrame:
    """The rows of an engine's frame, by id."""
    if isinstance(frame, pl.LazyFrame):
        rows = frame.collect()
    elif hasattr(frame, "compute"):
        rows = pl.from_pandas(frame.compute())
    else:
        rows = pl.from_arrow(frame.toArrow() if hasattr(frame, "toArrow") else frame.to_arrow_table())
    return rows.sort("id")


def read_result(path: Path) -> pl.DataFrame:
    """A result that was written, file or folder, by id."""
    return pl.read_parquet(sorted(path.glob("*.parquet")) if path.is_dir() else path).sort("id")
