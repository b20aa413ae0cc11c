"""What `snorkel.labeling.lf.core` has."""

from hyperlabel.compat.snorkel.functions import LabelingFunction, labeling_function

__all__ = ["LabelingFunction", "labeling_function"]
