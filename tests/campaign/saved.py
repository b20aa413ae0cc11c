"""Saved models, weights and patterns, damaged or forged: refused, or they give probabilities."""

import copy
import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

import hyperlabel as hl
from hyperlabel._core import read_tensors, write_tensors
from hyperlabel.networks import load_weights
from tests.campaign.corpus import CORPUS
from tests.campaign.hostile import CELLS, Rng, check_error
from tests.campaign.mutate import mutate

VOTES = np.array([[0, 1, 2], [1, 1, -1], [-1, -1, -1], [2, 0, 0]])


@cache
def files() -> list[tuple[str, bytes]]:
    """Kind and content of each file."""
    names = {"model": ["mv", "ds", "hlm2", "hlm3"], "patterns": ["patterns"]}
    held = [
        (kind, (CORPUS / f"{name}{'.model' if kind == 'model' else ''}.safetensors").read_bytes())
        for kind, each in names.items()
        for name in each
    ]
    bundled = resources.files("hyperlabel.networks") / "weights" / "hlm.safetensors"
    return [*held, ("weights", bundled.read_bytes())]


@cache
def parsed(index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and header of a file."""
    kind, content = files()[index]
    Path("whole.safetensors").write_bytes(content)
    return read_tensors("whole.safetensors", kind)


def run_case(rng: Rng) -> None:
    """Use one file that is not what it was."""
    index = int(rng.integers(len(files())))
    kind, content = files()[index]
    path = Path("file.safetensors")
    try:
        if rng.random() < 0.4:
            path.write_bytes(mutate(content, rng, [other for _, other in files()]))
        else:
            arrays, header = parsed(index)
            forge(path, dict(arrays), copy.deepcopy(header), kind, rng)
        use(kind, path)
    except hl.HyperlabelError as error:
        check_error(error)


def use(kind: str, path: Path) -> None:
    """Read a file as what it claims to be, and label with it."""
    if kind == "patterns":
        patterns = hl.Patterns.load(path)
        shares = hl.label_model("mv").fit(patterns).predict_proba(patterns)
    else:
        model = hl.load(path) if kind == "model" else hl.HyperLabelModel(load_weights(path))
        shares = model.predict_proba(VOTES)
        assert len(shares) == len(VOTES)
    assert np.isfinite(shares).all()
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-5)


def forge(path: Path, arrays: dict[str, Any], header: dict[str, Any], kind: str, rng: Rng) -> None:
    """Write a file whose checksum is right and whose content is not."""
    for _ in range(rng.integers(1, 3)):
        if rng.random() < 0.5:
            name = list(arrays)[rng.integers(len(arrays))] if arrays else None
            if name is not None:
                arrays[name] = wrong_array(arrays[name], rng)
        else:
            change_header(header, rng)
    write_tensors(path, arrays, header, kind)


def wrong_array(array: Any, rng: Rng) -> Any:
    """Another type, shape or number."""
    changed = np.array(array)
    numbers = np.array([0, -1, 1, 2**31, 2**62, 1e30, 3e38, 1e-40]).astype(changed.dtype)
    ways = (
        lambda a: a[:-1],
        lambda a: a[None],
        lambda a: a.astype(np.float32),
        lambda a: a.astype(np.int64),
        lambda a: a * 0,
        lambda a: np.concatenate([a, a]) if a.ndim else a,
        lambda a: a.reshape(-1),
        lambda a: np.full_like(a, numbers[rng.integers(8)]),
    )
    if changed.size and rng.random() < 0.5:
        changed.flat[rng.integers(changed.size)] = numbers[rng.integers(8)]
        return changed
    return ways[rng.integers(len(ways))](changed)


def change_header(header: dict[str, Any], rng: Rng) -> None:
    """Anything that JSON knows in the place of something, at any depth."""
    place: Any = header
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        if isinstance(place[key], dict | list) and place[key] and rng.random() < 0.6:
            place = place[key]
            continue
        place[key] = _json_value(rng)
        return


def _json_value(rng: Rng) -> Any:
    while True:
        value = CELLS[rng.integers(len(CELLS))]
        try:
            return json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError):
            continue
