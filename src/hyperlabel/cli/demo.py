"""`hyperlabel demo`: a small, real, complete example with nothing to download."""

from pathlib import Path
from typing import Annotated

from hyperlabel.cli.options import Option
from hyperlabel.errors import require

OUT_HELP = "Folder for the votes, the gold, the labels, the report and a picture."


def demo(out: Annotated[Path, Option(metavar="FOLDER", help=OUT_HELP)] = Path("demo")) -> None:
    """Label sentences by eleven rules, from votes to a report.

    A real example with nothing to download: which package is a sentence of its documentation from? It shows the labels,
    what each rule is worth, what twenty hand labels add, a certificate, and labels for items without votes. The
    truth is known, so every step says how many labels are right.

    Example: hyperlabel demo --out demo
    """
    for package in ("matplotlib", "sklearn"):
        require(package, extra="demo")
    from hyperlabel.cli.sentences import run_demo

    run_demo(out)
