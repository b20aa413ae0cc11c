"""`hyperlabel report`: one self-contained HTML page about LFs and labels, to show to others."""

from pathlib import Path
from typing import Annotated

from hyperlabel.cli._options import ModelOptions, Option, OutputOptions, PageOptions, TableOptions, VotesName
from hyperlabel.errors import ParameterError


def report(
    votes: VotesName,
    *,
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="The page, an html file.")],
    page: PageOptions,
    modeling: ModelOptions,
    reading: TableOptions,
    output: OutputOptions,
) -> None:
    """Write one HTML page about the labels and LFs of VOTES.

    One HTML file that needs no network: a headline, what to do next, how good the labels are (with --truth, --gold or
    --audit), contested items and items without votes, what depends on the class balance, and every LF with examples.

    Example: hyperlabel report votes.csv -o report.html --truth truth
    """
    from hyperlabel._core import printable
    from hyperlabel.cli._inputs import check_file, open_inputs
    from hyperlabel.cli._terminal import console, say, say_step
    from hyperlabel.data import write_text
    from hyperlabel.reports import report as write_report
    from hyperlabel.trust import certify

    if out.suffix not in (".html", ".htm"):
        raise ParameterError(f"--out is '{out}'; expected a name that ends in .html")
    check_file(out)
    labels = {"truth": page.truth, "gold": modeling.gold, "audit": page.audit}
    with open_inputs(votes, modeling, reading, output, others=[page.text], **labels) as inputs:
        frame, gold, sample = inputs.source.frame, inputs.labels["gold"], inputs.labels["audit"]
        text = page.text or "text"
        if page.text is not None and text not in frame.columns:
            shown = ", ".join(map(printable, frame.columns))
            raise ParameterError(f"--text is '{text}'; expected a column of VOTES: {shown}")
        say_step(f"reporting on {votes} by {modeling.model}")
        certificate = None
        with console.status("looking at the votes without each LF"):
            if sample is not None:
                model, metric = inputs.model, inputs.metric
                certificate = certify(model, inputs.votes, sample, page.error, learn=gold, metric=metric)
            html_page = write_report(
                inputs.votes,
                frame[text].to_list() if text in frame.columns else None,
                inputs.labels["truth"],
                gold,
                model=inputs.model,
                metric=inputs.metric,
                title=Path(votes).name if page.title is None else page.title,
                certificate=certificate,
                table=[votes, *reading.arguments],
            )
        inputs.messages.lines.append(printable(html_page.headline))
        inputs.messages.raise_if_strict()
        write_text(out, html_page.html, "--out")
    say(f"wrote {printable(out)}: {len(html_page.html.encode()) / 1024:,.0f} kB")
