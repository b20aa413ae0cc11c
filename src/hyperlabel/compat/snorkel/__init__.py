"""The names that Snorkel users type, with Snorkel 0.10's signatures, columns and conventions.

Write `hyperlabel.compat.snorkel` for `snorkel` in the import lines, and the script runs: `labeling`, `labeling.model`,
`labeling.lf.nlp`, `labeling.apply.dask`, `preprocess`, `analysis`, `utils` and so on are where Snorkel has them. All
names are also here. `augmentation`, `slicing` and `classification` are not about labels and name Snorkel's own modules.
`LabelModel` is the hyper label model. docs/snorkel.md lists the other differences.

>>> import numpy as np
>>> from types import SimpleNamespace
>>> @labeling_function()
... def big(x):
...     return 1 if x.num > 42 else -1
>>> LFApplier([big]).apply([SimpleNamespace(num=10), SimpleNamespace(num=100)], progress_bar=False).tolist()
[[-1], [1]]
"""

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from hyperlabel.compat.snorkel.analysis import METRICS, Scorer, get_label_buckets, get_label_instances, metric_score
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
from hyperlabel.compat.snorkel.functions import LabelingFunction, labeling_function
from hyperlabel.compat.snorkel.label_model import LabelModel
from hyperlabel.compat.snorkel.lf_analysis import LFAnalysis
from hyperlabel.compat.snorkel.mappers import (
    BaseMapper,
    LambdaMapper,
    LambdaPreprocessor,
    Mapper,
    Preprocessor,
    lambda_mapper,
    make_spark_mapper,
    preprocessor,
)
from hyperlabel.compat.snorkel.nlp import (
    NLPLabelingFunction,
    SpacyPreprocessor,
    SparkNLPLabelingFunction,
    nlp_labeling_function,
    spark_nlp_labeling_function,
)
from hyperlabel.compat.snorkel.voters import MajorityClassVoter, MajorityLabelVoter, RandomVoter

__all__ = [
    "METRICS",
    "ApplierMetadata",
    "BaseMapper",
    "DaskLFApplier",
    "LFAnalysis",
    "LFApplier",
    "LabelModel",
    "LabelingFunction",
    "LambdaMapper",
    "LambdaPreprocessor",
    "MajorityClassVoter",
    "MajorityLabelVoter",
    "Mapper",
    "NLPLabelingFunction",
    "PandasLFApplier",
    "PandasParallelLFApplier",
    "Preprocessor",
    "RandomVoter",
    "Scorer",
    "SpacyPreprocessor",
    "SparkLFApplier",
    "SparkNLPLabelingFunction",
    "filter_labels",
    "filter_unlabeled_dataframe",
    "get_label_buckets",
    "get_label_instances",
    "labeling_function",
    "lambda_mapper",
    "make_spark_mapper",
    "metric_score",
    "nlp_labeling_function",
    "preds_to_probs",
    "preprocessor",
    "probs_to_preds",
    "spark_nlp_labeling_function",
    "to_int_label_array",
]

# The names of `snorkel.types`.
DataPoint = Any
DataPoints = Sequence[Any]
Field = Any
FieldMap = Mapping[str, Any]
HashingFunction = Callable[[Any], Hashable]
Config = NamedTuple

BasePreprocessor, make_spark_preprocessor = BaseMapper, make_spark_mapper

_MODULES = {  # Snorkel's modules, each after the one above it, and their names
    "analysis.error_analysis": "get_label_buckets get_label_instances",
    "analysis.metrics": "METRICS metric_score",
    "analysis.scorer": "Scorer",
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
    "labeling.lf.nlp_spark": "SparkNLPLabelingFunction spark_nlp_labeling_function",
    "labeling.model": "LabelModel MajorityClassVoter MajorityLabelVoter RandomVoter",
    "labeling.model.baselines": "MajorityClassVoter MajorityLabelVoter RandomVoter",
    "labeling.model.label_model": "LabelModel",
    "labeling.utils": "filter_unlabeled_dataframe",
    "map": "BaseMapper LambdaMapper Mapper lambda_mapper",
    "map.core": "BaseMapper LambdaMapper Mapper lambda_mapper",
    "map.spark": "make_spark_mapper",
    "preprocess": "BasePreprocessor LambdaPreprocessor Preprocessor preprocessor",
    "preprocess.core": "BasePreprocessor LambdaPreprocessor Preprocessor preprocessor",
    "preprocess.nlp": "SpacyPreprocessor",
    "preprocess.spark": "make_spark_preprocessor",
    "types": "Config DataPoint DataPoints Field FieldMap HashingFunction",
    "utils": "filter_labels preds_to_probs probs_to_preds to_int_label_array",
    "utils.core": "filter_labels preds_to_probs probs_to_preds to_int_label_array",
}
_ELSEWHERE = (  # what Snorkel has besides labeling, and its modules that scripts import from
    *("augmentation", "augmentation.apply", "augmentation.policy", "augmentation.tf"),
    *("classification", "classification.data", "classification.task", "classification.training"),
    *("slicing", "slicing.apply", "slicing.monitor", "slicing.sf", "slicing.utils"),
)


def _add_module(path: str, contents: dict[str, Any]) -> None:
    """Add a module below this one."""
    module = ModuleType(f"{__name__}.{path}", f"Names of `snorkel.{path}`.")
    vars(module).update(contents, __path__=[])
    sys.modules[module.__name__] = module
    setattr(sys.modules[module.__name__.rpartition(".")[0]], path.rpartition(".")[2], module)


def _refuse(path: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names only Snorkel has."""

    def getattribute(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ImportError(
            f"hyperlabel.compat.snorkel has no {path}: import this from snorkel itself, `from snorkel.{path} import "
            f"{name}` (pip install snorkel); it works on the same frames and labels"
        )

    return getattribute


for _path, _names in _MODULES.items():
    _add_module(_path, {name: globals()[name] for name in _names.split()} | {"__all__": _names.split()})
for _path in _ELSEWHERE:
    _add_module(_path, {"__getattr__": _refuse(_path)})
