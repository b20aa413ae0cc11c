"""`hyperlabel spans`: documents with votes on spans in, documents with spans out."""

from pathlib import Path
from typing import Annotated

import typer

from hyperlabel.cli._options import JsonOptions, Option, split_names
from hyperlabel.errors import ParameterError

FILE_HELP = (
    "Documents: JSON lines with tokens (or text) and votes; CoNLL columns, a token and one tag per LF; JSON of WRENCH "
    "or CHMM; a DocBin of spaCy (.spacy)."
)
OUT_HELP = "Write .jsonl, .conll (.tsv, .txt) or .spacy; else JSON lines to standard output."
MODEL_HELP = (
    "Label model for the votes on a token, such as hlm3, mv or ds; or a saved model. If not given, majority vote, "
    "refined where LFs overlap."
)
GOLD_HELP = "Key of the true spans of some documents, such as gold, to correct the probabilities by."
TRUTH_HELP = "Key of the true spans: print precision, recall and F1."
TYPES_HELP = "Types of spans; votes for others are left out."
REPORT_HELP = "Write a page with highlighted documents to an html file."


def spans(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)],
    *,
    out: Annotated[str, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = "-",
    model: Annotated[str | None, Option(metavar="NAME|FILE", help=MODEL_HELP)] = None,
    gold: Annotated[str | None, Option(metavar="KEY", help=GOLD_HELP)] = None,
    truth: Annotated[str | None, Option(metavar="KEY", help=TRUTH_HELP)] = None,
    types: Annotated[str | None, Option(metavar="A,B,...", help=TYPES_HELP)] = None,
    report: Annotated[Path | None, Option(metavar="FILE", help=REPORT_HELP)] = None,
    output: JsonOptions,
) -> None:
    """Turn votes on spans of tokens into spans, with probabilities.

    Example: hyperlabel spans documents.jsonl -o spans.jsonl --truth gold
    """
    from hyperlabel._core import printable
    from hyperlabel.cli._inputs import make_model
    from hyperlabel.cli._terminal import Summary, print_lines, say, say_warnings
    from hyperlabel.spans import check_spans_target, label_spans, write_spans

    summary, to_stdout = Summary(model), out == "-"
    if not to_stdout:
        check_spans_target(out, "--out")
    if report is not None and report.suffix not in (".html", ".htm"):
        raise ParameterError(f"--report is '{printable(report)}'; expected a name that ends in .html")
    with say_warnings(strict=output.strict) as messages:
        judge = None if model is None else make_model(model)
        labels = label_spans(file, model=judge, gold=gold, types=split_names(types, "--types"))
        scores = None if truth is None else labels.score(truth)
        messages.raise_if_strict()
        write_spans(labels.documents, labels.spans, out, "--out")
    say(printable(repr(labels)))
    if report is not None:
        labels.report(title=Path(file).name).save(report)
    if scores is not None and not output.json:
        say(str(scores)) if to_stdout else print_lines(scores)
    if output.json:
        counts = {"documents": len(labels), "spans": len(labels.marks.start), "lfs": list(labels.documents.lf_names)}
        summary.print(aside=to_stdout, **counts, scores=None if scores is None else list(scores.rows()))
