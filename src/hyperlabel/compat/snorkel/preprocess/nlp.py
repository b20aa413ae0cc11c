"""What `snorkel.preprocess.nlp` has."""

from hyperlabel.compat.snorkel.nlp import SpacyPreprocessor

__all__ = ["SpacyPreprocessor"]
