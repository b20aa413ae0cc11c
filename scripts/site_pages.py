"""Hooks of the documentation site: pages from outside `docs/`, the commands' help, formulas without a script.

The tables that experiments write, the training log and the project's own pages stay where the repository keeps
them. The site shows them below `records/`, and links to them are turned to there. A link to any other file of the
repository becomes plain text, since the site does not have it.
"""

import html as escapes
import posixpath
import re
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "training/**/*.md",
    "training/**/*.png",
    "experiments/**/*.md",
]
COMMANDS = "<!-- commands -->"
RECORDS = "records/experiments/results/"
LINK = re.compile(r"(?P<text>\[[^\[\]]*\])\((?P<target>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and pictures that live outside `docs/`."""
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            uri = f"records/{path.relative_to(ROOT).as_posix()}"
            files.append(File.generated(config, uri, abs_src_path=str(path), inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write the help of the commands where it belongs, title records, and turn links that leave `docs/`."""
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, describe_commands())
    if page.file.src_uri.startswith(RECORDS) and not markdown.startswith("# "):
        markdown = f"# Record: {posixpath.basename(page.file.src_uri).removesuffix('.md')}\n\n{markdown}"
    if page.parent is None:
        page.meta["hide"] = ["navigation"]  # a tab of one page: its list would be empty
    known = {file.src_uri for file in files}
    return LINK.sub(lambda found: turn(found, page.file.src_uri, known), markdown)


def turn(link: re.Match[str], source: str, known: set[str]) -> str:
    """A link of the page `source` as the site can follow it."""
    here = posixpath.dirname(source.removeprefix("records/") if source.startswith("records/") else f"docs/{source}")
    path = posixpath.normpath(posixpath.join(here, link["target"]))
    uri = path.removeprefix("docs/") if path.startswith("docs/") else f"records/{path}"
    if uri in known:
        return f"{link['text']}({posixpath.relpath(uri, posixpath.dirname(source) or '.')}{link['anchor'] or ''})"
    is_elsewhere = not path.startswith("docs/") and (ROOT / path).exists()
    return link["text"][1:-1] if is_elsewhere else link[0]


def describe_commands() -> str:
    """The help of every command, as it is printed."""
    from typer.testing import CliRunner

    from hyperlabel.cli._app import app

    runner = CliRunner(env={"COLUMNS": "110", "NO_COLOR": "1", "TERM": "dumb"})
    names = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    helps = {name: runner.invoke(app, [name, "--help"], prog_name="hyperlabel").output.strip() for name in names}
    return "\n".join(f"## `hyperlabel {name}`\n\n```text\n{text}\n```\n" for name, text in helps.items())


def on_page_content(html: str, **_: object) -> str:
    """Formulas as MathML, which browsers draw themselves."""
    return FORMULA.sub(lambda found: draw_formula(escapes.unescape(found[2]), is_block=found[1] == "div"), html)


def draw_formula(formula: str, *, is_block: bool) -> str:
    """A formula of LaTeX as MathML."""
    return convert(formula, display="block" if is_block else "inline")
