"""Pre-trained networks: each reads a set in passes into a small state and judges patterns in it.

`_paper` is the network of the hyper label model paper (`hlm`); `_unrolled` and `_mixed` are this project's (`hlm2`, and
`hlm3`, which goes on where `hlm2` ends); `_base` is the protocol of all.
"""

from hyperlabel._core import Float64
from hyperlabel.data import Outcomes
from hyperlabel.networks._backend import ALL
from hyperlabel.networks._base import Gold, Network, Reduce, Sums, add_sums, read
from hyperlabel.networks._gate import LOG_HEAT, STRETCH, stack_readings
from hyperlabel.networks._gold import compose, fine_tune, fine_tune_as_released, loss_gradient, weigh_gold
from hyperlabel.networks._mixed import MixedNetwork, Readings
from hyperlabel.networks._pairs import Pairs, compare_pairs, count_pairs, describe_pairs, fit_levels
from hyperlabel.networks._paper import LEAK, PaperNetwork, backward, forward, sharpen, to_probabilities
from hyperlabel.networks._steps import Nodes, Step, advance, find_log_effect, find_residuals
from hyperlabel.networks._unrolled import UnrolledNetwork
from hyperlabel.networks._votes import START
from hyperlabel.networks._weights import (
    BUNDLED,
    COPIES,
    MOMENTS,
    OPTIMIZER_STEPS,
    TERMS,
    Weights,
    check_weights,
    is_mixed,
    is_unrolled,
    load_weights,
    mixed_shapes,
    paper_shapes,
    unrolled_layers,
    unrolled_shapes,
)

__all__ = [
    "ALL",
    "BUNDLED",
    "COPIES",
    "LEAK",
    "LOG_HEAT",
    "MOMENTS",
    "OPTIMIZER_STEPS",
    "START",
    "STRETCH",
    "TERMS",
    "Gold",
    "MixedNetwork",
    "Network",
    "Nodes",
    "Pairs",
    "PaperNetwork",
    "Readings",
    "Reduce",
    "Step",
    "Sums",
    "UnrolledNetwork",
    "Weights",
    "add_sums",
    "advance",
    "backward",
    "check_weights",
    "compare_pairs",
    "compose",
    "count_pairs",
    "describe_pairs",
    "find_log_effect",
    "find_residuals",
    "fine_tune",
    "fine_tune_as_released",
    "fit_levels",
    "forward",
    "is_mixed",
    "is_unrolled",
    "load_network",
    "load_weights",
    "loss_gradient",
    "mixed_shapes",
    "paper_shapes",
    "read",
    "sharpen",
    "stack_readings",
    "to_probabilities",
    "unrolled_layers",
    "unrolled_shapes",
    "weigh_gold",
]


def load_network(
    weights: Weights,
    balance: Float64 | None = None,
    accuracies: Float64 | None = None,
    outcomes: Outcomes | None = None,
    *,
    calibrated: bool = False,
    as_released: bool = False,
) -> Network:
    """Return the network of some weights.

    Args:
        weights: The weights.
        balance: (k,) known shares of the classes among all items; unrolled network only.
        accuracies: (m,) known accuracies of LFs, NaN where not known; unrolled network only.
        outcomes: Outcomes that are not one class; unrolled network only.
        calibrated: Whether probabilities have the sharpness stated in the weights, or are raw; paper's network only.
        as_released: Whether of two classes the second alone is asked about, as in the authors' package; paper's network
            only.
    """
    if is_unrolled(weights):
        network = MixedNetwork if is_mixed(weights) else UnrolledNetwork
        return network(weights, balance, accuracies, outcomes)
    return PaperNetwork(weights, weights.header["sharpness"] if calibrated else 1.0, as_released)
