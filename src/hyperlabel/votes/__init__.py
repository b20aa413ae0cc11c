"""Votes: the one door, which checks and encodes whatever people hand over. Code behind it trusts what it gets."""

from hyperlabel.votes.classes import ABSTAIN
from hyperlabel.votes.parts import describe_gold, match_lfs
from hyperlabel.votes.rows import Rows
from hyperlabel.votes.votes import Votes, check_no_other_lf, to_votes

__all__ = ["ABSTAIN", "Rows", "Votes", "check_no_other_lf", "describe_gold", "match_lfs", "to_votes"]
