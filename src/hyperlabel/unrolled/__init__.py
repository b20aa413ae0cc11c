"""The unrolled network of hlm2: a learned EM over patterns, in NumPy.

A *node* is an LF and a class it votes for. A step estimates from the beliefs in all items what each node is worth,
and a small network, shared by all nodes, turns that into the evidence of one vote of the node for each class. A
row's logits are the sum of the evidence of its votes, scaled by a power of how many they are, plus a share of the
log class balance. Nothing else is passed from step to step, so that

- the result is equivariant in items, LFs and classes, for any number of classes, and does not change when every
  item is repeated: distinct rows count, and of them no more than give an average LF `TYPICAL` votes;
- the evidence is its own explanation: logits are sums over votes;
- the rows enter through sums over votes only: a pass over data of any size needs one `Evidence` in memory.

Evidence mixes two forms, by how far an LF votes for several classes. *Own*: a vote speaks for its class alone, less
for a class that is voted for often. *Confusion*: the log-likelihood of the vote given each class, by the LF's
confusion counts, shrunk towards those of all LFs, as in Dawid-Skene.
"""

from hyperlabel.unrolled.ballots import Ballots, Beliefs, Counts, Evidence, believe, count, to_probabilities
from hyperlabel.unrolled.matching import match_gold, match_shares
from hyperlabel.unrolled.nodes import Nodes, find_nodes
from hyperlabel.unrolled.steps import advance, forward

__all__ = [
    "Ballots",
    "Beliefs",
    "Counts",
    "Evidence",
    "Nodes",
    "advance",
    "believe",
    "count",
    "find_nodes",
    "forward",
    "match_gold",
    "match_shares",
    "to_probabilities",
]
