"""Code blocks of README and docs run as tests: Python in one namespace per page, commands in one folder per page."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sybil import Example, Sybil
from sybil.document import Document
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser


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


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(),
        CodeBlockParser(language="console", evaluator=run_commands),
        SkipParser(),
    ],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    excludes=["docs/tutorials/*.md"],  # written by scripts/tutorials.py, which ran them
    document_types={".md": Document},
    setup=enter_folder,
    teardown=leave_folder,
).pytest()
