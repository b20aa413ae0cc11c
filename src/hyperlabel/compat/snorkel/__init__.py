"""The names that Snorkel users type, with Snorkel 0.10's signatures, columns and conventions.

Write `hyperlabel.compat.snorkel` for `snorkel` in the import lines, and the script runs: `labeling`, `labeling.model`,
`labeling.lf.nlp`, `labeling.apply.dask`, `preprocess`, `analysis`, `utils` and so on are where Snorkel has them. All
names are also here. `LabelModel` is the hyper label model. docs/snorkel.md lists the other differences.

>>> import numpy as np
>>> from types import SimpleNamespace
>>> @labeling_function()
... def big(x):
...     return 1 if x.num > 42 else -1
>>> LFApplier([big]).apply([SimpleNamespace(num=10), SimpleNamespace(num=100)], progress_bar=False).tolist()
[[-1], [1]]
"""

import sys
from types import ModuleType

from hyperlabel.compat.snorkel.analysis import get_label_buckets, get_label_instances, metric_score
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
from hyperlabel.compat.snorkel.nlp import NLPLabelingFunction, SpacyPreprocessor, nlp_labeling_function
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
    "NLPLabelingFunction",
    "PandasLFApplier",
    "PandasParallelLFApplier",
    "Preprocessor",
    "RandomVoter",
    "SpacyPreprocessor",
    "SparkLFApplier",
    "filter_labels",
    "filter_unlabeled_dataframe",
    "get_label_buckets",
    "get_label_instances",
    "labeling_function",
    "metric_score",
    "nlp_labeling_function",
    "preds_to_probs",
    "preprocessor",
    "probs_to_preds",
    "to_int_label_array",
]

_MODULES = {  # Snorkel's modules, each after the one above it, and their names
    "labeling": "LFAnalysis LFApplier LabelingFunction PandasLFApplier filter_unlabeled_dataframe labeling_function",
    "labeling.analysis": "LFAnalysis",
    "labeling.apply": "",
    "labeling.apply.core": "ApplierMetadata LFApplier",
    "labeling.apply.dask": "DaskLFApplier PandasParallelLFApplier",
    "labeling.apply.pandas": "PandasLFApplier",
    "labeling.apply.spark": "SparkLFApplier",
    "labeling.lf": "LabelingFunction labeling_function",
    "labeling.lf.core": "LabelingFunction labeling_function",
    "labeling.lf.nlp": "NLPLabelingFunction nlp_labeling_function",
    "labeling.model": "LabelModel MajorityClassVoter MajorityLabelVoter RandomVoter",
    "labeling.model.baselines": "MajorityClassVoter MajorityLabelVoter RandomVoter",
    "labeling.model.label_model": "LabelModel",
    "labeling.utils": "filter_unlabeled_dataframe",
    "preprocess": "Preprocessor preprocessor",
    "preprocess.nlp": "SpacyPreprocessor",
    "utils": "filter_labels preds_to_probs probs_to_preds to_int_label_array",
}

for _path, _names in _MODULES.items():
    _module = ModuleType(f"{__name__}.{_path}", f"Names of `snorkel.{_path}`.")
    vars(_module).update({name: globals()[name] for name in _names.split()}, __all__=_names.split(), __path__=[])
    sys.modules[_module.__name__] = _module
    setattr(sys.modules[_module.__name__.rpartition(".")[0]], _path.rpartition(".")[2], _module)
