"""What `snorkel.labeling.utils` has."""

from hyperlabel.compat.snorkel.convert import filter_unlabeled_dataframe

__all__ = ["filter_unlabeled_dataframe"]
