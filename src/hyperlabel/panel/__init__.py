"""Panels of judges, people or language models: one label per item, and a report card of each judge.

The package is not called `jury` because `hyperlabel.jury` is the function.
"""

from hyperlabel.panel._agreement import (
    Agreement,
    cohen_kappa,
    fleiss_kappa,
    interval_alpha,
    krippendorff_alpha,
    ordinal_alpha,
    pairwise_kappa,
    weighted_kappa,
)
from hyperlabel.panel._estimates import Prevalence, rogan_gladen
from hyperlabel.panel._jury import Jury, jury

__all__ = [
    "Agreement",
    "Jury",
    "Prevalence",
    "cohen_kappa",
    "fleiss_kappa",
    "interval_alpha",
    "jury",
    "krippendorff_alpha",
    "ordinal_alpha",
    "pairwise_kappa",
    "rogan_gladen",
    "weighted_kappa",
]
