"""What campaigns have found: runs of children, and their counts summed over all runs."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.campaign import LONG_SURFACES

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results.json"
LAST = RESULTS.with_name("last.json")  # the last runs, counted by themselves
SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a disk would take longer than the cases
GRACE = 120  # seconds that a child may take beyond its time: a slow start, one case that hangs in foreign code
LONG_GRACE = 400  # of surfaces whose cases take minutes


@dataclass
class Outcome:
    """How the cases of a surface ended.

    Attributes:
        surface: Its name.
        tried: Cases that were run.
        failures: What went wrong, with the seed and number of each case: its command runs it again.
        counts: What else the cases counted: kills, and those that hit work under way.
    """

    surface: str
    tried: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


def run_child(surface: str, seed: int, first: int, count: int, seconds: float) -> Outcome:
    """Run cases in a process of their own; a crash or a hang is a failure of the case that was running."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "tests.campaign.child", surface, *map(str, (seed, first, count, seconds))]
        child = subprocess.Popen(
            [*command, str(report)], cwd=ROOT, env=_environment(folder), stderr=subprocess.PIPE, start_new_session=True
        )
        try:
            grace = LONG_GRACE if surface in LONG_SURFACES else GRACE
            _, said = child.communicate(timeout=seconds + grace)
            ended = f"ended with {child.returncode}"
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            _, said = child.communicate()
            ended = "hung"
        held = json.loads(report.read_text()) if report.exists() else {"tried": 0, "failures": [], "running": first}
    outcome = Outcome(surface, held["tried"], held["failures"], held.get("counts", {}))
    if child.returncode != 0 or ended == "hung":
        outcome.tried += 1
        outcome.failures.append({"case": held["running"], "failure": f"{ended}: {said.decode()[-2000:]}"})
    for failure in outcome.failures:
        failure["seed"] = seed
    return outcome


def _environment(folder: str) -> dict[str, str]:
    """One thread each: a campaign must not take a whole machine. Temporary files are in a folder of its own."""
    paths = [str(ROOT / "src"), str(ROOT)]
    single = {
        name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS")
    }
    return {**os.environ, **single, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0", "TMPDIR": folder}


def add_to_ledger(outcomes: list[Outcome], results: Path = RESULTS) -> dict[str, Any]:
    """Add counts to those of earlier campaigns.

    Returns:
        For each surface the cases tried, the failures, and the examples of failures that are kept.
    """
    ledger: dict[str, Any] = json.loads(results.read_text()) if results.exists() else {}
    for outcome in outcomes:
        entry = ledger.setdefault(outcome.surface, {"tried": 0, "failures": 0})
        entry["tried"] += outcome.tried
        entry["failures"] += len(outcome.failures)
        for name, count in outcome.counts.items():
            entry[name] = entry.get(name, 0) + count
    results.write_text(json.dumps(ledger, indent=1, sort_keys=True) + "\n")
    return ledger
