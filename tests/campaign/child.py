"""One process of a campaign: runs cases of a surface under limits of memory and time, and says how they ended.

python -m tests.campaign.child SURFACE SEED FIRST COUNT SECONDS REPORT
"""

import faulthandler
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

CASE_SECONDS = 60
MOST_BYTES = 12 << 30  # of addresses, of which engines reserve many


class HangError(BaseException):
    """A case took too long."""


def main(surface: str, seed: int, first: int, count: int, seconds: float, report: Path) -> None:
    """Run cases until there are enough or the time is over; the report is written after each."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    signal.signal(signal.SIGALRM, _raise_hang)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    cases = _find(surface)
    run_case, most = cases.run_case, getattr(cases, "CASE_SECONDS", CASE_SECONDS)
    end, failures, tried = time.monotonic() + seconds, list[dict[str, Any]](), 0
    counts = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for case in range(first, first + count):
            _write(report, surface, tried, failures, counts, case)
            if time.monotonic() > end:
                break
            started, failure = time.monotonic(), _failure_of(run_case, seed, case, most, counts)
            tried += 1
            if failure is not None:
                failures.append({"case": case, "failure": failure, "seconds": time.monotonic() - started})
        os.chdir("/")
    _write(report, surface, tried, failures, counts, None)


def _find(surface: str) -> Any:
    """The cases of a surface, or of one that a test made."""
    if "CAMPAIGN_PATH" in os.environ:
        sys.path.insert(0, os.environ["CAMPAIGN_PATH"])
        return importlib.import_module(surface)
    return importlib.import_module(f"tests.campaign.{surface}")


def _failure_of(run_case: Any, seed: int, case: int, most: int, counts: Counter[str]) -> str | None:
    """What went wrong, if anything did; what a case counted is added to the counts."""
    signal.alarm(most)
    try:
        counts.update(run_case(np.random.default_rng([seed, case])) or {})
    except BaseException as error:
        return "".join(traceback.format_exception(error))[-3000:]
    finally:
        signal.alarm(0)
    return None


def _raise_hang(number: int, frame: FrameType | None) -> None:
    raise HangError("the case took too long")


def _write(
    report: Path, surface: str, tried: int, failures: list[dict[str, Any]], counts: Counter[str], running: int | None
) -> None:
    """Cheap: a few bytes, unless something failed."""
    held = {"surface": surface, "tried": tried, "failures": failures, "counts": counts, "running": running}
    report.write_text(json.dumps(held))


if __name__ == "__main__":
    name, numbers, path = sys.argv[1], sys.argv[2:6], sys.argv[6]
    main(name, *map(int, numbers[:3]), float(numbers[3]), Path(path))
