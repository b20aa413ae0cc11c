"""What `snorkel.labeling.analysis` has."""

from hyperlabel.compat.snorkel.lf_analysis import LFAnalysis

__all__ = ["LFAnalysis"]
