"""What `snorkel.labeling.apply.dask` has."""

from hyperlabel.compat.snorkel.appliers import DaskLFApplier, PandasParallelLFApplier

__all__ = ["DaskLFApplier", "PandasParallelLFApplier"]
