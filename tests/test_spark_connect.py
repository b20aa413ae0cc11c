"""Spark Connect: a real server on this machine, which has no RDDs; and workers without the package."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

needed = ("pyspark", "grpc", "grpc_status", "google.rpc", "pandas")
missing = [name for name in needed if importlib.util.find_spec(name.partition(".")[0]) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"Spark Connect needs {', '.join(missing)}")


def run_connect(**settings):
    script = Path(__file__).with_name("spark_connect.py")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", **settings}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, timeout=300)
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def test_both_paths_label_on_a_connect_server_without_rdds():
    told = run_connect()
    assert told["kind"].startswith("pyspark.sql.connect")
    assert (told["rdd"], told["error"], told["right"]) == (False, "", [True, True])


def test_workers_without_the_package_are_one_error_with_the_remedy(tmp_path):
    (tmp_path / "hyperlabel").mkdir()
    (tmp_path / "hyperlabel" / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'hyperlabel'\", name='hyperlabel')\n"
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexport PYTHONPATH="{tmp_path}:$PYTHONPATH"\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    told = run_connect(PYSPARK_PYTHON=str(python))
    assert "its workers do not have hyperlabel; install it there" in told["error"]
    assert "Traceback" not in told["error"]
