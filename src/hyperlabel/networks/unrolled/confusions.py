"""The confusion form of evidence: log-likelihoods of votes given each class, by the confusion counts of their LFs.

An LF has few counts, so they are shrunk: toward what is expected from an LF of its skill and bias, and toward
its own votes whatever the class. An LF of some skill is right more often, or less, than all LFs together would be on
the same items, by the same log-odds in each class; one of some bias votes for some classes more often, whatever the
class of the item. Both are measured with two imagined items on which the LF votes like all LFs.
"""

from hyperlabel.networks.unrolled.backend import Array, odds, sigmoid
from hyperlabel.networks.unrolled.nodes import Nodes

# Where the learned corrections start from.
SHRINK = 3.0  # log of the imagined items that shrink an LF's confusions
MIX = 1.0  # log-odds that these items are as its skill and bias say, not as its own votes

HALF_ITEM = 0.5  # imagined items of each class in the confusions of all LFs
SKILL_ITEMS = 2.0  # imagined items on which an LF votes like all LFs
LEAST_ACCURACY, MOST_ACCURACY = 1e-4, 1 - 1e-4  # so that odds are finite and not 0


class Confusions:
    """The confusions of the LFs of some sets.

    Args:
        nodes: The nodes.
        class_counts: (q, k) of the items on which a node votes, those of each class.
        right: (m,) right votes of each LF, as believed.
        shrink: (q,) learned; log of the imagined items, beyond `SHRINK`.
        mix: (q,) learned; log-odds that these are as skill and bias say, beyond `MIX`.
    """

    def __init__(self, nodes: Nodes, class_counts: Array, right: Array, shrink: Array, mix: Array) -> None:
        xp, k = nodes.backend.xp, nodes.k
        self.nodes, self.class_counts, self.of_lf = nodes, class_counts, nodes.by_lf.sum(class_counts)
        pooled = nodes.by_class.sum(class_counts).reshape(-1, k, k) + HALF_ITEM  # (t, vote, class)
        self.skilled, lean, self.total = self._expect(pooled / pooled.sum(1)[:, None], right)
        items, mix = xp.exp(shrink + SHRINK), sigmoid(xp, mix + MIX)
        self.items = items[:, None]  # (q, 1)
        self.leaned, self.plain = (items * (mix * lean))[:, None], (items * ((1 - mix) * nodes.share))[:, None]

    def of(self, block: slice) -> Array:
        """The log-likelihoods of some nodes, minus their means over the classes. (q, k)."""
        of, items = self.nodes.by_lf.of, self.items[block]
        imagined = self.skilled[block] * self.leaned[block] / of(self.total, block) + self.plain[block]
        likelihood = self.nodes.backend.xp.log((self.class_counts[block] + imagined) / (of(self.of_lf, block) + items))
        return likelihood - likelihood.sum(1)[:, None] / self.nodes.k

    def _expect(self, everyone: Array, right: Array) -> tuple[Array, Array, Array]:
        """How often an LF of this skill and bias should cast a vote, by the class of the item, as three factors.

        Votes that an LF never casts are not nodes, but have a share: what the others leave.

        Args:
            everyone: (t, k, k) how often all LFs vote for a class, by the class of the item.
            right: (m,) right votes of each LF.

        Returns:
            (q, k) by the skill, (q,) by the bias, and (m, k) what the product is divided by, so that it adds up.
        """
        nodes, xp, by_lf, lf = self.nodes, self.nodes.backend.xp, self.nodes.by_lf, self.nodes.by_lf.index
        typical = nodes.lf_by_set.of(everyone.diagonal(0, 1, 2))  # (m, k): how often all LFs are right
        skill = self._skill(typical, right)  # (m,)
        total = 1 + typical * (skill - 1)[:, None]  # (m, k): what shares add up to once right votes have these odds
        skilled = nodes.by_class.of(everyone.reshape(-1, nodes.k))
        skilled.reshape(-1)[nodes.own] *= skill[lf]
        items = self.of_lf / total

        def count_cast(block: slice) -> Array:
            return xp.einsum("qk,qk->q", skilled[block], by_lf.of(items, block))

        cast = nodes.backend.by_blocks(count_cast, len(lf), nodes.k)
        never = SKILL_ITEMS / (nodes.of_lf + SKILL_ITEMS)  # (m,): the bias to votes that are never cast
        least = never[lf]
        lean = (1 - least) * nodes.n / cast  # (q,): what votes are multiplied by beyond that
        kept = by_lf.sum(skilled * lean[:, None])
        return skilled, lean + least, kept + never[:, None] * total

    def _skill(self, typical: Array, right: Array) -> Array:
        """The odds that an LF is right over those of all LFs on its items; 1 for one-sided LFs. (m,).

        Args:
            typical: (m, k) how often all LFs are right, by the class of the item.
            right: (m,) right votes of each LF.
        """
        bound, votes = self.nodes.backend.bound, self.nodes.of_lf
        expected = bound((self.of_lf * typical).sum(1) / votes, LEAST_ACCURACY, MOST_ACCURACY)
        accuracy = (right + SKILL_ITEMS * expected) / (votes + SKILL_ITEMS)
        return (odds(bound(accuracy, LEAST_ACCURACY, MOST_ACCURACY)) / odds(expected)) ** self.nodes.spread
