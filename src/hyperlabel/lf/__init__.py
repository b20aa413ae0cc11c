"""Labeling functions: defining, applying and analyzing them."""

from hyperlabel.lf._analysis import LFAnalysis, ResultTable
from hyperlabel.lf._apply import AppliedVotes, apply_lfs, name_votes, run_lfs
from hyperlabel.lf._cache import LFCache
from hyperlabel.lf._define import ColumnFunction, LabelingFunction, LFError, check_lfs, expression_lf, labeling_function
from hyperlabel.lf._drift import compare_profiles, describe_drift, drift
from hyperlabel.lf._fingerprint import fingerprint_lf
from hyperlabel.lf._items import Items, read_items
from hyperlabel.lf._parallel import Worker, pack
from hyperlabel.lf._progress import show_progress
from hyperlabel.lf._ready import (
    PromptFunction,
    RegexLF,
    ValueFunction,
    keyword_lf,
    lookup_lf,
    prompt_lf,
    regex_lf,
    threshold_lf,
)
from hyperlabel.lf._regex import Texts, match_texts, translate
from hyperlabel.lf._run import Advance, Answer, chunks, run_all
from hyperlabel.lf._statistics import (
    affordable_items,
    correlate,
    keep_lfs,
    leave_one_out,
    sample_affordable,
    sample_items,
    share,
)

__all__ = [
    "Advance", "Answer", "AppliedVotes", "ColumnFunction", "Items", "LFAnalysis", "LFCache", "LFError",
    "LabelingFunction", "PromptFunction", "RegexLF", "ResultTable", "Texts", "ValueFunction", "Worker",
    "affordable_items", "apply_lfs", "check_lfs", "chunks", "compare_profiles", "correlate", "describe_drift", "drift",
    "expression_lf", "fingerprint_lf", "keep_lfs", "keyword_lf", "labeling_function", "leave_one_out", "lookup_lf",
    "match_texts", "name_votes", "pack", "prompt_lf", "read_items", "regex_lf", "run_all", "run_lfs",
    "sample_affordable", "sample_items", "share", "show_progress", "threshold_lf", "translate",
]  # fmt: skip
