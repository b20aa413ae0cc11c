"""hlm3: two readings of the same votes, and a learned choice between them for each LF and each set.

1. *hlm2*, as shipped: three learned steps around a careful rule. It is right where agreement is no evidence: rules of one
   class, large crowds, panels that err together.
2. *EM*: an EM that runs to its end, from skills that agreement in pairs shows at once. Each LF's confusions are shrunk to
   what its accuracy says, and LFs that depend on each other (copies) share their weight. It is right where judges err
   independently: there it is close to the optimum.
3. With gold, *gold*: confusions on gold items alone.

A small network sees what agreement looks like (how much pairs agree beyond what skills explain, how far the readings differ,
how they fare on gold) and gives each LF its shares of the readings, and each reading a temperature. The result is one table
of evidence per vote, a bias and a size power: the state that hlm2 has, so explain, SQL export and inductive prediction stay.

Everything is a function of the distinct vote rows (p, m), -1 abstains, their counts (p,), gold counts (p, k) or None, and k.
What reads rows gives sums that add up over chunks: `count_pairs`, `em_sums`, `compare_readings`. Only NumPy is used.

Words: LF, vote, row (a pattern), item, evidence, belief as in docs/design; *level*: an accuracy, from chance (0) to perfect (1).
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Net = Mapping[str, Floats]

DENSE_CELLS = 3_000_000  # rows x LFs x classes up to which votes are one matrix of zeros and ones

# Which sets have a second reading.
LEAST_SPREAD = 0.05  # below this share of votes by LFs of several classes, agreement holds no information
FULL_SPREAD = 0.25  # with this share of votes outside its main class, an LF counts as voting for several
FEW_VOTES = 2.46  # per item: below that, sets with one-sided LFs are thin
ONE_SIDED = 0.04  # spread below which an LF votes for one class
MOST_LFS = 40  # without gold, sparse sets of more LFs are left to hlm2: it is as good there, and pairs cost m * m
DENSE = 0.5  # share of all possible votes from which on a set is a panel, and up to MOST_PAIRED LFs are read twice
MOST_PAIRED = 128  # with gold, LFs whose pairs are compared: those with most votes

# Levels from agreement of pairs.
PRIOR_LEVEL = 0.33  # an LF of which nothing is known
LEVEL_ROUNDS = 12
LEVEL_PRIOR = 0.5  # weight of PRIOR_LEVEL in the fit of levels
ALIKE = 0.7  # kappa from which on a pair says little about the levels of both: they may be copies
LEAST_INFORMED = 0.05  # agreement by chance above 1 minus this says nothing

# Sharing of weight.
CLEAR, CLEAR_WIDTH = 0.35, 0.04  # dependence of two LFs from which on they share their weight

# The EM.
SHRINK = 40.0  # imagined items of each class that draw an LF's confusions to its accuracy
LEVEL_ITEMS = 3.0  # imagined items of an LF's accuracy, of PRIOR_LEVEL
BALANCE_ITEMS = 5.0  # imagined items of each class
MOST_STEPS = 30
MOST_AHEAD = 12.0  # how far a squared extrapolation jumps
TOLERANCE = 2e-4  # the EM stops when counts change by less than this share of the votes

# The gold reading: imagined gold items of each class, of accuracies, and of the class balance.
GOLD_SHRINK, GOLD_ITEMS, GOLD_BALANCE = 8.0, 4.0, 5.0

STRETCH = 1.3  # a sigmoid stretched by this reaches 0 and 1: a reading that is not trusted has no share at all
LEAST_TEMPERATURE, MOST_TEMPERATURE = -4.0, 1.5  # logs

SET_FEATURES, LF_FEATURES = 37, 13


class Votes:
    """Rows of votes, and the two sums that a reading needs."""

    def __init__(self, rows: NDArray[np.integer], counts: NDArray[np.integer], k: int) -> None:
        self.rows, self.counts, self.k = rows, counts.astype(np.float64), k
        self.p, self.m = rows.shape
        voted = rows >= 0
        self.size = voted.sum(1)
        self.total = float(self.counts.sum())
        self.matrix: Floats | None = None
        if self.p * self.m * k <= DENSE_CELLS:
            self.matrix = np.zeros((self.p, self.m * k))
            row, lf = voted.nonzero()
            self.matrix[row, lf * k + rows[row, lf]] = 1
        else:
            row, lf = voted.nonzero()
            node = lf * k + rows[row, lf]
            order = np.argsort(node, kind="stable")
            self._row, self._node, self._row_by_node, self._node_by_node = row, node, row[order], node[order]
        self.cast = self.by_vote(self.counts[:, None])[:, 0]  # (m * k,) items with each vote

    def by_row(self, table: Floats) -> Floats:
        """What a table says about the votes of each row, added up. (m * k, c) -> (p, c)."""
        if self.matrix is not None:
            return self.matrix @ table
        columns = [np.bincount(self._row, column[self._node], self.p) for column in table.T]
        return np.stack(columns, 1)

    def by_vote(self, values: Floats) -> Floats:
        """Values of the rows that have each vote, added up. (p, c) -> (m * k, c)."""
        if self.matrix is not None:
            return self.matrix.T @ values
        n = self.m * self.k
        columns = [np.bincount(self._node_by_node, column[self._row_by_node], n) for column in values.T]
        return np.stack(columns, 1)


def find_spread(cast: Floats) -> Floats:
    """How far each LF votes for several classes, 0 to 1, from (m, k) how often it casts each vote. (m,)."""
    share = cast.max(1) / np.maximum(cast.sum(1), 1e-9)
    return np.clip((1 - share) / FULL_SPREAD, 0, 1)


def applies(cast: Floats, items: float, has_gold: bool) -> bool:
    """Whether there is a second reading, from (m, k) how often each LF casts each vote; hlm2 knows this after one pass.

    Not where LFs vote for one class each, nor where few votes per item are of rules of one class beside broader LFs (what
    hlm2 calls thin): agreement holds little there, and hlm2 has a rule for it.
    """
    m, k = cast.shape
    if k < 2 or m < 3:
        return False
    of_lf, spread = cast.sum(1), find_spread(cast)
    total = of_lf.sum()
    if m > MOST_LFS and not has_gold and (m > MOST_PAIRED or total < DENSE * m * items):
        return False
    if total < FEW_VOTES * items and (spread[of_lf > 0] < ONE_SIDED).any():
        return False
    return bool(spread @ of_lf >= LEAST_SPREAD * total)


# --- agreement of pairs -------------------------------------------------------------------------------------------------


class Pairs(NamedTuple):
    """How LFs agree in pairs.

    Attributes:
        lfs: (q,) the LFs that are compared.
        joint: (q, q) items on which both vote.
        agree: (q, q) share of these on which they agree, with one imagined item that agrees by chance.
        kappa: (q, q) agreement beyond chance, over the most that is possible.
        error: (q, q) its standard error.
        informed: (q, q) 1 minus agreement by chance; 0 where both vote for one class.
    """

    lfs: NDArray[np.intp]
    joint: Floats
    agree: Floats
    kappa: Floats
    error: Floats
    informed: Floats


def count_pairs(votes: Votes) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Sums over rows: the LFs that are compared, items on which two vote, and on which they agree."""
    lfs, matrix = np.arange(votes.m), votes.matrix
    if votes.m > MOST_PAIRED:
        of_lf = votes.cast.reshape(votes.m, -1).sum(1)
        lfs = np.sort(np.argsort(-of_lf, kind="stable")[:MOST_PAIRED])
    if matrix is not None and votes.m * votes.k <= 64 and len(lfs) == votes.m:  # one product is quicker than k + 1
        gram = (matrix.T @ (matrix * votes.counts[:, None])).reshape(votes.m, votes.k, votes.m, votes.k)
        return lfs, gram.sum((1, 3)), np.einsum("ivjv->ij", gram)
    rows, weight = votes.rows[:, lfs], np.sqrt(votes.counts)[:, None]
    voted = (rows >= 0) * weight
    joint, same = voted.T @ voted, np.zeros((len(lfs), len(lfs)))
    for v in range(votes.k):
        cast = (rows == v) * weight
        same += cast.T @ cast
    return lfs, joint, same


def compare_pairs(cast: Floats, lfs: NDArray[np.intp], joint: Floats, same: Floats) -> Pairs:
    """Agreement of pairs beyond chance, from their sums and (m, k) how often each LF casts each vote."""
    k = cast.shape[1]
    shares = (cast[lfs] + 1 / k) / (cast[lfs].sum(1, keepdims=True) + 1)
    informed = 1 - shares @ shares.T
    most = np.maximum(informed, LEAST_INFORMED)
    agree = (same + 1 - informed) / (joint + 1)
    error = np.sqrt(np.maximum(agree * (1 - agree), 0.01) / (joint + 1)) / most
    return Pairs(lfs, joint, agree, (agree - 1 + informed) / most, error, informed)


def fit_levels(pairs: Pairs) -> Floats:
    """A level for each LF, so that products of two explain kappas. (q,).

    Pairs that agree far more than the rest explains count less, and pairs that agree nearly always hardly count: whether
    they are both right or copies is for third parties to say. Levels below 0 are adversaries.
    """
    kappa, q = pairs.kappa, len(pairs.lfs)
    if q < 3:
        return np.full(q, PRIOR_LEVEL)
    certain = np.minimum(pairs.informed / (pairs.error**2 + 0.02**2), 1000.0)
    certain /= 1 + (np.maximum(kappa, 0) / ALIKE) ** 12
    certain.flat[:: q + 1] = 0
    level = np.sqrt(np.clip((certain * kappa).sum(1) / (certain.sum(1) + 1e-9), 0.02, 0.9))
    wide = 1 / (0.1 + 2 * pairs.error)
    for _ in range(LEVEL_ROUNDS):
        residual = (kappa - level[:, None] * level) * wide
        weight = certain / (1 + residual**2 * np.where(residual > 0, 3, 1))
        new = ((weight * kappa) @ level + LEVEL_PRIOR * PRIOR_LEVEL) / (weight @ (level**2) + LEVEL_PRIOR)
        level = 0.5 * level + 0.5 * np.clip(new, -0.97, 0.97)
    return level


def describe_pairs(pairs: Pairs, level: Floats, k: int, m: int, i: NDArray[np.intp], j: NDArray[np.intp]) -> Floats:
    """What tells copies from judges who are both right, for the pairs (i, j). (pairs, 11)."""
    kappa, q = pairs.kappa, len(pairs.lfs)
    middle = second = np.zeros(q)
    if q > 2:
        others = kappa.copy()
        others.flat[:: q + 1] = -2
        others.sort(1)
        middle = 0.5 * (others[:, 1 + (q - 2) // 2] + others[:, 1 + (q - 1) // 2])
        second = others[:, -2]
    explained = level[i] * level[j]
    residual = kappa[i, j] - explained
    columns = [
        kappa[i, j],
        explained,
        residual,
        np.clip(residual / (pairs.error[i, j] + 0.02), -10, 20) / 5,
        np.maximum(middle[i], middle[j]),
        np.minimum(middle[i], middle[j]),
        np.maximum(second[i], second[j]),
        pairs.informed[i, j],
        (np.log1p(pairs.joint[i, j]) - 5) / 3,
        np.full(len(i), math.log(k)),
        np.full(len(i), math.log(m) / 2),
    ]
    return np.stack(columns, 1)


def predict_dependence(pairs: Pairs, level: Floats, k: int, m: int, net: Net) -> Floats:
    """How far each two LFs agree beyond the truth, 0 to 1: 1 for exact copies. Learned. (q, q)."""
    q = len(pairs.lfs)
    i, j = np.triu_indices(q, 1)
    hidden = describe_pairs(pairs, level, k, m, i, j)
    for layer in ("pair0", "pair1"):
        hidden = silu(linear(net, layer, hidden))
    dependence = np.zeros((q, q))
    dependence[i, j] = dependence[j, i] = sigmoid(linear(net, "pair2", hidden))[:, 0]
    return dependence


def share_weight(pairs: Pairs, dependence: Floats, m: int) -> Floats:
    """What a vote counts if LFs that depend on each other share their weight. (m,).

    Only what is clearly dependence counts: a little of it everywhere is what a temperature is for, and would keep an EM
    from telling judges apart.
    """
    of_lf = np.maximum(pairs.joint.diagonal(), 1)
    clear = dependence * sigmoid((dependence - CLEAR) / CLEAR_WIDTH)
    weight = np.ones(m)
    weight[pairs.lfs] = 1 / (1 + (clear * pairs.joint / of_lf[:, None]).sum(1))
    return weight


# --- the EM ---------------------------------------------------------------------------------------------------------------


class Reading(NamedTuple):
    """What an EM found.

    Attributes:
        table: (m * k, k) evidence of votes: log-likelihoods times the LF's weight.
        bias: (k,) log shares of the classes.
        confusion: (m, k, k) chance of each vote by class.
        accuracy: (m,) of the LFs.
        counts: (m * k, k) items of each class, as believed, on which each vote is cast.
        steps: Passes over the rows.
    """

    table: Floats
    bias: Floats
    confusion: Floats
    accuracy: Floats
    counts: Floats
    steps: int


def first_table(level: Floats, weight: Floats, k: int) -> Floats:
    """Evidence of votes by the levels of LFs alone. (m * k, k)."""
    level = np.clip(level, -0.9 / (k - 1), 0.95)
    worth = weight * np.log((1 + (k - 1) * level) / (1 - level))
    return (worth[:, None, None] * np.eye(k)).reshape(-1, k)


def beliefs_of(votes: Votes, table: Floats, bias: Floats) -> Floats:
    """Beliefs about rows. (p, k)."""
    if votes.k == 2:  # only the difference matters
        lead = votes.by_row(table[:, :1] - table[:, 1:])[:, 0] + (bias[0] - bias[1])
        beliefs = np.empty((votes.p, 2))
        beliefs[:, 0] = sigmoid(lead)
        np.subtract(1, beliefs[:, 0], beliefs[:, 1])
        return beliefs
    return softmax(votes.by_row(table) + bias)


def em_sums(votes: Votes, table: Floats, bias: Floats, gold: NDArray[np.integer] | None) -> tuple[Floats, Floats]:
    """Sums over rows of one EM step: believed classes of the items with each vote, and of all. (m * k, k), (k,)."""
    items = beliefs_of(votes, table, bias)
    items *= votes.counts[:, None] if gold is None else (votes.counts - gold.sum(1))[:, None]
    if gold is not None:
        items += gold
    if votes.k == 2 and gold is None:
        first = votes.by_vote(items[:, :1])
        of_first = items[:, 0].sum()
        return np.concatenate([first, votes.cast[:, None] - first], 1), np.array([of_first, votes.total - of_first])
    return votes.by_vote(items), items.sum(0)


def confuse(counts: Floats, m: int, k: int, shrink: float = SHRINK, items: float = LEVEL_ITEMS) -> tuple[Floats, Floats]:
    """Confusions of LFs from (m * k, k) believed counts, shrunk to what their accuracy says. (m, k, k), (m,).

    What an LF gets wrong is expected to go to the classes that it votes for.
    """
    c = counts.reshape(m, k, k)
    of_class = c.sum(1)
    n = of_class.sum(1)
    prior = 1 / k + (1 - 1 / k) * PRIOR_LEVEL
    accuracy = (c.trace(axis1=1, axis2=2) + items * prior) / (n + items)
    expected = np.empty((m, k, k))
    if k == 2:
        expected[:] = (1 - accuracy)[:, None, None]
    else:
        share = (c.sum(2) + 1) / (n[:, None] + k)
        expected[:] = (1 - accuracy)[:, None, None] * (share[:, :, None] / (1 - share[:, None, :]))
    expected.reshape(m, -1)[:, :: k + 1] = accuracy[:, None]
    expected *= shrink
    expected += c
    expected /= (of_class + shrink)[:, None]
    return expected, accuracy


def run_em(votes: Votes, weight: Floats, level: Floats, gold: NDArray[np.integer] | None = None) -> Reading:
    """A shrunk EM from the levels of LFs to its end; after every third step it jumps ahead (squared extrapolation)."""
    m, k = votes.m, votes.k
    table, bias = first_table(level, weight, k), np.zeros(k)
    each, limit = weight[:, None, None], TOLERANCE * votes.cast.sum()
    before, past = None, []
    for step in range(1, MOST_STEPS + 1):
        counts, totals = em_sums(votes, table, bias, gold)
        confusion, accuracy = confuse(counts, m, k)
        bias = np.log((totals + BALANCE_ITEMS) / (totals.sum() + k * BALANCE_ITEMS))
        table = (each * np.log(confusion)).reshape(-1, k)
        if before is not None and np.abs(counts - before).sum() < limit:
            break
        before = counts
        past.append(np.concatenate([table.ravel(), bias]))
        if len(past) == 3 and step < MOST_STEPS - 1:
            first, second = past[1] - past[0], past[2] - past[1]
            bend = second - first
            ahead = min(math.sqrt((first @ first) / max(bend @ bend, 1e-12)), MOST_AHEAD)
            if ahead > 1:
                jumped = past[0] + 2 * ahead * first + ahead**2 * bend
                table, bias, before = np.minimum(jumped[:-k], 0).reshape(-1, k), jumped[-k:], None
            past = []
    return Reading(table, bias, confusion, accuracy, counts, step)


# --- gold -----------------------------------------------------------------------------------------------------------------


def read_gold(votes: Votes, gold: NDArray[np.integer], balance: Floats) -> tuple[Floats, Floats, float]:
    """What gold alone says: confusions of LFs on gold items, shrunk to their accuracy there.

    Only rows with gold matter. How well each gold item is predicted from the others is known at once: its own votes are
    taken out of the counts of its class.

    Returns:
        (m * k, k) evidence, (k,) bias, and the mean log-likelihood of gold items, with five imagined ones at 0.
    """
    m, k = votes.m, votes.k
    counts = votes.by_vote(gold.astype(np.float64))
    confusion, _ = confuse(counts, m, k, GOLD_SHRINK, GOLD_ITEMS)
    of_class = gold.sum(0) + GOLD_BALANCE * balance
    bias = np.log(of_class / of_class.sum())
    n = counts.reshape(m, k, k).sum(1)[:, None] + GOLD_SHRINK
    without = np.log(np.maximum(confusion * n - 1, 0.05) / np.maximum(n - 1, 1)).reshape(-1, k)
    table, rows = np.log(confusion).reshape(-1, k), np.flatnonzero(gold.any(1))
    logits, own = votes.by_row(table)[rows] + bias, votes.by_row(without)[rows] + bias
    top = logits.max(1, keepdims=True)
    odds = np.exp(logits - top)
    fit = own - top - np.log(odds.sum(1, keepdims=True) - odds + np.exp(own - top))
    known = gold[rows]
    return table - table.mean(1, keepdims=True), bias, float((known * np.maximum(fit, -4)).sum() / (known.sum() + 5))


# --- what the gate sees ---------------------------------------------------------------------------------------------------


class Hlm2(NamedTuple):
    """The evidence of hlm2: logits of a row are bias + scale * size ** power * (sum of the table over its votes)."""

    table: Floats  # (m * k, k)
    bias: Floats  # (k,)
    scale: float
    power: float
    vote_weight: float  # how much shares of votes count in probabilities


class Compared(NamedTuple):
    """Sums over items that compare the readings with each other, with majority vote, and with themselves."""

    shares: Floats  # (2, k) believed classes by EM, by hlm2
    confidence: Floats  # (2,)
    right: Floats  # (2,) votes that are right, as believed
    differ: Floats  # (3,) items on which EM and hlm2, EM and majority, hlm2 and majority differ
    agreed: Floats  # (2,) votes that agree with another vote on the item, and votes on such items
    spread: float  # variance of the EM's evidence within classes, over items
    counts2: Floats  # (m * k, k) like Reading.counts, by hlm2
    gold: Floats  # (3,) log-likelihood of gold items by EM, by hlm2, and how many more EM has right


def compare_readings(votes: Votes, em: Reading, evidence2: Hlm2, gold: NDArray[np.integer] | None) -> Compared:
    """One pass over the rows; the sums add up over chunks."""
    m, k, w = votes.m, votes.k, votes.counts
    size = np.maximum(votes.size, 1)
    of_class = em.counts.reshape(m, k, k)
    table = em.table.reshape(m, k, k)
    residual = table - ((of_class * table).sum(1) / np.maximum(of_class.sum(1), 1e-9))[:, None]
    own = np.tile(np.eye(k), (m, 1))
    all_sums = votes.by_row(np.concatenate([em.table, evidence2.table, own, residual.reshape(-1, k)], 1))
    logits, logits2, cast, residuals = (all_sums[:, i * k : (i + 1) * k] for i in range(4))
    beliefs = softmax(logits + em.bias)
    factor = evidence2.scale * size**evidence2.power
    beliefs2 = softmax(evidence2.bias + factor[:, None] * logits2)
    if evidence2.vote_weight:
        beliefs2 = (1 - evidence2.vote_weight) * beliefs2 + evidence2.vote_weight * cast / size[:, None]
    label, label2, rows = beliefs.argmax(1), beliefs2.argmax(1), np.arange(votes.p)
    majority = cast == cast.max(1, keepdims=True)  # of classes that tie, each has a part
    majority = majority / majority.sum(1, keepdims=True)
    several = w * (votes.size > 1)
    known = np.zeros(3)
    if gold is not None:
        log, log2 = np.log(np.maximum(beliefs, 1e-3)), np.log(np.maximum(beliefs2, 1e-3))
        known = np.array([(gold * log).sum(), (gold * log2).sum(), (gold[rows, label] - gold[rows, label2]).sum()])
    return Compared(
        shares=np.stack([w @ beliefs, w @ beliefs2]),
        confidence=np.array([w @ beliefs.max(1), w @ beliefs2.max(1)]),
        right=np.array([w @ (cast * beliefs).sum(1), w @ (cast * beliefs2).sum(1)]),
        differ=np.array([w @ (label != label2), w @ (1 - majority[rows, label]), w @ (1 - majority[rows, label2])]),
        agreed=np.array([several @ (((cast**2).sum(1) - size) / np.maximum(size - 1, 1)), several @ size]),
        spread=float(w @ (beliefs * residuals**2).sum(1)),
        counts2=votes.by_vote(beliefs2 * w[:, None]),
        gold=known,
    )


def level_of(accuracy: Floats, k: int) -> Floats:
    """From chance, 0, to perfect, 1."""
    return (accuracy - 1 / k) / (1 - 1 / k)


def _mean(values: Floats, weight: Floats) -> float:
    return float((values * weight).sum() / max(weight.sum(), 1e-9))


def describe(
    cast: Floats,
    items: float,
    pairs: Pairs,
    level: Floats,
    dependence: Floats,
    weight: Floats,
    em: Reading,
    seen: Compared,
    vote_weight: float,
    gold: tuple[Floats, float] | None,
) -> tuple[Floats, Floats]:
    """What the gate sees, all of the order of 1.

    Args:
        cast: (m, k) how often each LF casts each vote.
        items: Items with votes.
        gold: (m * k, k) gold counts of votes, and how well gold predicts itself; None without gold.

    Returns:
        (SET_FEATURES,) of the set, and (m, LF_FEATURES) of its LFs.
    """
    m, k = cast.shape
    lfs, q = pairs.lfs, len(pairs.lfs)
    of_lf = np.maximum(cast.sum(1), 1e-9)
    total = of_lf.sum()
    spread, by_votes = find_spread(cast), of_lf / total
    # Agreement of pairs beyond what the EM's confusions explain, against its noise.
    z = (em.confusion[lfs] * np.exp(0.5 * em.bias)).reshape(q, -1)
    expected = z @ z.T
    noise = np.maximum(expected * (1 - expected), 0.01) / (pairs.joint + 1)
    excess = pairs.agree - expected
    pair_weight = pairs.informed * pairs.joint / (pairs.joint + 20)
    pair_weight.flat[:: q + 1] = 0
    misfit = np.minimum(excess**2 / noise, 1e4)
    beyond = _mean(excess**2 - noise, pair_weight)
    mean_kappa = _mean(pairs.kappa, pair_weight)
    spread_kappa = math.sqrt(max(_mean((pairs.kappa - mean_kappa) ** 2, pair_weight), 0))
    own = pair_weight.sum(1) + 1e-9
    of_pairs = np.zeros((m, 4))
    of_pairs[lfs] = np.stack([(pair_weight * x).sum(1) / own for x in (excess, misfit, dependence, pairs.kappa)], 1)
    em_level = level_of(em.accuracy, k)
    right2 = seen.counts2.reshape(m, k, k).trace(axis1=1, axis2=2)
    level2 = level_of((right2 + 2 * 0.6) / (of_lf + 2), k)
    lf_level = np.full(m, np.median(level))
    lf_level[lfs] = level
    rank = np.sort(em_level)
    shares = seen.shares / items
    differ, confidence = seen.differ / items, seen.confidence / items
    residual = em.table.reshape(m, k, k)
    counts = em.counts.reshape(m, k, k)
    residual = residual - ((counts * residual).sum(1) / np.maximum(counts.sum(1), 1e-9))[:, None]
    design = math.log((seen.spread + 1) / (float((counts * residual**2).sum()) + 1))
    agreed = seen.agreed[0] / max(seen.agreed[1], 1e-9)
    of_set = [
        (math.log(items) - 6) / 2,
        (math.log(m) - 2.5) / 1.5,
        math.log(k) - 1,
        math.log(total / items) - 1,
        total / (items * m) - 0.5,
        float(spread @ by_votes) - 0.5,
        math.log1p(_mean(misfit, pair_weight)) - 1,
        10 * _mean(excess, pair_weight),
        20 * math.copysign(math.sqrt(abs(beyond)), beyond),
        math.log1p(float(misfit[pair_weight > 0].max(initial=0))) / 3 - 1,
        confidence[0] - 0.8,
        confidence[1] - 0.8,
        3 * _mean(em_level, np.sqrt(np.maximum(of_lf, 1))) - 1,
        3 * float(em_level.std()) - 0.5,
        rank[-1] - 0.7,
        rank[-2] - 0.6,
        rank[0],
        float(weight @ by_votes) - 0.9,
        4 * _mean(dependence, pair_weight) - 0.5,
        4 * differ[0] - 0.3,
        4 * differ[1] - 0.3,
        4 * differ[2] - 0.3,
        2 * float(np.abs(shares[0] - shares[1]).sum()) - 0.2,
        2 * float(np.abs(shares[0] - cast.sum(0) / total).sum()) - 0.2,
        (math.log1p(_mean(pairs.joint, pairs.informed)) - 5) / 2,
        design,
        2 * mean_kappa - 0.6,
        5 * spread_kappa - 0.5,
        float((rank < 0.02).mean()),
        10 * (seen.right[0] / total - agreed),
        10 * (seen.right[1] / total - agreed),
        2 * vote_weight,
    ]
    gold_votes, gold_level, of_gold = np.zeros(m), np.zeros(m), [0.0] * 5
    if gold is not None:
        gold_counts, fit = gold[0].reshape(m, k, k), gold[1]
        n = float(gold[2]) if len(gold) > 2 else 0.0
        per_item = seen.gold / (n + 5)
        of_gold = [
            math.log1p(n) / 2,
            3 * (per_item[0] - per_item[1]),
            2 * per_item[2],
            per_item[0] + 0.5,
            3 * (fit - per_item[1]),
        ]
        gold_votes = gold_counts.sum((1, 2))
        gold_right = gold_counts.trace(axis1=1, axis2=2)
        gold_level = level_of((gold_right + 2 * em.accuracy) / (gold_votes + 2), k) - em_level
    of_lfs = [
        spread - 0.5,
        (np.log(of_lf) - 5) / 2,
        of_lf / items - 0.5,
        weight - 0.9,
        2 * em_level - 0.8,
        2 * lf_level - 0.8,
        2 * level2 - 0.8,
        10 * of_pairs[:, 0],
        np.log1p(of_pairs[:, 1]) - 1,
        4 * of_pairs[:, 2] - 0.5,
        2 * of_pairs[:, 3] - 0.6,
        np.log1p(gold_votes) / 2,
        2 * gold_level,
    ]
    return np.clip(np.array(of_set + of_gold), -8, 8), np.clip(np.stack(of_lfs, 1), -8, 8)


# --- the choice -----------------------------------------------------------------------------------------------------------


class Experts(NamedTuple):
    """All readings of a set, and what the gate sees.

    Attributes:
        tables: (m * k, k) each: of hlm2, for rows of `reference` votes; of the EM; of gold, if there is some.
        biases: (k,) each.
        power: Of hlm2: how evidence changes with the number of votes.
        reference: The mean number of votes of an item.
        vote_weight: Of hlm2.
        of_set: Features.
        of_lf: Features.
        cast: (m,) votes of each LF.
    """

    tables: list[Floats]
    biases: list[Floats]
    power: float
    reference: float
    vote_weight: float
    of_set: Floats
    of_lf: Floats
    cast: Floats


def read_experts(votes: Votes, evidence2: Hlm2, net: Net, gold: NDArray[np.integer] | None = None) -> Experts:
    """All readings of a set, and what the gate sees."""
    m, k = votes.m, votes.k
    cast = votes.cast.reshape(m, k)
    pairs = compare_pairs(cast, *count_pairs(votes))
    level = fit_levels(pairs)
    dependence = predict_dependence(pairs, level, k, m, net)
    weight = share_weight(pairs, dependence, m)
    start = np.full(m, PRIOR_LEVEL)
    start[pairs.lfs] = level
    em = run_em(votes, weight, start, gold)
    seen = compare_readings(votes, em, evidence2, gold)
    reference = float(cast.sum() / votes.total)
    tables = [evidence2.scale * reference**evidence2.power * evidence2.table, em.table - em.table.mean(1, keepdims=True)]
    biases, known = [evidence2.bias, em.bias], None
    if gold is not None:
        table, bias, fit = read_gold(votes, gold, np.exp(em.bias))
        tables.append(table)
        biases.append(bias)
        known = votes.by_vote(gold.astype(np.float64)), fit, float(gold.sum())
    of_set, of_lf = describe(cast, votes.total, pairs, level, dependence, weight, em, seen, evidence2.vote_weight, known)
    return Experts(tables, biases, evidence2.power, reference, evidence2.vote_weight, of_set, of_lf, cast.sum(1))


class Mixed(NamedTuple):
    """The final evidence, in hlm2's form."""

    table: Floats  # (m * k, k)
    bias: Floats  # (k,)
    scale: float
    power: float
    vote_weight: float
    shares: Floats  # of hlm2, EM and gold, averaged over votes: for reports


def run_gate(net: Net, of_set: Floats, of_lf: Floats, cast: Floats) -> tuple[Floats, Floats]:
    """The learned choice: (m, 2) log-odds of EM over hlm2 and of gold over both, and (3,) log temperatures."""
    x = np.concatenate([of_lf, np.broadcast_to(of_set, (len(of_lf), len(of_set)))], 1)
    x = silu(linear(net, "gate.lf1", silu(linear(net, "gate.lf0", x))))
    pool = np.sqrt(cast)
    s = silu(linear(net, "gate.set0", np.concatenate([pool / pool.sum() @ x, of_set])))
    o = linear(net, "gate.set1", s)
    return linear(net, "gate.out", np.concatenate([x, np.broadcast_to(s, (len(x), len(s)))], 1)) + o[:2], o[2:]


def mix(ex: Experts, net: Net) -> Mixed:
    """One table of evidence from all readings.

    Shares a[j, e] of LF j, temperatures t[e]: table[j] = sum_e a[j, e] t[e] table_e[j]; the bias has the shares averaged over
    votes. The power of hlm2 keeps its share: evidence of a row of s votes is (s / reference) ** (share * power) times that.
    """
    k = len(ex.biases[0])
    logits, temperatures = run_gate(net, ex.of_set, ex.of_lf, ex.cast)
    g = np.clip(STRETCH * sigmoid(logits) - (STRETCH - 1) / 2, 0, 1)
    em, gold = g[:, 0], g[:, 1] if len(ex.tables) == 3 else np.zeros(len(g))
    a = np.stack([(1 - gold) * (1 - em), (1 - gold) * em, gold], 1)
    mean = ex.cast @ a / ex.cast.sum()
    heat = np.exp(np.clip(temperatures, LEAST_TEMPERATURE, MOST_TEMPERATURE))
    table = sum(((a[:, e] * heat[e]).repeat(k)[:, None] * each for e, each in enumerate(ex.tables)), np.zeros(1))
    bias = sum((mean[e] * heat[e] * each for e, each in enumerate(ex.biases)), np.zeros(1))
    power = mean[0] * ex.power
    return Mixed(table, bias, ex.reference**-power, power, mean[0] * ex.vote_weight, mean)


def judge(votes: Votes, mixed: Mixed) -> Floats:
    """Probabilities of rows, before gold is looked up. (p, k)."""
    size = np.maximum(votes.size, 1)
    logits = (mixed.scale * size**mixed.power)[:, None] * votes.by_row(mixed.table) + mixed.bias
    beliefs = softmax(logits)
    if mixed.vote_weight:
        beliefs *= 1 - mixed.vote_weight
        beliefs += mixed.vote_weight * votes.by_row(np.tile(np.eye(votes.k), (votes.m, 1))) / size[:, None]
    return beliefs


# --- a stated class balance -----------------------------------------------------------------------------------------------

BALANCE_ROUNDS = 10  # each a pass over the data


def balance_shift(logits, counts, stated, covered, trust, rounds=BALANCE_ROUNDS):
    """What a stated balance of all items adds to the logits of the covered ones. (k,).

    The balance of the covered items is only bounded by that of all: no class can have more covered items than items.
    Within that bound it is drawn from what the votes say to what is stated, by the trust in the statement.

    Args:
        logits: (p, k) of rows with votes.
        counts: (p,) their items.
        stated: (k,) balance of all items.
        covered: The share of all items that have votes.
        trust: 0 to 1.
    """
    stated = np.clip(stated, 1e-3, None)
    stated = stated / stated.sum()
    total = counts.sum()
    share = counts @ softmax(logits) / total
    target = np.exp((1 - trust) * np.log(np.maximum(share, 1e-6)) + trust * np.log(stated))
    target = target / target.sum()
    if trust > 0:
        most = stated / covered + (1 - trust) * 0.5
        for _ in range(5):
            target = np.minimum(target, most)
            target = target / target.sum()
    shift = np.zeros(len(stated))
    for _ in range(rounds):
        share = counts @ softmax(logits + shift) / total
        shift += np.log(target) - np.log(np.maximum(share, 1e-6))
    return shift


# --- small parts ----------------------------------------------------------------------------------------------------------


def linear(net: Net, name: str, x: Floats) -> Floats:
    """One layer. (..., d_in) -> (..., d_out)."""
    return x @ net[f"{name}.weight"].T + net[f"{name}.bias"]


def silu(x: Floats) -> Floats:
    return x * sigmoid(x)


def sigmoid(x: Floats) -> Floats:
    out = np.tanh(0.5 * x)
    out += 1
    out *= 0.5
    return out


def softmax(logits: Floats) -> Floats:
    out = logits - logits.max(1, keepdims=True)
    np.exp(out, out)
    out /= out.sum(1, keepdims=True)
    return out


# --- a temperature for sets of many LFs -------------------------------------------------------------------------------------

CALM_FEATURES = 9


def is_dense_panel(votes: Votes) -> bool:
    """Whether many LFs vote on most items for several classes: hlm2 alone reads it, but is too sure of itself."""
    cast = votes.cast.reshape(votes.m, votes.k)
    total = cast.sum()
    spread = find_spread(cast) @ cast.sum(1)
    return bool(votes.m > MOST_PAIRED and votes.k > 1 and total >= DENSE * votes.m * votes.total and spread >= 0.5 * total)


def describe_many(votes: Votes, evidence2: Hlm2) -> tuple[Floats, Floats]:
    """What the temperature of hlm2's probabilities depends on where there is no second reading. (CALM_FEATURES,), (p, k).

    One pass: sizes, density, spread, confidence, and how often votes are right as believed beside how often they agree.
    The second result are the logits.
    """
    m, k, w = votes.m, votes.k, votes.counts
    cast = votes.cast.reshape(m, k)
    size = np.maximum(votes.size, 1)
    sums = votes.by_row(np.concatenate([evidence2.table, np.tile(np.eye(k), (m, 1))], 1))
    logits = evidence2.bias + (evidence2.scale * size**evidence2.power)[:, None] * sums[:, :k]
    beliefs, shares = softmax(logits), sums[:, k:]
    total, several = cast.sum(), w * (votes.size > 1)
    agreed = several @ (((shares**2).sum(1) - size) / np.maximum(size - 1, 1)) / max(several @ size, 1e-9)
    features = [
        1.0,
        (math.log(votes.total) - 6) / 2,
        (math.log(m) - 4) / 1.5,
        math.log(k) - 1,
        math.log(total / votes.total) - 2,
        total / (votes.total * m) - 0.5,
        float(w @ beliefs.max(1) / votes.total) - 0.8,
        5 * (float(w @ (shares * beliefs).sum(1) / total) - agreed),
        float(find_spread(cast) @ cast.sum(1) / total) - 0.5,
    ]
    return np.array(features), logits
