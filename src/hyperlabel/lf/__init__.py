"""Labeling functions: writing them, applying them, and seeing what each is worth."""

from hyperlabel.lf.apply import AppliedVotes, apply_lfs
from hyperlabel.lf.define import ColumnFunction, LabelingFunction, LFError, expression_lf, labeling_function
from hyperlabel.lf.items import Row
from hyperlabel.lf.prompt import prompt_lf
from hyperlabel.lf.ready import keyword_lf, lookup_lf, regex_lf, threshold_lf

__all__ = [
    "AppliedVotes",
    "ColumnFunction",
    "LFError",
    "LabelingFunction",
    "Row",
    "apply_lfs",
    "expression_lf",
    "keyword_lf",
    "labeling_function",
    "lookup_lf",
    "prompt_lf",
    "regex_lf",
    "threshold_lf",
]
