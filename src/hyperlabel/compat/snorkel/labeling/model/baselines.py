"""What `snorkel.labeling.model.baselines` has."""

from hyperlabel.compat.snorkel.voters import MajorityClassVoter, MajorityLabelVoter, RandomVoter

__all__ = ["MajorityClassVoter", "MajorityLabelVoter", "RandomVoter"]
