"""Weights of a pre-trained network: a safetensors file whose header says what it is. Nothing is unpickled."""

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from hyperlabel.errors import WeightsError
from hyperlabel.files import replacing

FORMAT = "hyperlabel-weights"
BUNDLED = {"default": "hlm2", "hlm2": "hlm2", "hlm": "hlm"}
"""Names that `load_weights` knows, and the file of `hyperlabel/weights` each stands for."""

TERMS = ("self", "row", "column", "all")
"""What a layer sees of a vote: the vote itself and the means over its row, its column and everything."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Weights:
    """The arrays of a network.

    Attributes:
        arrays: Of the paper's network, `layer<i>.<term>` (d_out, d_in) and `layer<i>.bias` (d_out,) for the pooling
            layers, then `head<i>.weight` (d_out, d_in) and `head<i>.bias` (d_out,). Of the unrolled network,
            `step<i>.<layer>.weight` (d_out, d_in) and `step<i>.<layer>.bias` (d_out,).
        header: What the file says of itself: model, sizes, how it was trained. The sizes are `widths` for the
            paper's network, `width` and `steps` for the unrolled one.
    """

    arrays: dict[str, Floats]
    header: dict[str, Any]

    @property
    def is_unrolled(self) -> bool:
        """Whether they are of the unrolled network, not of the paper's."""
        return "steps" in self.header

    @property
    def depth(self) -> int:
        """Number of pooling layers."""
        return sum(name.endswith(".self") for name in self.arrays)

    @property
    def head_depth(self) -> int:
        """Number of linear layers after pooling."""
        return sum(name.startswith("head") and name.endswith(".weight") for name in self.arrays)

    def copy(self) -> "Weights":
        """Weights that can be changed without changing these."""
        return Weights({name: array.copy() for name, array in self.arrays.items()}, dict(self.header))

    def save(self, path: str | Path) -> None:
        """Write a weights file; an old file stays until the new one is complete.

        Raises:
            WeightsError: The file cannot be written there.
        """
        try:
            with replacing(Path(path)) as part:
                save_file(self.arrays, part, {"format": FORMAT, "header": json.dumps(self.header)})
        except (SafetensorError, OSError) as error:
            raise WeightsError(f"path is '{path}', where no weights can be written: {error}") from error


def load_weights(name: str | Path) -> Weights:
    """Bundled weights by name, or a weights file by path.

    Raises:
        WeightsError: No such name or file, or not a whole weights file of this kind.

    >>> load_weights("hlm").header["model"]
    'hlm'
    """
    if isinstance(name, str) and name in BUNDLED:
        return _load_bundled(BUNDLED[name])
    path = Path(name)
    if not path.is_file():
        raise WeightsError(
            f"weights is '{name}'; expected one of {', '.join(BUNDLED)} or the path of a weights file that exists"
        )
    return read_weights(path)


@cache
def _load_bundled(name: str) -> Weights:
    with resources.as_file(resources.files("hyperlabel") / "weights" / f"{name}.safetensors") as path:
        weights = read_weights(path)
    for array in weights.arrays.values():
        array.setflags(write=False)
    return weights


def read_weights(path: Path) -> Weights:
    """Read and check a weights file."""
    try:
        with safe_open(path, framework="np") as file:
            header = _read_header(path, file.metadata() or {})
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            found = {name: f"{part.get_dtype()} {tuple(part.get_shape())}" for name, part in slices.items()}
            _check_shapes(path, found, header)
            arrays = {name: file.get_tensor(name) for name in found}
    except (SafetensorError, OSError) as error:
        raise WeightsError(f"{path} is not a whole safetensors file ({error}); download or export it again") from error
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise WeightsError(f"{path} holds numbers that are not finite; export it again")
    return Weights(arrays, header)


def _read_header(path: Path, metadata: dict[str, str]) -> dict[str, Any]:
    if metadata.get("format") != FORMAT:
        raise WeightsError(
            f"{path} is a safetensors file of another kind (format {metadata.get('format')!r}); "
            f"expected {FORMAT!r}, as written by `hyperlabel train`"
        )
    try:
        header = json.loads(metadata.get("header", ""))
    except ValueError:
        header = None
    header = header if isinstance(header, dict) else {}
    sizes: object
    if "steps" in header:
        sizes, wanted = [header["steps"], header.get("width")], "width and steps, two positive integers"
    else:
        sizes, wanted = header.get("widths"), "widths, a list of positive integers"
    if not isinstance(sizes, list) or not sizes or any(type(size) is not int or size < 1 for size in sizes):
        raise WeightsError(f"{path} has sizes {sizes!r} in its header; expected {wanted}")
    return dict(header)


def expected_shapes(widths: list[int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the arrays of a network with these pooling widths."""
    shapes: dict[str, tuple[int, ...]] = {}
    for i, (d_in, d_out) in enumerate(zip([1, *widths], widths, strict=False)):
        shapes |= {f"layer{i}.{term}": (d_out, d_in) for term in TERMS} | {f"layer{i}.bias": (d_out,)}
    d = widths[-1]
    for i, d_out in enumerate([d, d, 1]):
        shapes |= {f"head{i}.weight": (d_out, d), f"head{i}.bias": (d_out,)}
    return shapes


def unrolled_shapes(width: int, steps: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the arrays of an unrolled network."""
    d, shapes = width, dict[str, tuple[int, ...]]()
    sizes = {
        "node0": (d, 18),
        "node1": (d, d),
        "pooled": (d, 4 * d),
        "evidence": (4, d),
        "set0": (d, d),
        "set1": (3, d),
    }
    for i in range(steps):
        for layer, size in sizes.items():
            shapes |= {f"step{i}.{layer}.weight": size, f"step{i}.{layer}.bias": size[:1]}
    return shapes


def _check_shapes(path: Path, found: dict[str, str], header: dict[str, Any]) -> None:
    """Compare types and shapes such as `F32 (8, 1)` with those that the sizes of the header ask for."""
    if "steps" in header:
        sizes, shapes = f"width {header['width']}", unrolled_shapes(header["width"], header["steps"])
    else:
        sizes, shapes = f"widths {header['widths']}", expected_shapes(header["widths"])
    expected = {name: f"F32 {shape}" for name, shape in shapes.items()}
    for name in sorted(expected.keys() | found.keys()):
        is_, wanted = found.get(name, "missing"), expected.get(name, "no such array")
        if is_ != wanted:
            raise WeightsError(
                f"{path}: array '{name}' is {is_}; expected {wanted} for {sizes}. "
                "The file does not match its header; export it again"
            )
