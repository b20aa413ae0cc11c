"""The recipe of a training run: one frozen record, stored with everything the run writes."""

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any, Literal

from hyperlabel._core import ABOVE_ZERO, check_number
from hyperlabel.errors import ParameterError
from hyperlabel.training._labeled_priors import LABELED_PRIORS
from hyperlabel.training._paper_priors import (
    PRIORS,
    Assumption,
    IndependentPrior,
    PaperValidationPrior,
    Prior,
    ReleasedPrior,
    UniformPrior,
)

_POSITIVE = (
    "max_cells",
    "width",
    "steps",
    "iterations",
    "batch",
    "patience",
    "log_every",
    "validation_sets",
    "full_every",
)


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the outcome of a run, except its number."""

    # Where training data comes from: one of `PRIORS` for the paper's network and its ablations, of `LABELED_PRIORS` for
    # the unrolled one.
    prior: Literal["uniform", "released", "independent", "wrench", "mixture", "rules", "crowd", "topics"] = "uniform"
    assumption: Assumption = "majority"  # which label vectors are valid in the uniform prior
    # Extra label vectors tried for each matrix of the uniform and the released prior (0: one, as in the paper).
    candidates: int = 64
    max_cells: int = 40_000  # the most cells of a matrix of these two priors; 120,000 cuts none of the paper's sizes
    log_items: bool = False  # for the released prior, whether the logarithm of the number of items is uniform
    # `gnn` is the paper's; `deepset` and `mlp` are its ablations; `unrolled` is for hlm2.
    architecture: Literal["gnn", "deepset", "mlp", "unrolled"] = "gnn"
    widths: tuple[int, ...] = (32, 32, 32, 32)  # output width of each pooling layer; not used by the unrolled network
    # For the paper's network, only items whose pooled embedding sums to more than zero teach, as in the authors' code;
    # otherwise all that have a vote.
    masked: bool = False
    width: int = 16  # width of the hidden layers of the unrolled network
    steps: int = 3  # steps of the unrolled network, each with its own weights
    iterations: int = 400  # budget; one iteration is one step of the optimizer
    batch: int = 32  # matrices per iteration
    # `cosine` warms up and decays to zero; `constant` is the paper's, and stops early.
    schedule: Literal["cosine", "constant"] = "cosine"
    lr: float = 0.003  # peak learning rate
    warmup: int = 200  # iterations of linear warm-up of the cosine schedule
    clip: float = 1.0  # largest norm of the gradient of the cosine schedule
    # With `constant`, stop after this many iterations without a lower loss, which is the mean over the last tenth as
    # many.
    patience: int = 10_000
    seed: int = 0  # with the number of the run and of the iteration, seeds everything
    log_every: int = 25  # iterations between two lines of the log; each line holds a validation
    # Where the validation sets of the paper's network come from; `paper` are those of its authors.
    validation: Literal["independent", "paper"] = "independent"
    validation_sets: int = 100  # number of synthetic validation sets
    # How many of them are validated at each line of the log if all of them would take too long; 0 is all.
    quick_sets: int = 0
    full_every: int = 1000  # with `quick_sets`, iterations between two validations on all sets
    gold_chance: float = 0.3  # how often the unrolled network knows some of the truth as gold
    balance_power: float = 0.3  # for the unrolled network, how much more the items of rare classes count

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            check_number(getattr(self, name), name, "at least 1", least=1, whole=True)
        for name in ("candidates", "warmup", "seed", "quick_sets"):
            check_number(getattr(self, name), name, "0 or more", least=0, whole=True)
        check_number(self.lr, "lr", "a number above 0", least=ABOVE_ZERO)
        if not self.widths or min(self.widths) < 1:
            raise ParameterError(f"widths is {list(self.widths)}; expected at least one width, each at least 1")
        fitting = LABELED_PRIORS if self.is_unrolled else PRIORS
        if self.prior not in fitting:
            raise ParameterError(f"prior is {self.prior!r}; architecture {self.architecture} has {', '.join(fitting)}")

    @property
    def sizes(self) -> dict[str, Any]:
        """The sizes of the network, as in the header of a weights file."""
        return {"width": self.width, "steps": self.steps} if self.is_unrolled else {"widths": list(self.widths)}

    @property
    def is_unrolled(self) -> bool:
        """True for the network of hlm2."""
        return self.architecture == "unrolled"

    def make_prior(self) -> Prior:
        """The generator of training data of the paper's network."""
        if self.prior == "uniform":
            return UniformPrior(max_cells=self.max_cells, candidates=self.candidates, assumption=self.assumption)
        if self.prior == "released":
            return ReleasedPrior(max_cells=self.max_cells, candidates=self.candidates, log_items=self.log_items)
        return PRIORS[self.prior]()

    def make_validation_prior(self) -> Prior:
        """The generator of validation sets of the paper's network."""
        return PaperValidationPrior() if self.validation == "paper" else IndependentPrior()

    @property
    def loss_window(self) -> int:
        """Lines of the log over which the loss is averaged before it counts as lower or not."""
        return max(1, self.patience // 10 // self.log_every)

    def lr_at(self, iteration: int) -> float:
        """The learning rate of an iteration, counted from 0."""
        if self.schedule == "constant":
            return self.lr
        warm = min(1.0, (iteration + 1) / self.warmup) if self.warmup else 1.0
        return self.lr * warm * 0.5 * (1 + math.cos(math.pi * iteration / self.iterations))

    def compare(self, other: "Recipe") -> list[tuple[str, Any, Any]]:
        """Fields that differ: name, value here, value there."""
        here, there = dataclasses.asdict(self), dataclasses.asdict(other)
        return [(name, value, there[name]) for name, value in here.items() if value != there[name]]

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Recipe":
        """The inverse of `to_json`; also of what earlier versions wrote, unless it was an ablation."""
        fields: dict[str, Any] = json.loads(text)
        for name, usual in _RETIRED.items():
            if fields.get(name) == usual:
                del fields[name]
        return cls(**{**fields, "widths": tuple(fields["widths"])})


_RETIRED = {"leave_one_out": False, "counted": True}  # ablations that once were fields
