"""Weights of a pre-trained network: a file whose header names the network and its sizes."""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import is_file, read_tensors, show, write_tensors
from hyperlabel.errors import WeightsError

BUNDLED = {"default": "hlm3", "hlm3": "hlm3", "hlm2": "hlm2", "hlm": "hlm", "hlm-text": "hlm-text"}
"""Names that `load_weights` knows, and the file in `hyperlabel/weights` of each."""

MOST_LAYERS = 64
MOST_WIDTH = 4096


@dataclass(frozen=True, repr=False)
class Weights:
    """The arrays of a network."""

    arrays: dict[str, NDArray[np.float32]]  # the names and shapes that the network needs; see `hyperlabel.networks`
    # What the file says about itself: model, sizes, how it was trained; the sizes are `widths` for the paper's network,
    # `width` and `steps` for the unrolled one, and `gate`
    # if it has a second reading.
    header: dict[str, Any]

    def __repr__(self) -> str:
        return f"<weights of {self.header.get('model', 'a network')}>"

    def copy(self) -> "Weights":
        """Weights that can be changed without changing these."""
        return Weights({name: array.copy() for name, array in self.arrays.items()}, dict(self.header))

    def save(self, path: str | Path) -> None:
        """Write a weights file; an old file stays until the new one is complete."""
        write_tensors(path, dict(self.arrays), self.header, "weights")


def is_unrolled(weights: Weights) -> bool:
    """Return whether weights are of the unrolled network, not of the paper's."""
    return "steps" in weights.header


def is_mixed(weights: Weights) -> bool:
    """Return whether weights are of the unrolled network with a second reading."""
    return "gate" in weights.header


def load_weights(name: str | Path | Weights) -> Weights:
    """Bundled weights by name, or a weights file by path; a WeightsError if it is missing or not complete.

    >>> load_weights("hlm").header["model"]
    'hlm'
    """
    if isinstance(name, Weights):
        return name
    if isinstance(name, str) and name in BUNDLED:
        return _load_bundled(BUNDLED[name])
    if not isinstance(name, str | Path) or not is_file(Path(name)):
        raise WeightsError(
            f"weights is {show(name)}; expected one of {', '.join(BUNDLED)} or the path of a weights file that exists"
        )
    return read_weights(Path(name))


@cache
def _load_bundled(name: str) -> Weights:
    with resources.as_file(resources.files("hyperlabel.networks") / "weights" / f"{name}.safetensors") as path:
        weights = read_weights(path)
    for array in weights.arrays.values():
        array.setflags(write=False)
    return weights


def read_weights(path: Path) -> Weights:
    """Read and check a weights file."""
    arrays, header = read_tensors(path, "weights")
    check_weights(arrays, header, str(path))
    return Weights(arrays, header)


def check_weights(arrays: dict[str, NDArray[Any]], header: dict[str, Any], path: str) -> None:
    """Refuse arrays whose types, shapes or numbers do not fit the sizes of a header."""
    sizes, shapes = _shapes_of(header, path)
    expected = {name: f"float32 {shape}" for name, shape in shapes.items()}
    actual = {name: f"{array.dtype} {array.shape}" for name, array in arrays.items()}
    for name in sorted(expected.keys() | actual.keys()):
        is_, wanted = actual.get(name, "missing"), expected.get(name, "no such array")
        if is_ != wanted:
            raise WeightsError(
                f"{path}: array '{name}' is {is_}; expected {wanted} for {sizes}. "
                "The file does not match its header; export it again"
            )
    largest = max((float(np.abs(array).max(initial=0)) for array in arrays.values()), default=0.0)
    if not largest < MOST_WEIGHT:
        raise WeightsError(f"{path} holds a weight of {largest:.3g}; expected numbers below {MOST_WEIGHT:.0g}")


MOST_WEIGHT = 1e6  # sums of products of larger ones could leave the range of float32


def _shapes_of(header: dict[str, Any], path: str) -> tuple[str, dict[str, tuple[int, ...]]]:
    """The sizes of a header in words, and the names and shapes of the arrays for these sizes."""
    if "steps" in header:
        sizes = [header.get("width"), header["steps"]]
        width, steps = _check_sizes(path, sizes, "width and steps, two positive integers")
        shapes = unrolled_shapes(width, steps)
        if "gate" in header:
            (gate,) = _check_sizes(path, [header["gate"]], "gate, a positive integer")
            return f"width {width} and gate {gate}", shapes | mixed_shapes(gate)
        return f"width {width}", shapes
    widths = _check_sizes(path, header.get("widths"), "widths, a list of positive integers")
    shapes = paper_shapes(widths)
    if OPTIMIZER_STEPS in header:
        kinds = ("trained", *MOMENTS)
        shapes |= {f"{kind}.{name}": shape for kind in kinds for name, shape in trained_shapes(widths).items()}
    if COPIES in header:
        [copies] = _check_sizes(path, [header[COPIES]], "copies, a positive integer")
        shapes = {name: (copies, *shape) for name, shape in shapes.items()}
    return f"widths {widths}", shapes


def _check_sizes(path: str, sizes: Any, wanted: str) -> list[int]:
    whole = isinstance(sizes, list) and 0 < len(sizes) <= MOST_LAYERS and all(type(size) is int for size in sizes)
    if not whole or not all(1 <= size <= MOST_WIDTH for size in sizes):
        raise WeightsError(f"{path} has sizes {show(sizes, 80)} in its header; expected {wanted} up to {MOST_WIDTH}")
    return list(sizes)


TERMS = ("self", "row", "column", "all")
"""The inputs of a vote to a layer of the paper's network: itself, the means over its row, its column, everything."""


def paper_shapes(widths: list[int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the arrays of the paper's network with these pooling widths."""
    shapes: dict[str, tuple[int, ...]] = {}
    for i, (d_in, d_out) in enumerate(zip([1, *widths], widths, strict=False)):
        shapes |= {f"layer{i}.{term}": (d_out, d_in) for term in TERMS} | {f"layer{i}.bias": (d_out,)}
    d = widths[-1]
    for i, d_out in enumerate([d, d, 1]):
        shapes |= {f"head{i}.weight": (d_out, d), f"head{i}.bias": (d_out,)}
    return shapes


COPIES = "copies"
"""Of a header: weights that were fine-tuned have a copy per class, so many, as the first axis of every array."""
OPTIMIZER_STEPS = "optimizer_steps"
"""Of a header: the file also holds what the optimizer of its pre-training had after so many steps."""
MOMENTS = ("mean", "square", "largest")
"""The moments of Adam with amsgrad: of the gradients, of their squares, and the largest of the latter so far."""


def trained_shapes(widths: list[int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of what the authors' optimizer trains: a map for each term, then a map of all four together."""
    shapes = {name: shape for name, shape in paper_shapes(widths).items() if name.startswith("head")}
    for i, (d_in, d_out) in enumerate(zip([1, *widths], widths, strict=False)):
        shapes |= {f"layer{i}.out": (d_out, len(TERMS) * d_in), f"layer{i}.out_bias": (d_out,)}
        for term in TERMS:
            shapes |= {f"layer{i}.{term}_map": (d_in, d_in), f"layer{i}.{term}_bias": (d_in,)}
    return shapes


def unrolled_layers(width: int) -> dict[str, tuple[int, int]]:
    """The linear layers of a step of the unrolled network: 19 features in, 4 numbers per node and 3 per set out."""
    d = width
    return {"node0": (d, 19), "node1": (d, d), "pooled": (d, 4 * d), "evidence": (4, d), "set0": (d, d), "set1": (3, d)}


def unrolled_shapes(width: int, steps: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the arrays of an unrolled network."""
    shapes: dict[str, tuple[int, ...]] = {}
    for i in range(steps):
        for layer, size in unrolled_layers(width).items():
            shapes |= {f"step{i}.{layer}.weight": size, f"step{i}.{layer}.bias": size[:1]}
    return shapes


SET_FEATURES, LF_FEATURES, PAIR_FEATURES, PAIR_WIDTH = 37, 13, 11, 24
"""What the gate sees of a set and of an LF, and the network of pairs of a pair; its width."""


def mixed_shapes(gate: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the arrays that choose between two readings, for the width of the gate."""
    d = gate
    sizes = {
        "gate.lf0": (d, LF_FEATURES + SET_FEATURES),
        "gate.lf1": (d, d),
        "gate.set0": (d, d + SET_FEATURES),
        "gate.set1": (5, d),
        "gate.out": (2, 2 * d),
        "pair0": (PAIR_WIDTH, PAIR_FEATURES),
        "pair1": (PAIR_WIDTH, PAIR_WIDTH),
        "pair2": (1, PAIR_WIDTH),
    }
    weights = {f"{layer}.weight": size for layer, size in sizes.items()}
    return weights | {f"{layer}.bias": size[:1] for layer, size in sizes.items()}
