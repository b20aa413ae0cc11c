"""What `snorkel.labeling.model.label_model` has."""

from hyperlabel.compat.snorkel.label_model import LabelModel

__all__ = ["LabelModel"]
