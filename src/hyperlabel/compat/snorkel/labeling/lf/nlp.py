"""What `snorkel.labeling.lf.nlp` has."""

from hyperlabel.compat.snorkel.nlp import NLPLabelingFunction, nlp_labeling_function

__all__ = ["NLPLabelingFunction", "nlp_labeling_function"]
