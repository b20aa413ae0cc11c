"""Code blocks of README and docs run as tests: Python in one namespace per page, commands in one folder per page.

A block `output` below a Python block has what that block prints.
"""

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sybil import Example, Sybil
from sybil.document import Document
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, SkipParser

# What the studio remembers of code that was run stays out of the home of whoever runs the tests.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="hyperlabel-tests-")

# Test files that take more than a few seconds, by the start of their names: `--quick` leaves them out.
SLOW = (
    "test_amcl", "test_build", "test_classify", "test_cli.py", "test_cli_", "test_cll", "test_compare", "test_compat",
    "test_data_tables", "test_defects", "test_ebcc", "test_empty", "test_engines", "test_experiments", "test_export",
    "test_files", "test_habits", "test_lf_cache", "test_lf_calls", "test_lf_jobs", "test_lf_lazy", "test_lf_prompt",
    "test_lf_regex", "test_networks_unrolled", "test_packing", "test_parity", "test_production", "test_properties",
    "test_random_forest", "test_reports", "test_site", "test_sklearn", "test_spans", "test_spark", "test_streaming",
    "test_studio", "test_tags", "test_training", "test_trust_advise", "test_tutorials",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `sh scripts/test --quick`."""
    parser.addoption("--quick", action="store_true", help="leave out what takes more than a few seconds")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out slow test files, and all documents, if only the quick ones are wanted."""
    if not config.getoption("--quick"):
        return None
    slow = collection_path.name.startswith(SLOW) or collection_path.name == "campaign"
    return slow or collection_path.suffix == ".md" or None


def run_commands(example: Example) -> None:
    """Run the lines behind `$` in the page's folder; each must succeed.

    `$ cat FILE` shows what is in a file: it is written as shown if the page has not made it before.
    """
    for command, shown in split_commands(example.parsed):
        words = command.split()
        if words[0] == "cat" and not Path(words[1]).exists():
            Path(words[1]).write_text(shown, encoding="utf-8")
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert shown.strip() in done.stdout, f"{command} prints\n{done.stdout}and not\n{shown}"


def split_commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a block with the lines that are shown below it."""
    for part in f"\n{block}".split("\n$ ")[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            line, _, shown = shown.partition("\n")
            command = f"{command[:-1]}{line}"
        yield command, shown


def enter_folder(namespace: dict[str, object]) -> None:
    """A page's own empty folder, with the `hyperlabel` of these tests as the command."""
    namespace["_before"] = (os.getcwd(), os.environ["PATH"])
    namespace["_folder"] = tempfile.mkdtemp()
    os.chdir(str(namespace["_folder"]))
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def leave_folder(namespace: dict[str, object]) -> None:
    """Undo `enter_folder`."""
    folder, path = namespace["_before"]  # type: ignore[misc]
    os.chdir(folder)
    os.environ["PATH"] = path
    shutil.rmtree(str(namespace["_folder"]))


def run_python(example: Example) -> None:
    """Run a Python block and keep what it prints, for the block of output below it."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        PythonEvaluator()(example)
    example.namespace["_printed"] = printed.getvalue()


def check_printed(example: Example) -> None:
    """Compare a block of output with what the Python block above it printed."""
    assert example.namespace["_printed"].strip() == example.parsed.strip()


pytest_collect_file = Sybil(
    parsers=[
        CodeBlockParser(language="python", evaluator=run_python),
        CodeBlockParser(language="output", evaluator=check_printed),
        CodeBlockParser(language="console", evaluator=run_commands),
        SkipParser(),
    ],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    excludes=["docs/tutorials/*.md"],  # written by scripts/tutorials.py, which ran them
    document_types={".md": Document},
    setup=enter_folder,
    teardown=leave_folder,
).pytest()
