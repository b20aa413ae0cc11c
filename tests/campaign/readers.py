"""Readers of this package, given damaged files: votes, or a HyperlabelError; nothing in them is ever run.

Parquet and Arrow files are left out: Polars reads them as they are, and ends the process at some damage.
"""

import os
import pickle
import tempfile
from functools import cache
from pathlib import Path

import hyperlabel as hl
from tests.campaign.corpus import CORPUS
from tests.campaign.hostile import Rng, check_error
from tests.campaign.mutate import mutate

CANARY = Path(tempfile.gettempdir(), "hyperlabel-canary")


class Canary:
    """Leaves a trace where it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (f"{CANARY}-{os.getpid()}",)


PICKLE = pickle.dumps(Canary())


@cache
def seeds() -> list[tuple[str, bytes]]:
    """Names and contents of the corpus."""
    foreign = (".safetensors", ".parquet", ".arrow")
    return [(path.name, path.read_bytes()) for path in sorted(CORPUS.iterdir()) if not path.name.endswith(foreign)]


def run_case(rng: Rng) -> None:
    """Read one damaged file."""
    name, content = seeds()[rng.integers(len(seeds()))]
    others = [other for _, other in seeds()] + [PICKLE]
    path = Path("folder", name) if name.endswith(".json") else Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(mutate(content, rng, others))
    try:
        read = hl.read_votes(path.parent if name.endswith(".json") else path)
        assert read.n_items == len(read.to_numpy())
    except hl.HyperlabelError as error:
        check_error(error)
    finally:
        path.unlink()
    assert not Path(f"{CANARY}-{os.getpid()}").exists(), "something was unpickled"
