"""Coverage-guided fuzzing of readers by atheris, where it is installed: python -m tests.campaign.guided --seconds 60.

libFuzzer keeps inputs that reach new lines of the package, and changes these further. An exception that is not ours, a
hang or more memory than allowed ends a target, and counts as its failure.
"""

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.campaign.corpus import CORPUS
from tests.campaign.hostile import check_error
from tests.campaign.ledger import RESULTS, ROOT, SCRATCH, Outcome, add_to_ledger

SEEDS = {  # target: the seeds that it begins with
    "csv": ("numbers.csv", "words.csv", "numbers.tsv"),
    "jsonl": ("numbers.jsonl", "words.jsonl"),
    "npy": ("votes.npy",),
    "npz": ("votes.npz", "csr.npz", "dia.npz"),
    "json": ("train.json",),
    "header": ("ds.model.safetensors", "hlm3.model.safetensors"),
}
LIMITS = ("-timeout=60", "-rss_limit_mb=4096", "-max_len=20000", "-print_final_stats=1")


def main() -> None:
    """Run all targets, each in a process of its own, and add what they tried to the ledger."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.guided")
    parser.add_argument("targets", nargs="*", metavar="target", help=", ".join(SEEDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        raise SystemExit("atheris is not installed; run: pip install atheris")
    for target in options.targets or SEEDS:
        outcome = guide(target, options.seed, options.seconds)
        ledger = add_to_ledger([outcome], options.results)
        print(f"{target}: {outcome.tried:,} tried, {outcome.failures}; in all {ledger['guided']}", flush=True)


def guide(target: str, seed: int, seconds: int) -> Outcome:
    """Let libFuzzer loose on one target for some time."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        for name in SEEDS[target]:
            (corpus / name).write_bytes(seed_of(target, CORPUS / name))
        limits = [*LIMITS, f"-seed={seed}", f"-max_total_time={seconds}", f"-artifact_prefix={folder}/", str(corpus)]
        paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
        child = subprocess.run(
            [sys.executable, "-c", f"from tests.campaign.guided import fuzz; fuzz({target!r})", *limits],
            env={**os.environ, "PYTHONPATH": paths, "TMPDIR": folder, "POLARS_MAX_THREADS": "1"},
            cwd=folder,
            capture_output=True,
        )
        said = child.stderr.decode(errors="replace") + child.stdout.decode(errors="replace")
        tried = [int(number) for number in re.findall(r"number_of_executed_units: (\d+)", said)]
        kept = [path.read_bytes().hex()[:2000] for path in Path(folder).glob("*-*") if path.is_file()]
    failures = [] if child.returncode == 0 else [{"target": target, "failure": said[-3000:], "inputs": kept}]
    return Outcome("guided", sum(tried), failures)


def seed_of(target: str, path: Path) -> bytes:
    """A file of the corpus; of a model its header alone, since a checksum guards the rest."""
    if target != "header":
        return path.read_bytes()
    from hyperlabel._core import read_tensors

    return json.dumps(read_tensors(path, "model")[1]).encode()


def fuzz(target: str) -> None:
    """Fuzz one target in this process; does not return."""
    import atheris

    with atheris.instrument_imports(include=["hyperlabel"]):
        import hyperlabel as hl
        import hyperlabel.data

    def read(data: bytes) -> None:
        path = Path("train.json" if target == "json" else f"votes.{target}")
        path.write_bytes(data)
        votes = hl.read_votes("." if target == "json" else path)
        assert votes.n_items == len(votes.to_numpy())

    load = _loader() if target == "header" else read

    def test(data: bytes) -> None:
        try:
            load(data)
        except hl.HyperlabelError as error:
            check_error(error)

    atheris.Setup(sys.argv, test)
    atheris.Fuzz()


def _loader() -> Callable[[bytes], None]:
    """Loads a model with any header, under a right checksum, and uses it."""
    from hyperlabel._core import read_tensors, write_tensors
    from tests.campaign.saved import use

    arrays, _ = read_tensors(CORPUS / "ds.model.safetensors", "model")

    def load(data: bytes) -> None:
        try:
            header = json.loads(data)
        except (ValueError, RecursionError):
            return
        if isinstance(header, dict):
            write_tensors("m.safetensors", arrays, header, "model")
            use("model", Path("m.safetensors"))

    return load


if __name__ == "__main__":
    main()
