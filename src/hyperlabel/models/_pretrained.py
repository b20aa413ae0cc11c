"""The hyper label model: labels in one forward pass of a pre-trained network, no training on the data set.

Three networks are bundled. `hlm` is the paper's (`hyperlabel.networks._paper`): R. Wu, S.-E. Chen, J. Zhang and X. Chu,
"Learning Hyper Label Model for Programmatic Weak Supervision", ICLR 2023. It approximates h*(X), the mean of all label
vectors for which, in each class, more than half of the LFs are better than random. Abstentions are absent nodes. Each
class is judged against the rest, and the probabilities are normalized. Gold labels fine-tune a copy of the pre-trained
weights for each class.

`hlm2` and `hlm3` are this project's, for any number of classes (docs/model-card.md). `hlm2` is an unrolled, learned EM
of three steps. `hlm3`, the default, is `hlm2`, an EM that runs to its end, and a learned choice between the two for
each LF and set. Abstentions are not evidence. Gold labels are inputs of the same pass, and what votes are worth is then
matched to them, and also to a known class balance and to known accuracies of LFs: the weights do not change.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Arrays, Float64, check_flag
from hyperlabel.data import UNIFORM, Outcomes, Patterns, read_accuracies
from hyperlabel.errors import ParameterError
from hyperlabel.models._base import LabelModel
from hyperlabel.models._context import refuse_outcomes
from hyperlabel.models._state import strip_prefix, with_prefix
from hyperlabel.models._vote_sums import check_looks
from hyperlabel.networks import (
    BUNDLED,
    COPIES,
    OPTIMIZER_STEPS,
    Gold,
    Network,
    Reduce,
    Sums,
    Weights,
    add_sums,
    check_weights,
    fine_tune,
    fine_tune_as_released,
    is_unrolled,
    load_network,
    load_weights,
    read,
)

_TABLES = 13  # of evidence and the like that are held at once, about, if all classes have votes
_CHUNK = 1 << 16  # patterns that are read at a time if a set does not fit


@dataclass(kw_only=True, eq=False, repr=False)
class HyperLabelModel(LabelModel):
    """Labels from votes in one forward pass of a pre-trained network.

    `fit` reads the votes in one pass and keeps its state. `predict` judges new rows in that state: a row gets the same
    label alone and among others. `fit_predict`, or `predict` of a model that is not fitted, labels the votes that it
    reads, as in the paper.

    Args:
        weights: `default`, which is `hlm3`; `hlm2`, the default before; `hlm`, the paper's model trained by this
            project; or the path of a weights file.
        class_balance: (k,) known shares of the classes among all items, with votes or not, in their order or by class,
            or `uniform`. A prior, which moves what the votes say a little, since the balance of the items with votes
            may differ; estimated from the votes if not given; not for `hlm`.
        lf_accuracies: (m,) known shares of the right votes of each LF, None or NaN where not known, in their order
            or by name; not for `hlm`.
        calibrated: Whether the probabilities of `hlm` are calibrated, each item alone: raised to a power that was
            fitted on synthetic votes, and normalized. The raw ones are close to uniform; labels are the same. `hlm`
            only: the others are always calibrated, on synthetic votes.
        as_released: Whether to label, and to learn from gold, just as the authors' package does, hyperlm 0.0.5: of two
            classes the second alone is asked about, and fine-tuning goes on where the pre-training stopped
            (docs/hlm-card.md). Gold then needs weights with the state of the optimizer, as `python -m experiments
            released` makes them. The paper's network only.
        ordinal: Whether the classes have an order, the one in which they are stated: labels then lean to the median
            of the probabilities (docs/votes.md).

    Attributes:
        weights_: After `fit`, the weights: for `hlm` with gold a fine-tuned copy per class, else the pre-trained ones.
        n_iter_: After `fit`, the number of fine-tuning steps.

    >>> model = HyperLabelModel()
    >>> model.fit_predict([[1, 1, 0], [0, -1, 0], [-1, -1, -1]]).tolist()
    [1, 0, -1]
    >>> model.predict([[0, 0, 1]]).tolist()
    [0]
    """

    weights: str | Path | Weights = field(default="default", kw_only=False)
    class_balance: Sequence[float] | Float64 | Mapping[Any, float] | Literal["uniform"] | None = None
    lf_accuracies: Sequence[float | None] | Float64 | Mapping[str, float] | None = None
    calibrated: bool = False
    as_released: bool = False
    ordinal: bool = False

    learns_from_gold = True
    reads_in_passes = True
    takes_outcomes = True
    short_names = ("hlm3", "hlm2", "hlm")
    _constraints = LabelModel._constraints | {
        "calibrated": check_flag,
        "as_released": check_flag,
        "ordinal": check_flag,
    }

    @np.errstate(all="ignore")  # see `quiet_product`; probabilities are checked in the end
    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> Float64 | None:
        self.weights_ = load_weights(self.weights)
        network = self._network(patterns)
        if gold is not None and not is_unrolled(self.weights_):
            network = self._fine_tune(patterns, gold)
        known = None if gold is None else Gold.of(patterns, gold)
        if network.fits(patterns):
            self.state_, probabilities = network.read_at_once(patterns, known)
            return probabilities
        chunks = partial(_reduce_chunks, patterns)
        self.state_ = read(network, chunks, patterns.n_lfs, patterns.n_classes, known)
        return None

    def _count_numbers(self, patterns: Patterns) -> int:
        if is_unrolled(load_weights(self.weights)):
            return _TABLES * patterns.n_lfs * patterns.n_classes**2
        check_looks(patterns, f"{type(self).__name__} with the weights 'hlm'")
        return 0

    def _fine_tune(self, patterns: Patterns, gold: NDArray[np.int64]) -> Network:
        """The paper's network, fine-tuned on gold of items with votes; other gold teaches nothing."""
        if patterns.n_classes == 1:
            return load_network(self.weights_)  # there is only one class
        if self.as_released:
            self._check_released_gold(gold, patterns)
        usable = gold if self.as_released else gold * patterns.has_votes[:, None]
        self.n_iter_ = int(np.sqrt(usable.sum()))
        tune = fine_tune_as_released if self.as_released else fine_tune
        self.weights_ = tune(self.weights_, patterns, usable, self.n_iter_)
        return self._judging_network()

    def _check_released_gold(self, gold: NDArray[np.int64], patterns: Patterns) -> None:
        """Refuse gold from which the authors' package would learn something else, or nothing."""
        if OPTIMIZER_STEPS not in self.weights_.header:
            raise ParameterError(
                f"as_released is True, but the weights {str(self.weights)!r} have no state of the optimizer, from "
                "which the authors' package goes on; use the file of python -m experiments released, or leave it out"
            )
        if not gold[:, -1].any():
            raise ParameterError(
                "as_released is True, but gold has no item of the last class: the authors' package knows only classes "
                f"up to the largest in gold; expected gold for the last of {patterns.n_classes} classes"
            )

    @np.errstate(all="ignore")
    def _fit_passes(self, reduce: Reduce, shape: Patterns, gold: Gold | None) -> None:
        self.weights_ = load_weights(self.weights)
        if gold is not None and not is_unrolled(self.weights_):
            raise ParameterError(
                f"gold is given, but the weights {str(self.weights)!r} are fine-tuned on gold, which needs all "
                "patterns in memory; use weights='hlm3', or leave gold out"
            )
        self.state_ = read(self._network(shape), reduce, shape.n_lfs, shape.n_classes, gold)

    @np.errstate(all="ignore")
    def _probabilities(self, patterns: Patterns) -> Float64:
        network = self._judging_network()
        if network.fits(patterns):
            return network.probabilities(patterns, self.state_)
        return np.concatenate([network.probabilities(chunk, self.state_) for chunk in patterns.split(_CHUNK)])

    def _contributions(self, patterns: Patterns) -> Float64 | None:
        """For the unrolled network, what each vote adds to a class's logit, minus the mean of what it adds to all."""
        if patterns.n_classes == 1:
            return np.zeros((len(patterns.lf), 1))  # there is no other class
        added = self._judging_network().contributions(patterns, self.state_)
        if added is None:
            return None
        others = (added.sum(1, keepdims=True) - added) / (patterns.n_classes - 1)
        relative: Float64 = added - others
        return relative

    def _judging_network(self) -> Network:
        return load_network(self.weights_, calibrated=self.calibrated, as_released=self.as_released)

    def _network(self, patterns: Patterns) -> Network:
        """The network with what the user knows about the classes and LFs, checked."""
        (self._check_unrolled if is_unrolled(self.weights_) else self._check_paper)(patterns.outcomes)
        stated = self.lf_accuracies
        accuracies = None if stated is None else read_accuracies(stated, patterns.lf_names, patterns.n_lfs)
        balance = self._stated_balance
        flags = {"calibrated": self.calibrated, "as_released": self.as_released}
        return load_network(self.weights_, balance, accuracies, patterns.outcomes, **flags)

    def _check_unrolled(self, outcomes: Outcomes | None) -> None:
        """Refuse what the unrolled network does not take, or not together."""
        if self.lf_accuracies is not None and outcomes is not None:
            raise ParameterError(
                "lf_accuracies is given, but some votes are not for one class, so they are not right or wrong; leave "
                "it out"
            )
        if self.calibrated:
            raise ParameterError(
                f"calibrated is True, but the weights {str(self.weights)!r} are of the unrolled network, whose "
                "probabilities are always calibrated; leave it out, or use weights='hlm'"
            )
        if self.as_released:
            raise ParameterError(
                f"as_released is True, but the weights {str(self.weights)!r} are of the unrolled network, which the "
                "authors' package does not have; leave it out, or use weights='hlm'"
            )

    def _check_paper(self, outcomes: Outcomes | None) -> None:
        """Refuse what the paper's network does not take, and a calibration that its weights do not have."""
        weights = f"the weights {str(self.weights)!r}"
        for name in ("class_balance", "lf_accuracies"):
            if getattr(self, name) is not None:
                raise ParameterError(
                    f"{name} is given, but {weights} are of the paper's network, which takes none; use weights='hlm3'"
                )
        if outcomes is not None:
            refuse_outcomes(outcomes, weights)
        if self.calibrated and "sharpness" not in self.weights_.header:
            raise ParameterError(
                f"calibrated is True, but {weights} have no sharpness in their header; fit one with python -m "
                "experiments sharpness --weights FILE, or leave it out"
            )

    def balance_sensitivity(self, votes: object) -> float:
        """Share of the items with votes whose label would change if all classes were stated to be equally frequent.

        Without a stated class balance it is estimated from the votes. If this share is large, the estimate matters:
        state the balance, or label some random items. Not for `hlm`.

        >>> HyperLabelModel().balance_sensitivity([[0, 1], [0, 0], [1, 1], [1, -1]])
        0.0
        """
        fitted = self.fitted_on(votes)
        patterns = fitted.read(votes)
        estimated = fitted.pattern_probabilities(patterns)
        even = copy.copy(self).set_params(class_balance=UNIFORM).fit(patterns).pattern_probabilities(patterns)
        items = patterns.counts * patterns.has_votes
        return float(items @ (estimated.argmax(1) != even.argmax(1)) / max(items.sum(), 1))

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """As for all label models, plus the weights, so that a file does not need those of the package."""
        own = not (isinstance(self.weights, str) and self.weights in BUNDLED)
        named = copy.copy(self).set_params(weights="default") if own else self
        arrays, header = super(HyperLabelModel, named).to_arrays()
        weights = self.weights_ if self.is_fitted else load_weights(self.weights)
        header |= {"weights": weights.header, "own_weights": own}
        if own and COPIES in weights.header:  # what another `fit` starts from
            pretrained = load_weights(self.weights)
            arrays |= with_prefix(dict(pretrained.arrays), "pretrained")
            header["pretrained"] = pretrained.header
        return arrays | with_prefix(dict(weights.arrays), "weights"), header

    def restore(self, arrays: Arrays, header: dict[str, Any]) -> None:
        """Restore what `to_arrays` returned. Weights other than those of the package become a parameter again."""
        weights = _take_weights(arrays, header, "weights")
        if header["own_weights"]:
            self.weights = _take_weights(arrays, header, "pretrained") if "pretrained" in header else weights
        self.weights_ = weights
        super().restore(arrays, header)

    def _to_state(self) -> tuple[Arrays, dict[str, Any]]:
        arrays = self._judging_network().to_arrays(self.state_)
        return arrays, {"n_iter_": self.n_iter_, "converged_": self.converged_}

    def _from_state(self, arrays: Arrays, learned: dict[str, Any]) -> None:
        super()._from_state({}, learned)
        network = load_network(self.weights_, outcomes=self._context.inner_outcomes)
        self.state_ = network.from_arrays(arrays)


def _reduce_chunks(patterns: Patterns, sums: Callable[[Patterns], Sums]) -> Sums:
    """The sums of patterns in memory, chunk by chunk: the network's numbers for all of them would be too many."""
    return reduce(add_sums, map(sums, patterns.split(_CHUNK)))


def _take_weights(arrays: Arrays, header: dict[str, Any], name: str) -> Weights:
    """Checked weights out of a saved model."""
    weights = Weights(strip_prefix(arrays, name), header[name])
    check_weights(weights.arrays, weights.header, "the file")
    return weights
