"""Saved files of all kinds: safetensors with named arrays, a JSON header and a checksum. Nothing is unpickled.

The header names the kind of a file, and the checksum covers the header and all arrays, so that a damaged file is
refused and never used in part.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from hyperlabel._core.files import is_file, replacing
from hyperlabel._core.text import printable, show
from hyperlabel._version import VERSION
from hyperlabel.errors import WeightsError

FORMAT = "hyperlabel-"
FORMAT_VERSION = 1
"""Version of the layout of saved files; it rises when older versions cannot read the new layout."""
KINDS = {
    "weights": "pre-trained weights: give it to HyperLabelModel(weights=...)",
    "model": "a saved label model: read it with hyperlabel.load(path), or label with --model PATH",
    "classifier": "a saved classifier: read it with hyperlabel.Classifier.load(path)",
    "patterns": "counted patterns: read it with Patterns.load(path)",
    "answer": "votes of an LF in a cache: read by apply_lfs(..., cache=FOLDER)",
    "voter": "a voter of hyperlabel.compat.snorkel: read it with the load of its class",
}
"""Kinds of saved files, each with what it is for."""

Arrays = dict[str, NDArray[Any]]


def plain_classes(classes: Iterable[object]) -> list[Any]:
    """Return classes as a header keeps them; a WeightsError if JSON does not have one of them."""
    names = list(classes)
    for name in names:
        if not isinstance(name, bool | int | float | str):
            raise WeightsError(
                f"classes holds {show(name)} ({type(name).__name__}); only strings and numbers can be saved"
            )
    return names


def write_tensors(path: str | Path, arrays: Arrays, header: dict[str, Any], kind: str) -> None:
    """Write a file; an old one stays until the new one is complete. A WeightsError if that, or JSON, fails."""
    try:
        text = json.dumps(header, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise WeightsError(f"path is '{path}', but not everything can be saved: {error}") from error
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    versions = {"format_version": str(FORMAT_VERSION), "hyperlabel_version": VERSION}
    metadata = {"format": FORMAT + kind, **versions, "header": text, "checksum": _checksum(plain, text)}
    try:
        with replacing(Path(path)) as part:
            save_file(plain, part, metadata)
            order_metadata(part)
    except (SafetensorError, OSError) as error:
        raise WeightsError(f"path is '{path}', but no file can be written there: {error}") from error


def order_metadata(path: Path) -> None:
    """Sort the metadata of a file, so that equal contents give equal files: safetensors writes it in any order."""
    with path.open("r+b") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        assert len(text) <= size  # the same JSON, in another order
        file.seek(8)
        file.write(text.ljust(size))


def read_tensors(path: str | Path, kind: str) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and the header of a file; a WeightsError if it is missing, damaged, or of another kind."""
    if not os.path.exists(path):
        raise WeightsError(f"there is no file '{printable(path)}'; check the path")
    if not is_file(path):  # a pipe would be waited for
        raise WeightsError(f"{path} is not a file; give the safetensors file of a model, of patterns or of weights")
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            _check_kind(path, metadata.get("format"), kind)
            _check_version(path, metadata)
            text = metadata.get("header", "")
            try:
                header = json.loads(text)
            except (ValueError, RecursionError):
                header = None
            if not isinstance(header, dict):
                raise WeightsError(f"{path} has a header that is not a JSON object; download or save it again")
            arrays = {name: file.get_tensor(name) for name in list(file.keys())}  # noqa: SIM118
    except (SafetensorError, OSError, TypeError, ValueError) as error:
        if isinstance(error, WeightsError):
            raise
        raise WeightsError(f"{path} is not a complete safetensors file ({error}); download or save it again") from error
    if metadata.get("checksum") != _checksum(arrays, text):
        raise WeightsError(f"{path} is damaged: its checksum does not match what it holds; download or save it again")
    return arrays, header


def kind_of(path: str | Path) -> str | None:
    """Return the kind of a saved file, one of `KINDS`, or None for any other file."""
    try:
        with safe_open(path, framework="np") as file:
            name = (file.metadata() or {}).get("format", "")
    except (SafetensorError, OSError, TypeError, ValueError):
        return None
    return name.removeprefix(FORMAT) if name.removeprefix(FORMAT) in KINDS else None


def _check_kind(path: str | Path, name: str | None, kind: str) -> None:
    other = KINDS.get((name or "").removeprefix(FORMAT))
    if name != FORMAT + kind:
        what = f"is a safetensors file of another kind (format {name!r}); expected {FORMAT + kind}"
        raise WeightsError(f"{path} {what if other is None else f'holds {other}'}")


def _check_version(path: str | Path, metadata: dict[str, str]) -> None:
    """Refuse a file of a later layout; files before 0.3 have no number and the first layout."""
    version = metadata.get("format_version", "1")
    if version.isdecimal() and int(version) <= FORMAT_VERSION:
        return
    raise WeightsError(
        f"{path} has format_version {show(version)}, written by hyperlabel {metadata.get('hyperlabel_version')}, and "
        f"this is hyperlabel {VERSION}, which reads up to {FORMAT_VERSION}; install that version, or save it again"
    )


def _checksum(arrays: Arrays, header: str) -> str:
    """Return a digest of the header and of every array's name, type, shape and bytes."""
    digest = hashlib.sha256(header.encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()
