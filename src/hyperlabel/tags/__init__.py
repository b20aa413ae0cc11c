"""Several labels per item: votes for any subset of tags, and the set of tags that each item gets."""

from hyperlabel.tags._label import TagLabels, label_tags
from hyperlabel.tags._read import TagVotes, read_tags, read_true_tags

__all__ = ["TagLabels", "TagVotes", "label_tags", "read_tags", "read_true_tags"]
