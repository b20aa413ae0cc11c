"""What `snorkel.labeling.apply.spark` has."""

from hyperlabel.compat.snorkel.appliers import SparkLFApplier

__all__ = ["SparkLFApplier"]
