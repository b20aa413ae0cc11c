"""What `snorkel.labeling.apply.core` has."""

from hyperlabel.compat.snorkel.appliers import ApplierMetadata, LFApplier

__all__ = ["ApplierMetadata", "LFApplier"]
