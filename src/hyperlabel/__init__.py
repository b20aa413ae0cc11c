"""hyperlabel: training labels from noisy votes, in one forward pass of a pre-trained model.

>>> import hyperlabel as hl
>>> hl.HyperLabelModel().predict([[1, 1, -1], [0, 0, 1]]).tolist()
[1, 0]
"""

from hyperlabel.errors import (
    HyperlabelError,
    MissingExtraError,
    NotFittedError,
    ParameterError,
    VotesError,
    WeightsError,
)
from hyperlabel.models import HyperLabelModel, LabelModel, label_model, label_models
from hyperlabel.patterns import Patterns
from hyperlabel.read import read_votes
from hyperlabel.votes import ABSTAIN, Votes

__version__ = "0.1.0"

__all__ = [
    "ABSTAIN",
    "HyperLabelModel",
    "HyperlabelError",
    "LabelModel",
    "MissingExtraError",
    "NotFittedError",
    "ParameterError",
    "Patterns",
    "Votes",
    "VotesError",
    "WeightsError",
    "label_model",
    "label_models",
    "read_votes",
]
