"""The command line: one file per command, which parses, calls and prints. Extra `cli`."""

import importlib.util
import os
import sys

from hyperlabel.errors import HyperlabelError, require

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def main() -> None:
    """Run the command line; a mistake is one line on standard error and exit code 2."""
    try:
        for package in ("typer", "rich", "polars"):
            if importlib.util.find_spec(package) is None:  # found, but not loaded: help must be quick
                require(package, extra="cli")
        from hyperlabel.cli.app import run

        code = run(sys.argv[1:])
        sys.stdout.flush()
    except HyperlabelError as error:
        print(f"hyperlabel: {' '.join(str(error).split())}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        # The reader, `head` say, has enough. What is left in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)
