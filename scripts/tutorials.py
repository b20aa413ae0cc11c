"""Runs the tutorials and writes their pages: python scripts/tutorials.py [NAME ...] [--out FOLDER].

A tutorial is a script in tutorials/, text and code in cells of the percent format. It runs in a folder of its
own, and its page, docs/tutorials/NAME.md, holds the text, the code and its output. The data is made by the tutorials
or comes with installed packages (`hl.load_example`).
"""

import argparse
import base64
import os
import re
import sys
import tempfile
from pathlib import Path

import jupytext
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "tutorials"
PAGES = ROOT / "docs" / "tutorials"
STYLE = re.compile(r"<style.*?</style>", re.DOTALL)
LINE_START = re.compile(r"^\s+", re.MULTILINE)
LOOKS = re.compile(r' (?:border="1"|class="dataframe"|style="[^"]*")')


def main(arguments: list[str]) -> int:
    """Write the pages of some tutorials, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=sorted(path.stem for path in SCRIPTS.glob("*.py")))
    parser.add_argument("--out", type=Path, default=PAGES)
    options = parser.parse_args(arguments)
    for name in options.names:
        write_page(SCRIPTS / f"{name}.py", options.out)
        print(f"{name}: written")
    return 0


def write_page(script: Path, out: Path) -> None:
    """Run a tutorial; write its page and pictures into the folder `out`."""
    text, pictures = to_markdown(run(script), script.stem)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{script.stem}.md").write_text(text, encoding="utf-8")
    for name, content in pictures.items():
        (out / name).write_bytes(content)


def run(script: Path) -> NotebookNode:
    """The cells of a tutorial with their outputs."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    notebook = jupytext.read(script)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
    return notebook


def to_markdown(notebook: NotebookNode, name: str) -> tuple[str, dict[str, bytes]]:
    """The page of a notebook and its pictures; cells with the tag `hidden` ran and are not shown."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if "hidden" in cell.metadata.get("tags", ()):
            continue
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            parts.append(show(output, f"{name}-{len(pictures) + 1}.png", pictures, cell.metadata.get("alt", "")))
    return "\n\n".join(parts) + "\n", pictures


def show(output: NotebookNode, name: str, pictures: dict[str, bytes], alt: str) -> str:
    """One output of a cell: a picture, a table, or text. A picture is kept under the name, `alt` describes it."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "image/png" in data:
        pictures[name] = base64.b64decode(data["image/png"])
        return f"![{alt}]({name})"
    if "text/html" in data:
        plain = LOOKS.sub("", STYLE.sub("", data["text/html"]))  # the site's own looks
        return LINE_START.sub("", plain)  # indented lines would be code
    return f"```text\n{data['text/plain'].rstrip()}\n```"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
