"""The long form: python -m tests.campaign --seed S --seconds T [surface ...]."""

import argparse
import json
import time
from pathlib import Path

from tests.campaign import LONG_SURFACES, SURFACES
from tests.campaign.ledger import RESULTS, add_to_ledger, run_child

BATCH = 20_000  # cases of a process, at most: its memory shall not decide how the next ones end
BATCH_SECONDS = 120


def main() -> None:
    """Run batches of all surfaces in turn until the time is over; counts are added to the ledger after each."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign")
    parser.add_argument("surfaces", nargs="*", metavar="surface", help=", ".join((*SURFACES, *LONG_SURFACES)))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--failures", type=Path, default=Path("failures.jsonl"))
    options = parser.parse_args()
    surfaces = options.surfaces or [*SURFACES, *LONG_SURFACES]
    end, first = time.monotonic() + options.seconds, dict.fromkeys(surfaces, options.first)
    while (left := end - time.monotonic()) > 0:
        for surface in surfaces:
            seconds = min(BATCH_SECONDS, max(1.0, left / len(surfaces)))
            outcome = run_child(surface, options.seed, first[surface], BATCH, seconds)
            first[surface] += outcome.tried
            ledger = add_to_ledger([outcome], options.results)
            with options.failures.open("a") as file:
                file.writelines(json.dumps({"surface": surface, **failure}) + "\n" for failure in outcome.failures)
            print(
                f"{surface}: +{outcome.tried:,}, {len(outcome.failures)} failures; in all {ledger[surface]}", flush=True
            )


if __name__ == "__main__":
    main()
