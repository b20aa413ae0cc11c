"""What `snorkel.labeling.apply.pandas` has."""

from hyperlabel.compat.snorkel.appliers import PandasLFApplier

__all__ = ["PandasLFApplier"]
