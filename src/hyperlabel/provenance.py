"""Where labels come from, for the metadata of the files that hold them."""

import hashlib
import json
from collections.abc import Mapping

import hyperlabel
from hyperlabel.models import LabelModel
from hyperlabel.tensors import Arrays

KEY = "hyperlabel"
"""The key of the metadata."""


def provenance(model: LabelModel, options: Mapping[str, object] | None = None) -> dict[str, str]:
    """What made labels, as metadata: version, model, hash of all that it learned, LFs, classes, options; as JSON.

    Args:
        model: A label model; if it is not fitted, the hash is that of its weights, if it has any.
        options: What else the labels depend on, by name, such as the metric. Values unknown to JSON become strings.

    >>> from hyperlabel import label_model
    >>> found = json.loads(provenance(label_model("mv").fit([[0, 1]]), {"metric": "f1"})[KEY])
    >>> found["model"], found["n_lfs"], found["options"]
    ('MajorityVote', 2, {'metric': 'f1'})
    """
    arrays, header = model.to_arrays()
    content = {
        "version": hyperlabel.__version__,
        "model": header["model"],
        "params": header["params"],
        "sha256": _hash(arrays),
        **header.get("seen", {}),
        "options": dict(options or {}),
    }
    return {KEY: json.dumps(content, default=str, sort_keys=True)}


def _hash(arrays: Arrays) -> str:
    """A hash of names, types, shapes and values."""
    found = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        found.update(array.tobytes())
    return found.hexdigest()
