"""The work of others beside ours: the authors' released weights, and reference implementations that can be timed.

`python -m experiments released --package FOLDER` turns the weights of the authors' package into a file that the other
experiments read as the model `released`. The file stays out of the repository: the weights are the authors'.
"""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import ParameterError
from hyperlabel.networks import MOMENTS, OPTIMIZER_STEPS, Weights, compose

Floats = NDArray[np.float64]
Label = Callable[[NDArray[Any], int], object]
"""From votes (n, m) and the number of classes to probabilities."""

RELEASED = "released"
RELEASED_FILE = Path(__file__).with_name("released.safetensors")
PACKAGE = "hyperlm==0.0.5"
WIDTHS = (8, 8, 8, 32)
THEIR_TERMS = {
    "linear": "out",
    "linear_self": "self",
    "linear_row": "row",
    "linear_col": "column",
    "linear_global": "all",
}
THEIR_MOMENTS = dict(zip(MOMENTS, ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"), strict=True))


def released_weights(folder: Path) -> Weights:
    """The weights of the authors' package in our form, with what its fine-tuning goes on from.

    `folder` is where pip put the package.
    """
    import torch

    path = folder / "hyperlm" / "checkpoint.pt"
    if not path.exists():
        raise ParameterError(
            f"--package '{folder}' has no {path.relative_to(folder)}; "
            f"run pip install --no-deps --target '{folder}' {PACKAGE}"
        )
    checkpoint = torch.load(path, map_location="cpu", weights_only=False)
    names = [_our_name(name) for name in checkpoint["model_state_dict"]]
    moments = checkpoint["optimizer_state_dict"]["state"]  # by the place of the parameter
    found = {"trained": checkpoint["model_state_dict"].values()}
    found |= {ours: [moments[i][theirs] for i in range(len(names))] for ours, theirs in THEIR_MOMENTS.items()}
    arrays = {kind: {n: t.numpy() for n, t in zip(names, each, strict=True)} for kind, each in found.items()}
    stored = {f"{kind}.{name}": array for kind, each in arrays.items() for name, array in each.items()}
    header = {"widths": list(WIDTHS), OPTIMIZER_STEPS: int(moments[0]["step"])}
    return Weights(compose(arrays["trained"], len(WIDTHS)) | stored, header)


def _our_name(theirs: str) -> str:
    """The name of one of their parameters in `trained_shapes`.

    >>> _our_name("matrix_net.0.linear_col.bias"), _our_name("classify.2.weight")
    ('layer0.column_bias', 'head1.weight')
    """
    block, index, *rest = theirs.split(".")
    if block == "classify":
        return f"head{int(index) // 2}.{rest[0]}"
    term = THEIR_TERMS[rest[0]]
    if term == "out":
        return f"layer{index}.out" + ("_bias" if rest[1] == "bias" else "")
    return f"layer{index}.{term}_{'bias' if rest[1] == 'bias' else 'map'}"


def released_file() -> Path:
    """The file of the released weights.

    Raises:
        ParameterError: It has not been made yet.
    """
    if not RELEASED_FILE.exists():
        raise ParameterError(
            f"the model '{RELEASED}' needs the authors' weights; run pip install --no-deps --target FOLDER {PACKAGE} "
            "and then python -m experiments released --package FOLDER"
        )
    return RELEASED_FILE


def stretch(probabilities: Floats) -> Floats:
    """Probabilities as the authors' package gives them: spread over the batch to reach 0 and twice an even share.

    >>> stretch(np.array([[0.4, 0.6], [0.45, 0.55]])).round(2).tolist()
    [[0.0, 1.0], [0.25, 0.75]]
    """
    even = 1 / probabilities.shape[1]
    above = even * _share(probabilities - even)
    below = even * _share(even - probabilities)
    spread = np.clip(even + above - below, 0, 1)
    stretched: Floats = spread / spread.sum(1, keepdims=True)
    return stretched


def _share(distances: Floats) -> Floats:
    """Positive distances as a share of the largest; others are 0."""
    positive = np.maximum(distances, 0)
    share: Floats = positive / max(positive.max(initial=0), 1e-12)
    return share


def time_snorkel() -> Label:
    """MeTaL as Snorkel fits it: its defaults, a uniform class balance."""
    from snorkel.labeling.model import LabelModel

    def label(votes: NDArray[Any], k: int) -> object:
        model = LabelModel(cardinality=k, verbose=False)
        model.fit(votes, seed=0, progress_bar=False)
        return model.predict_proba(votes)

    return label


def time_crowd_kit() -> Label:
    """Dawid-Skene as crowd-kit fits it, 100 iterations at most, its default; the table of votes is made beforehand."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    frames: dict[int, Any] = {}

    def label(votes: NDArray[Any], k: int) -> object:
        if id(votes) not in frames:
            item, lf = np.nonzero(votes >= 0)
            frames.clear()
            frames[id(votes)] = pd.DataFrame({"task": item, "worker": lf, "label": votes[item, lf]})
        return DawidSkene().fit_predict_proba(frames[id(votes)])

    return label


def time_hyperlm() -> Label:
    """The authors' package."""
    os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # its checkpoint is a pickle
    warnings.filterwarnings("ignore", module="hyperlm")
    import hyperlm

    model = hyperlm.HyperLabelModel(device="cpu")
    return lambda votes, k: model.infer(votes)


TIMED: dict[str, Callable[[], Label]] = {
    "hyperlm": time_hyperlm,
    "snorkel": time_snorkel,
    "crowd-kit": time_crowd_kit,
}
"""Reference implementations that the registry has: the authors' network, MeTaL, Dawid-Skene."""
