"""What `snorkel.preprocess` has."""

from hyperlabel.compat.snorkel.functions import Preprocessor, preprocessor

__all__ = ["Preprocessor", "preprocessor"]
