"""What `snorkel.labeling` has."""

from hyperlabel.compat.snorkel.appliers import LFApplier, PandasLFApplier
from hyperlabel.compat.snorkel.convert import filter_unlabeled_dataframe
from hyperlabel.compat.snorkel.functions import LabelingFunction, labeling_function
from hyperlabel.compat.snorkel.lf_analysis import LFAnalysis

__all__ = [
    "LFAnalysis",
    "LFApplier",
    "LabelingFunction",
    "PandasLFApplier",
    "filter_unlabeled_dataframe",
    "labeling_function",
]
