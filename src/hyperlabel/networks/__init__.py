"""Pre-trained networks: each reads a set in passes into a small state and judges patterns in it.

`paper` is the network of the hyper label model paper (`hlm`), `unrolled` is this project's (`hlm2`); `base` says what
both can do.
"""

from hyperlabel.kernels import Float64
from hyperlabel.networks.base import Gold, Network, Reduce, Sums, add_sums, read
from hyperlabel.networks.paper import PaperNetwork
from hyperlabel.networks.unrolled import UnrolledNetwork
from hyperlabel.votes.outcomes import Outcomes
from hyperlabel.weights import Weights

__all__ = ["Gold", "Network", "Reduce", "Sums", "add_sums", "is_unrolled", "load_network", "read"]


def is_unrolled(weights: Weights) -> bool:
    """Whether weights are of the unrolled network, not of the paper's."""
    return "steps" in weights.header


def load_network(
    weights: Weights,
    balance: Float64 | None = None,
    accuracies: Float64 | None = None,
    outcomes: Outcomes | None = None,
    *,
    calibrated: bool = False,
) -> Network:
    """The network of some weights.

    Args:
        weights: The weights.
        balance: (k,) known shares of the classes; unrolled network only.
        accuracies: (m,) known accuracies of LFs, NaN where not known; unrolled network only.
        outcomes: Outcomes that are not one class; unrolled network only.
        calibrated: Whether probabilities have the sharpness stated in the weights, or are raw; paper's network only.
    """
    if is_unrolled(weights):
        return UnrolledNetwork(weights, balance, accuracies, outcomes)
    return PaperNetwork(weights, weights.header["sharpness"] if calibrated else 1.0)
