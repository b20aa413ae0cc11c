"""`hyperlabel demo`: a small real example end to end, with nothing to download."""

from pathlib import Path
from typing import Annotated

from hyperlabel.cli.options import Option
from hyperlabel.errors import require

OUT_HELP = "Folder for votes.csv, labels.csv and demo.png."


def demo(out: Annotated[Path, Option(metavar="FOLDER", help=OUT_HELP)] = Path("demo")) -> None:
    """Label 569 tumors from twelve rules of thumb.

    A real example with nothing to download: the labels are compared with the diagnoses.

    Example: hyperlabel demo --out demo
    """
    require("sklearn", extra="sklearn")
    require("matplotlib", extra="plots")
    from hyperlabel.cli.tumors import label_tumors

    label_tumors(out)
