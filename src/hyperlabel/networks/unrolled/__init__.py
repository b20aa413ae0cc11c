"""The unrolled network of hlm2: a learned EM over patterns, written once for NumPy and torch.

A *node* is an LF and a class it votes for. A step estimates from the beliefs about all items what each node is worth,
and a small network, shared by all nodes, turns that into the evidence of one vote of the node for each class. A
row's logits are the sum of the evidence of its votes, scaled by a power of how many they are, plus a share of the
log class balance. Nothing else is passed from step to step, so that

- the result is equivariant in items, LFs and classes, for any number of classes;
- the evidence is its own explanation: logits are sums over votes, unless shares of votes are mixed in;
- the rows enter through sums over votes only, which add up over chunks however rows are split or repeated: a set of
  any size is read with one table of evidence in memory, and that table judges new rows.

Evidence mixes two forms, by how much an LF votes for several classes. *Own*: a vote speaks only for its class, less
for a class with many votes. *Confusion*: the log-likelihood of the vote given each class, by the LF's
confusion counts, shrunk toward those of all LFs, as in Dawid-Skene.

`nodes.py` and `steps.py` are the network, for arrays of either library; `votes.py` and `evidence.py` are the sums over
rows in NumPy; `calibrate.py` matches evidence to gold and known shares; `agreement.py` asks whether beliefs fit how
often judges agree; `network.py` and `state.py` are the protocol.
"""

from hyperlabel.networks.unrolled.network import UnrolledNetwork

__all__ = ["UnrolledNetwork"]
