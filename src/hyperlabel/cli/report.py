"""`hyperlabel report`: one self-contained HTML page about LFs and labels, to show to others."""

from pathlib import Path
from typing import Annotated

from hyperlabel.cli.options import Manner, ModelOptions, Option, PageOptions, TableOptions, VotesName
from hyperlabel.errors import ParameterError


def report(
    votes: VotesName,
    *,
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="The page, an html file.")],
    showing: PageOptions,
    modeling: ModelOptions,
    reading: TableOptions,
    manner: Manner,
) -> None:
    """Write one HTML page about the labels and LFs of VOTES.

    One HTML file that needs no network: a headline, what to do next, how good the labels are (with --truth, --gold or
    --audit), contested items and items without votes, what depends on the class balance, and every LF with examples.

    Example: hyperlabel report votes.csv -o report.html --truth truth
    """
    from hyperlabel.cli.reporting import make_report
    from hyperlabel.cli.tables import check_file
    from hyperlabel.cli.terminal import say, say_warnings
    from hyperlabel.shown import printable
    from hyperlabel.tables import write_text

    if out.suffix not in (".html", ".htm"):
        raise ParameterError(f"--out is '{out}'; expected a name that ends in .html")
    check_file(out)
    with say_warnings(strict=manner.strict) as said:
        source, page = make_report(votes, reading, modeling, showing)
        said.lines += [source.taken.describe(), printable(page.headline)]
        said.settle()
        write_text(out, page.html, "--out")
    say(f"wrote {printable(out)}: {len(page.html.encode()) / 1024:,.0f} kB")
