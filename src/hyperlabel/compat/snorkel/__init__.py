"""The names that Snorkel users type, with Snorkel 0.10's signatures, columns and conventions.

Write `hyperlabel.compat.snorkel` for `snorkel` in the import lines, and the script runs: `labeling`, `labeling.model`,
`labeling.lf.nlp`, `labeling.apply.dask`, `preprocess`, `analysis`, `utils` and so on are where Snorkel has them. Most
names are also here. `LabelModel` is the hyper label model. docs/snorkel.md says what else is different.

>>> import numpy as np
>>> from types import SimpleNamespace
>>> @labeling_function()
... def big(x):
...     return 1 if x.num > 42 else -1
>>> LFApplier([big]).apply([SimpleNamespace(num=10), SimpleNamespace(num=100)], progress_bar=False).tolist()
[[-1], [1]]
"""

from hyperlabel.compat.snorkel.analysis import get_label_buckets, get_label_instances
from hyperlabel.compat.snorkel.appliers import (
    ApplierMetadata,
    DaskLFApplier,
    LFApplier,
    PandasLFApplier,
    PandasParallelLFApplier,
    SparkLFApplier,
)
from hyperlabel.compat.snorkel.convert import (
    filter_labels,
    filter_unlabeled_dataframe,
    preds_to_probs,
    probs_to_preds,
    to_int_label_array,
)
from hyperlabel.compat.snorkel.functions import LabelingFunction, Preprocessor, labeling_function, preprocessor
from hyperlabel.compat.snorkel.label_model import LabelModel
from hyperlabel.compat.snorkel.lf_analysis import LFAnalysis
from hyperlabel.compat.snorkel.voters import MajorityClassVoter, MajorityLabelVoter, RandomVoter

__all__ = [
    "ApplierMetadata",
    "DaskLFApplier",
    "LFAnalysis",
    "LFApplier",
    "LabelModel",
    "LabelingFunction",
    "MajorityClassVoter",
    "MajorityLabelVoter",
    "PandasLFApplier",
    "PandasParallelLFApplier",
    "Preprocessor",
    "RandomVoter",
    "SparkLFApplier",
    "filter_labels",
    "filter_unlabeled_dataframe",
    "get_label_buckets",
    "get_label_instances",
    "labeling_function",
    "preds_to_probs",
    "preprocessor",
    "probs_to_preds",
    "to_int_label_array",
]
