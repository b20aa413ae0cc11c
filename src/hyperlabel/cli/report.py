"""`hyperlabel report`: one self-contained HTML page about LFs and labels."""

from pathlib import Path
from typing import Annotated

import typer

from hyperlabel.cli.analyze import read_analysis
from hyperlabel.cli.compare import TRUTH_HELP
from hyperlabel.cli.label import CLASSES_HELP, LFS_HELP, LONG_HELP, MODEL_HELP, VOTES_HELP
from hyperlabel.cli.tables import Source
from hyperlabel.cli.terminal import say
from hyperlabel.errors import ParameterError
from hyperlabel.files import replacing
from hyperlabel.report import Items, render

Option = typer.Option


def report(
    votes: Annotated[Path, typer.Argument(metavar="VOTES", help=VOTES_HELP, show_default=False)],
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="The page, an html file.")],
    truth: Annotated[str | None, Option(metavar="COLUMN|FILE", help=TRUTH_HELP)] = None,
    model: Annotated[str, Option(metavar="NAME|FILE", help=MODEL_HELP)] = "hlm2",
    classes: Annotated[str | None, Option(metavar="A,B,...", help=CLASSES_HELP)] = None,
    lfs: Annotated[str | None, Option(metavar="A,B,...", help=LFS_HELP)] = None,
    long: Annotated[str | None, Option(metavar="ITEM,LF,VOTE", help=LONG_HELP)] = None,
) -> None:
    """Write a page about the LFs of VOTES and the labels they make.

    One HTML file that needs no network: the table of LFs, their conflicts, the labels and their confidence, the most
    contested items and, with --truth, scores and a reliability plot.
    """
    _check_page(out)
    source, analysis = read_analysis(votes, truth, model, classes, lfs, long)
    page = render(analysis, _items(source), title=votes.name)
    _write_page(page, out)
    say(f"wrote {out}: {len(page.encode()) / 1024:,.0f} kB")


def _items(source: Source) -> Items:
    ids = range(source.votes.n_items) if source.key is None else source.frame[source.key]
    return Items(ids, source.frame["text"] if "text" in source.frame.columns else None)


def _check_page(path: Path) -> None:
    """Refuse a page that cannot be written, before any work is done."""
    if path.suffix not in (".html", ".htm"):
        raise ParameterError(f"--out is '{path}'; expected a name that ends in .html")
    if not path.parent.is_dir():
        raise ParameterError(f"--out is '{path}', but there is no folder '{path.parent}'; make it first")
    if path.is_dir():
        raise ParameterError(f"--out is '{path}', which is a folder; expected the name of a file")


def _write_page(page: str, path: Path) -> None:
    """Write the page, whole or not at all."""
    try:
        with replacing(path) as part:
            part.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"--out is '{path}', which cannot be written: {error.strerror}") from error
