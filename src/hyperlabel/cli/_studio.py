"""`hyperlabel studio`: writing labeling functions in the browser."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hyperlabel.cli._options import ClassNames, Option, split_names
from hyperlabel.errors import ParameterError, require

TABLE_HELP = "A table of texts, in any format that other commands read; or the folder of a project."
TEXT_HELP = "The column of the texts; `text` if not given."
PROJECT_HELP = "Folder of the project: lfs.py, gold.csv, project.toml. Beside the table if not given."
ID_HELP = "The column that identifies items; else one named id or the like, or rows are counted from 0."
LFS_HELP = "Columns of existing votes: names or patterns; else those whose names start with lf_."
SAMPLE_HELP = "Rows to explore, at most; labels are written for all rows."
HOST_HELP = "Address to listen on. If others can reach it, whoever has the token can run Python here."
TRUST_HELP = "Run the project's lfs.py even if you have not run it before; else you are asked."
DEMO_HELP = "Start with sentences from the documentation of installed packages: which package is each from?"


def studio(
    table: Annotated[str | None, typer.Argument(metavar="TABLE", help=TABLE_HELP, show_default=False)] = None,
    *,
    text: Annotated[str | None, Option(metavar="COLUMN", help=TEXT_HELP)] = None,
    project: Annotated[Path | None, Option(metavar="FOLDER", help=PROJECT_HELP)] = None,
    classes: ClassNames = None,
    id: Annotated[str | None, Option(metavar="COLUMN", help=ID_HELP)] = None,
    lfs: Annotated[list[str] | None, Option(metavar="A,B,...", help=LFS_HELP)] = None,
    gold: Annotated[str | None, Option(metavar="COLUMN", help="Known classes, to learn from.")] = None,
    truth: Annotated[str | None, Option(metavar="COLUMN", help="True classes, only for scores.")] = None,
    sample: Annotated[int, Option(metavar="ROWS", help=SAMPLE_HELP)] = 100_000,
    port: Annotated[int, Option(help="Port to listen on; if 0, that of last time, or a free one.")] = 0,
    host: Annotated[str, Option(metavar="ADDRESS", help=HOST_HELP)] = "127.0.0.1",
    no_open: Annotated[bool, Option("--no-open", help="Do not open a browser tab.")] = False,
    demo: Annotated[bool, Option("--demo", help=DEMO_HELP)] = False,
    trust: Annotated[bool, Option("--trust", help=TRUST_HELP)] = False,
) -> None:
    """Write labeling functions for texts in the browser.

    The labels of TABLE follow every change. The project folder has everything: readable Python, gold labels, settings.
    Ctrl-C ends the studio.

    Example: hyperlabel studio texts.parquet --text text
    """
    require("nicegui", extra="studio")
    from hyperlabel._core import is_file
    from hyperlabel.cli._inputs import numbers_if_all
    from hyperlabel.cli._terminal import say
    from hyperlabel.studio import Address, Project, StoppableRun, serve, write_demo

    if not demo and table is None and project is None:
        raise ParameterError("TABLE is missing; name a table of texts or the folder of a project, or use --demo")
    if demo and table is not None:
        raise ParameterError(f"TABLE is '{table}', but --demo has its own; leave one of the two out")
    source, folder = table, project
    if demo:
        folder = project or Path("studio-demo")
        path = folder / "sentences.parquet"
        source = str(path)
        if not is_file(path):
            write_demo(path)
    run = StoppableRun()
    names: Any = numbers_if_all(split_names(classes, "--classes"))
    columns = (split_names(lfs[0], "--lfs") or []) if lfs and len(lfs) == 1 else lfs or []
    with Project(
        source, text=text, folder=folder, classes=names, id=id, lfs=columns, gold=gold, truth=truth,
        sample=sample, run=run, trust=trust,
    ) as opened:  # fmt: skip
        say(f"{opened.data.size} of {opened.data.table.name}; the project is in {opened.folder.path}")
        if host != "127.0.0.1":
            say(f"warning: listening on {host}: whoever can reach it and has the token can run Python as you")
        address = Address.of_folder(opened.folder.path, port, host)
        serve(opened, run, address, open_browser=not no_open, say=lambda url: say(f"open {url}"))
