"""Object stores: a real S3 server on this machine, and plain HTTP.

moto's own packages need an older python-dateutil than ours, so moto may be in another environment, whose interpreter
HYPERLABEL_MOTO_PYTHON names.
"""

import functools
import http.server
import importlib.util
import os
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.data import write_table
from hyperlabel.errors import ParameterError, VotesError

INTERPRETER = os.environ.get("HYPERLABEL_MOTO_PYTHON") or (sys.executable if importlib.util.find_spec("moto") else None)
VOTES = pl.DataFrame(np.random.default_rng(0).integers(-1, 2, (300, 3)), schema=["a", "b", "c"]).with_row_index("id")
needs_s3 = pytest.mark.skipif(INTERPRETER is None, reason="moto[server] is not installed")


@pytest.fixture(scope="module")
def bucket():
    if INTERPRETER is None:
        pytest.skip("moto[server] is not installed")
    server = Path(__file__).with_name("s3_server.py")
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen(
        [INTERPRETER, server],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=clean,
    ) as process:
        endpoint = f"http://127.0.0.1:{process.stdout.readline().strip()}"
        settings = {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "user",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bucket", method="PUT"))
            VOTES.lazy().sink_parquet("s3://bucket/v.parquet")
            VOTES.lazy().sink_csv("s3://bucket/v.csv")
            VOTES.lazy().sink_ndjson("s3://bucket/v.jsonl")
            yield "s3://bucket"
        process.stdin.close()


def expected():
    return hl.HyperLabelModel().predict(VOTES.drop("id")).tolist()


@needs_s3
@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
def test_engines_label_from_store_to_store(bucket, engine):
    out = f"{bucket}/{engine}.parquet"
    assert hl.engines.label(f"{bucket}/v.parquet", engine=engine, out=out) == out
    labeled = pl.read_parquet(f"{out}/*.parquet" if engine == "dask" else out).sort("id")
    assert labeled["label"].fill_null(-1).to_list() == expected()


@needs_s3
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_command_reads_and_writes_a_store(bucket, hyperlabel, ending):
    out = f"{bucket}/out-{ending}.{ending}"
    said = hyperlabel("label", f"{bucket}/v.{ending}", "-o", out)
    assert said.code == 0, said.err
    read = {"csv": pl.scan_csv, "jsonl": pl.scan_ndjson, "parquet": pl.scan_parquet}[ending]
    assert read(out).collect()["label"].fill_null(-1).to_list() == expected()


@needs_s3
def test_an_object_that_cannot_be_completed_does_not_appear(bucket):
    rows = VOTES.lazy().with_columns(pl.format("x{}", "a").cast(pl.Int64))
    with pytest.raises(ParameterError, match="cannot be written"):
        write_table(rows, f"{bucket}/broken.parquet")
    with pytest.raises(OSError, match="404|No such|not found|expanded paths were empty"):
        pl.read_parquet(f"{bucket}/broken.parquet")


@needs_s3
def test_a_missing_object_is_one_error(bucket, hyperlabel):
    said = hyperlabel("label", f"{bucket}/none.parquet", "-o", f"{bucket}/o.parquet")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "s3://bucket/none.parquet" in said.err


def test_a_lost_connection_is_exit_code_75(hyperlabel, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("POLARS_CLOUD_MAX_RETRIES", "0")
    assert hyperlabel("label", "s3://gone/v.parquet", "-o", "s3://gone/o.parquet").code == 75


def test_a_table_is_read_by_http_and_cannot_be_written_there(tmp_path, hyperlabel):
    VOTES.write_csv(tmp_path / "v.csv")
    VOTES.write_parquet(tmp_path / "v.parquet")
    handler = functools.partial(_Ranges, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        said = hyperlabel("label", f"{address}/v.csv", "-o", tmp_path / "o.csv")
        assert said.code == 0, said.err
        server.shutdown()
    assert pl.read_csv(tmp_path / "o.csv")["label"].fill_null(-1).to_list() == expected()
    said = hyperlabel("label", tmp_path / "v.csv", "-o", "https://example.org/o.csv")
    assert (said.code, "which can only be read" in said.err) == (2, True)
    with pytest.raises(ParameterError, match="can only be read"):
        hl.engines.label(tmp_path / "v.parquet", out="hf://datasets/me/o.parquet")


def test_an_object_without_an_ending_is_refused():
    with pytest.raises(VotesError, match="has no ending of a table"):
        hl.read_votes("s3://bucket/votes")


class _Ranges(http.server.SimpleHTTPRequestHandler):
    """Serves parts of files, as real servers do, and prints nothing."""

    def do_GET(self):
        """Answer with the bytes of the range that is asked for."""
        data = Path(self.translate_path(self.path)).read_bytes()
        asked = self.headers.get("Range", "bytes=0-").removeprefix("bytes=")
        start, _, stop = asked.partition("-")
        part = data[int(start) : int(stop) + 1 if stop else None] if start else data[-int(stop) :]
        first = int(start) if start else len(data) - len(part)
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_):
        """Print nothing."""
