"""Label models: one algorithm per file, all on the contract of `_base`.

To add a model: a file here with a class that has `_fit`, `_probabilities` and `short_names`, and a line in `_models`.
"""

from typing import TYPE_CHECKING, Any

from hyperlabel.models._base import LabelModel
from hyperlabel.models._context import FitContext, unpack_context
from hyperlabel.models._dawid_skene import ConfusionModel
from hyperlabel.models._majority import count_classes
from hyperlabel.models._pretrained import HyperLabelModel
from hyperlabel.models._profile import VoteProfile, count_votes
from hyperlabel.models._registry import (
    choose_model,
    label_model,
    label_model_class,
    label_models,
    load,
    load_classes,
    provenance,
)
from hyperlabel.models._state import strip_prefix, with_prefix
from hyperlabel.models._vote_sums import VoteSums, sum_products

if TYPE_CHECKING:
    from hyperlabel.models._models import *  # noqa: F403

__all__ = [
    "ConfusionModel", "FitContext", "HyperLabelModel", "LabelModel", "VoteProfile", "VoteSums", "choose_model",
    "count_classes", "count_votes", "label_model", "label_model_class", "label_models", "load", "provenance",
    "strip_prefix", "sum_products", "unpack_context", "with_prefix",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a label model when it is first used."""
    if name[:1].isupper() and name in load_classes():
        return load_classes()[name]
    raise AttributeError(f"module 'hyperlabel.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, with the classes of all label models."""
    return sorted({*__all__, *load_classes()})
