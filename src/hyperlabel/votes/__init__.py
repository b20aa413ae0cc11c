"""Votes: the only place that checks and encodes input. All other code trusts it."""

from hyperlabel.votes.classes import ABSTAIN
from hyperlabel.votes.matching import describe_gold, match_lfs
from hyperlabel.votes.votes import Votes, check_no_other_lf, to_votes

__all__ = ["ABSTAIN", "Votes", "check_no_other_lf", "describe_gold", "match_lfs", "to_votes"]
