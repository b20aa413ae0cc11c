"""Labeling large parquet files: time against DuckDB's plain COPY of the same file, and the peak of memory.

    python -m experiments scale                                      # a million rows, to see that it works
    python -m experiments scale --rows 1e6,1e7,1e8 --parts files,spark,dense --keep
    python -m experiments scale --rows 1e9 --engines polars --keep   # once: about 7 GB of parquet, and as much again

Needs the extras duckdb, spark and cli. Run nothing else meanwhile. Every measurement runs in a process of its own;
COPY and the engines take turns. With `--keep` the records are kept in experiments/results/scale.json, those of the same
part, size and engine replaced, and the table in experiments/results/scale.md and docs/scale.md is made from all that
are there. Parts:

files: ten LFs, 59,049 patterns, parquet to parquet with label and confidence. At most 2 times COPY wanted, below
       0.5 GB. On a busy machine CPU time, of all threads, says more than time.
spark: the same with Spark, at most ten million rows; the driver may fetch 16 MB at most in one action, or Spark fails.
dense: thirty LFs, every row a pattern of its own, at most ten million rows: the network streamed over the rows.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
DOCUMENT, BEGIN, END = Path(__file__).parents[1] / "docs" / "scale.md", "<!-- scale: begin -->", "<!-- scale: end -->"
PARTS, ENGINES = ("files", "spark", "dense"), ("polars", "duckdb")
MOST_ROWS = 10_000_000  # of the parts spark and dense
FETCHED_MB = 16


def votes_query(n: int, m: int) -> str:
    """Votes drawn from the decimal digits of hashes: of ten, four abstain, three vote 0 and three vote 1."""
    digits = [f"(hash(i + {j // 15 * n}) // {10 ** (j % 15)}) % 10" for j in range(m)]
    votes = [f"CASE WHEN {digit} < 4 THEN NULL WHEN {digit} < 7 THEN 0 ELSE 1 END::TINYINT" for digit in digits]
    columns = ", ".join(f"{vote} AS lf{j}" for j, vote in enumerate(votes))
    return f"SELECT i AS id, {columns} FROM range({n}) t(i)"


def write_votes(path: Path, n: int, m: int) -> None:
    import duckdb

    duckdb.connect().execute(f"COPY ({votes_query(n, m)}) TO '{path}' (FORMAT parquet)")


def copy_file(source: str, target: str) -> dict[str, Any]:
    import duckdb

    connection = duckdb.connect()
    return timed(lambda: connection.execute(f"COPY (SELECT * FROM '{source}') TO '{target}' (FORMAT parquet)"))


def label_file(source: str, target: str, engine: str) -> dict[str, Any]:
    from hyperlabel import engines

    return timed(lambda: engines.label(source, lfs=["lf*"], engine=engine, out=target))


def label_rows(source: str, target: str) -> dict[str, Any]:
    """With Polars, by the network streamed over the rows."""
    from hyperlabel import engines

    return timed(lambda: engines.label(source, lfs=["lf*"], out=target, max_patterns=1000))


def label_on_spark(source: str, target: str) -> dict[str, Any]:
    """With a driver that must not fetch more than a few MB, and a count of the rows that it does."""
    from pyspark.sql import DataFrame, SparkSession

    from hyperlabel import engines

    session = SparkSession.builder.config("spark.driver.maxResultSize", f"{FETCHED_MB}m").getOrCreate()
    fetched: list[int] = []
    whole = type(session.range(1)).toArrow

    def to_arrow(frame: DataFrame) -> Any:
        table = whole(frame)
        fetched.append(table.num_rows)
        return table

    setattr(type(session.range(1)), "toArrow", to_arrow)  # noqa: B010
    return timed(lambda: engines.label(source, lfs=["lf*"], engine="spark", out=target)) | {"fetched": max(fetched)}


def timed(work: Callable[[], object]) -> dict[str, Any]:
    start = time.perf_counter()
    work()
    return {"seconds": time.perf_counter() - start}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "copy": copy_file,
    "label": label_file,
    "dense": label_rows,
    "spark": label_on_spark,
}


def measure(task: str, source: Path, target: Path, *more: str) -> dict[str, Any]:
    """A task in a process of its own: what it reports, and the peak of its memory."""
    command = [sys.executable, "-m", "experiments.scale", task, str(source), str(target), *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | LOCAL)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    cpu = usage.ru_utime + usage.ru_stime
    return {**json.loads(output.splitlines()[-1]), "cpu": cpu, "mb": usage.ru_maxrss / 1024}


LOCAL = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_SUBMIT_ARGS": "--master local[2] --driver-memory 2g --conf spark.driver.host=127.0.0.1 "
    "--conf spark.ui.enabled=false --conf spark.ui.showConsoleProgress=false pyspark-shell",
}


def run_files(folder: Path, n: int, engines: Sequence[str], repeats: int) -> list[dict[str, Any]]:
    """COPY and the engines in turn; of several rounds the medians."""
    source, target = folder / "votes.parquet", folder / "out.parquet"
    write_votes(source, n, 10)
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in ("copy", *engines)}
    for _ in range(repeats):
        for name, found in rounds.items():
            found.append(measure("copy", source, target) if name == "copy" else measure("label", source, target, name))
            target.unlink()
    size = source.stat().st_size / 1e6
    middle = {name: sorted(found, key=lambda r: r["seconds"])[len(found) // 2] for name, found in rounds.items()}
    return [{"part": "files", "rows": n, "engine": name, "file_mb": size, **record} for name, record in middle.items()]


def run_spark(folder: Path, n: int) -> list[dict[str, Any]]:
    source = folder / "votes.parquet"
    write_votes(source, n, 10)
    record = measure("spark", source, folder / "out.parquet")
    return [{"part": "spark", "rows": n, "engine": "spark", "file_mb": source.stat().st_size / 1e6, **record}]


def run_dense(folder: Path, n: int) -> list[dict[str, Any]]:
    source = folder / "votes.parquet"
    write_votes(source, n, 30)
    record = measure("dense", source, folder / "out.parquet")
    return [{"part": "dense", "rows": n, "engine": "polars", "file_mb": source.stat().st_size / 1e6, **record}]


def run_part(part: str, n: int, engines: Sequence[str], repeats: int, place: Path | None) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(dir=place) as folder:
        if part == "files":
            return run_files(Path(folder), n, engines, repeats)
        return (run_spark if part == "spark" else run_dense)(Path(folder), n)


def ratio(record: dict[str, Any], records: list[dict[str, Any]], figure: str) -> str:
    """How many times as much as COPY of the same file; nothing where one was not measured."""
    same = [r for r in records if r["part"] == "files" and r["rows"] == record["rows"] and r["engine"] == "copy"]
    known = same and record["part"] == "files" and figure in record and figure in same[0]
    return f"{record[figure] / same[0][figure]:.1f}" if known else ""


def table(records: list[dict[str, Any]]) -> str:
    lines = [
        "| part | rows | file, MB | engine | seconds | times COPY | CPU, times COPY | peak memory, MB | rows fetched |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for record in sorted(records, key=lambda r: (PARTS.index(r["part"]), r["rows"])):
        name = "COPY (DuckDB)" if record["engine"] == "copy" else record["engine"]
        times = [ratio(record, records, figure) for figure in ("seconds", "cpu")]
        lines.append(
            f"| {record['part']} | {record['rows']:,} | {record['file_mb']:,.0f} | {name} | {record['seconds']:.1f} | "
            f"{times[0]} | {times[1]} | {record['mb']:,.0f} | {record.get('fetched', '')} |"
        )
    return "\n".join(lines)


def keep_records(new: list[dict[str, Any]]) -> None:
    """Replace the records of the same part, size and engine; make the table anew."""
    path = RESULTS / "scale.json"
    old = json.loads(path.read_text()) if path.exists() else []
    keys = [(r["part"], r["rows"], r["engine"]) for r in new]
    records = [r for r in old if (r["part"], r["rows"], r["engine"]) not in keys] + new
    path.write_text(json.dumps(records, indent=1) + "\n")
    (RESULTS / "scale.md").write_text(table(records) + "\n")
    before, rest = DOCUMENT.read_text().split(BEGIN)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{table(records)}\n{END}{rest.split(END)[1]}")


def run(
    rows: Sequence[int],
    parts: Sequence[str],
    engines: Sequence[str],
    *,
    repeats: int = 1,
    folder: Path | None = None,
    keep: bool = False,
) -> None:
    """Measure every part at every size; each is printed, and maybe kept, as soon as it is there."""
    jobs = dict.fromkeys((part, n if part == "files" else min(n, MOST_ROWS)) for part in parts for n in rows)
    for part, n in jobs:
        found = run_part(part, n, engines, repeats, folder)
        print(table(found), flush=True)
        if keep:
            keep_records(found)


if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](*sys.argv[2:])))  # in a process of its own, started by `measure`
