"""Generators of synthetic votes with known truth: what models are trained and validated on.

A prior turns a `numpy.random.Generator` into a task. No real data is used.
"""

from hyperlabel.priors.crowd import CrowdPrior
from hyperlabel.priors.independent import (
    ConfusionPrior,
    IndependentPrior,
    IndependentRulesPrior,
    PaperValidationPrior,
)
from hyperlabel.priors.mixture import MixturePrior, drop_silent, is_poor
from hyperlabel.priors.panel import PanelPrior
from hyperlabel.priors.released import ReleasedPrior
from hyperlabel.priors.rules import RulesPrior
from hyperlabel.priors.task import LabeledPrior, LabeledTask, Prior, Task
from hyperlabel.priors.topics import TopicsPrior
from hyperlabel.priors.uniform import UniformPrior

PRIORS: dict[str, type[Prior]] = {
    "uniform": UniformPrior,
    "released": ReleasedPrior,
    "independent": IndependentPrior,
}
"""What the paper's network trains on, by name."""

LABELED_PRIORS: dict[str, type[LabeledPrior]] = {
    "mixture": MixturePrior,
    "rules": RulesPrior,
    "crowd": CrowdPrior,
    "panel": PanelPrior,
    "topics": TopicsPrior,
}
"""What the unrolled network trains on, by name."""

__all__ = [
    "LABELED_PRIORS",
    "PRIORS",
    "ConfusionPrior",
    "CrowdPrior",
    "IndependentPrior",
    "IndependentRulesPrior",
    "LabeledPrior",
    "LabeledTask",
    "MixturePrior",
    "PanelPrior",
    "PaperValidationPrior",
    "Prior",
    "ReleasedPrior",
    "RulesPrior",
    "Task",
    "TopicsPrior",
    "UniformPrior",
    "drop_silent",
    "is_poor",
]
