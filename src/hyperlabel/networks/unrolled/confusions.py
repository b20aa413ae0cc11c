"""The confusion form of evidence: log-likelihoods of votes given each class, by the confusion counts of their LFs.

An LF has few counts, so they are shrunk: toward what is expected from an LF of its skill and bias, and toward
its own votes whatever the class. An LF of some skill is right more often, or less, than all LFs together would be on
the same items, by the same log-odds in each class; one of some bias votes for some classes more often, whatever the
class of the item. Both are measured with two imagined items on which the LF votes like all LFs.
"""

from hyperlabel.networks.unrolled.backend import Array, logit, sigmoid
from hyperlabel.networks.unrolled.nodes import Nodes

# Where the learned corrections start from.
SHRINK = 3.0  # log of the imagined items that shrink an LF's confusions
MIX = 1.0  # log-odds that these items are as its skill and bias say, not as its own votes

HALF_ITEM = 0.5  # imagined items of each class in the confusions of all LFs
SKILL_ITEMS = 2.0  # imagined items on which an LF votes like all LFs
LEAST_ACCURACY = 1e-4  # accuracies stay this far from 0 and 1, so that their log-odds are finite
LEAST_ITEMS = 1e-9  # avoids division by zero where an LF does not vote


class Confusions:
    """The confusions of the LFs of some sets.

    Args:
        nodes: The nodes.
        class_counts: (q, k) of the items on which a node votes, those of each class.
        shrink: (q,) learned; log of the imagined items, beyond `SHRINK`.
        mix: (q,) learned; log-odds that these are as skill and bias say, beyond `MIX`.
    """

    def __init__(self, nodes: Nodes, class_counts: Array, shrink: Array, mix: Array) -> None:
        xp, k = nodes.backend.xp, nodes.k
        self.nodes, self.class_counts, self.of_lf = nodes, class_counts, nodes.by_lf.sum(class_counts)
        self.items, self.mix = xp.exp(shrink + SHRINK)[:, None], sigmoid(xp, mix + MIX)[:, None]
        pooled = nodes.by_class.sum(class_counts).reshape(-1, k, k)  # (t, vote, class)
        everyone = (pooled + HALF_ITEM) / (pooled.sum(1)[:, None] + HALF_ITEM * k)
        self.skilled, self.lean, self.scale = self._expect(everyone)

    def of(self, block: slice) -> Array:
        """The log-likelihoods of some nodes, minus their means over the classes. (q, k)."""
        nodes, items, mix, lf = self.nodes, self.items[block], self.mix[block], self.nodes.by_lf.index[block]
        expected = self.skilled[block] * self.lean[block, None] * self.scale[lf]
        prior = mix * expected + (1 - mix) * nodes.share[block, None]
        shares = (self.class_counts[block] + items * prior) / (self.of_lf[lf] + items)
        likelihood = nodes.backend.xp.log(shares)
        return likelihood - likelihood.sum(1)[:, None] / nodes.k

    def _expect(self, everyone: Array) -> tuple[Array, Array, Array]:
        """How often an LF of this skill and bias should cast a vote, by the class of the item, as three factors.

        Votes that an LF never casts are not nodes, but have a share: what the others leave.

        Args:
            everyone: (t, k, k) how often all LFs vote for a class, by the class of the item.

        Returns:
            (q, k) by the skill, (q,) by the bias, and (m, k) what makes the shares of an LF add up.
        """
        nodes, xp, lf = self.nodes, self.nodes.backend.xp, self.nodes.by_lf.index
        right = everyone.diagonal(0, 1, 2)[nodes.set_of_lf]  # (m, k)
        votes = self.of_lf.sum(1)
        odds = xp.exp(self._skill(right, votes))[:, None]  # (m, 1)
        others = 1 / (1 + right * (odds - 1))  # (m, k): what makes shares add up once right votes have these odds
        skilled = everyone.reshape(-1, nodes.k)[nodes.by_class.index]
        skilled.reshape(-1)[nodes.own] *= odds[lf, 0]
        items = others * self.of_lf

        def count_cast(block: slice) -> Array:
            return xp.einsum("qk,qk->q", skilled[block], items[lf[block]])

        cast = nodes.backend.by_blocks(count_cast, len(lf), nodes.k)
        never = SKILL_ITEMS / (votes + SKILL_ITEMS)  # (m,): the bias to votes that are never cast
        lean = (1 - never)[lf] * nodes.n / cast  # (q,): what votes are multiplied by beyond that
        kept = nodes.by_lf.sum(skilled * lean[:, None])
        return skilled, lean + never[lf], others / (others * kept + never[:, None])

    def _skill(self, right: Array, votes: Array) -> Array:
        """The log-odds by which an LF is right more often than all LFs on its items; 0 for one-sided LFs. (m,).

        Args:
            right: (m, k) how often all LFs are right, by the class of the item.
            votes: (m,) votes of each LF.
        """
        nodes, xp = self.nodes, self.nodes.backend.xp
        expected = _bound((self.of_lf * right).sum(1) / votes.clip(LEAST_ITEMS, None))
        own = nodes.by_lf.sum(self.class_counts.reshape(-1)[nodes.own])
        accuracy = _bound((own + SKILL_ITEMS * expected) / (votes + SKILL_ITEMS))
        return nodes.spread * (logit(xp, accuracy) - logit(xp, expected))


def _bound(shares: Array) -> Array:
    return shares.clip(LEAST_ACCURACY, 1 - LEAST_ACCURACY)
