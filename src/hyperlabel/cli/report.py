"""`hyperlabel report`: one self-contained HTML page about LFs and labels."""

from pathlib import Path
from typing import Annotated

from hyperlabel.cli.options import Manner, ModelOptions, Option, TableOptions, TruthName, VotesName
from hyperlabel.errors import ParameterError
from hyperlabel.files import replacing


def report(
    votes: VotesName,
    *,
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="The page, an html file.")],
    truth: TruthName = None,
    modeling: ModelOptions,
    reading: TableOptions,
    manner: Manner,
) -> None:
    """Write a page about the LFs of VOTES and the labels they make.

    One HTML file that needs no network: the table of LFs, their conflicts, the labels and their confidence, the most
    contested items and, with --truth, scores and a reliability plot.

    Example: hyperlabel report votes.csv -o report.html --truth truth
    """
    from hyperlabel.cli.analysis import read_analysis
    from hyperlabel.cli.terminal import say, say_warnings, set_manner
    from hyperlabel.printable import printable
    from hyperlabel.report import Items, render

    set_manner(manner)
    _check_page(out)
    with say_warnings(strict=manner.strict) as said:
        source, analysis = read_analysis(votes, reading, truth, modeling)
        ids = range(source.votes.n_items) if source.key is None else source.frame[source.key]
        texts = source.frame["text"] if "text" in source.frame.columns else None
        page = render(analysis, Items(ids, texts), title=Path(votes).name)
        said.lines.append(source.taken.describe())
        said.settle()
        _write_page(page, out)
    say(f"wrote {printable(out)}: {len(page.encode()) / 1024:,.0f} kB")


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
