"""What `snorkel.labeling.model` has."""

from hyperlabel.compat.snorkel.label_model import LabelModel
from hyperlabel.compat.snorkel.voters import MajorityClassVoter, MajorityLabelVoter, RandomVoter

__all__ = ["LabelModel", "MajorityClassVoter", "MajorityLabelVoter", "RandomVoter"]
