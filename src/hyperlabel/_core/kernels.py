"""The hot loops: everything whose cost grows with items or votes, behind one small interface.

Grouping (`pack_rows`, `hash_rows`, `group_keys`) turns n items into p patterns; `VoteLayout` holds the votes of the
patterns in the order in which the network's row and column sums need no scatter. All are plain NumPy: a fixed number of
calls, on chunks that stay in the cache where items or votes are many.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer]
Keys = NDArray[np.uint64]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Floats = NDArray[np.floating]
Real = TypeVar("Real", bound=np.floating)

_CHUNK_KEYS = 1 << 16  # keys looked up at a time: they and their slots stay in the cache
_FEW_ADDRESSES = 1 << 12  # clearing a table of this many slots costs less than a few rounds of hashing
_BLOCK_PRODUCT = 1 << 17  # multiplications of a matrix product; BLAS starts threads above about twice this
_BLOCK_CELLS = 1 << 15  # numbers of a block that several operations in a row find in the cache
_MANY_CLASSES = 32  # from this many on, NumPy reduces rows fast enough
_FEW_ROWS = 256  # up to here one operation on all columns is quicker than one on each
_FEW_TERMS = 128  # of a sum in float32, so that it is right to about 1e-6
_HASH_SEEDS = 1 << 24
_LARGEST_EXPONENT = 700.0  # of e, in float64
_EXACT = 1 << 24  # integers below this are exact in float32
_MULTIPLIER = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio, odd


def key_space(m: int, k: int) -> int:
    """Number of possible vote rows of m LFs and k classes, or any number above 2^64, more than keys can tell."""
    return int((k + 1) ** min(m, 65))


def pack_rows(cells: Ints, k: int) -> Keys:
    """Dense vote rows as numbers in base k + 1, exact sums in float32: equal keys are equal rows. (n, m) -> (n,)."""
    digits = most_digits(k, _EXACT)
    keys, base = np.empty(len(cells), np.uint64), np.uint64(k + 1) ** np.uint64(digits)
    for block, sums in pack_digits(cells, k, digits):
        parts = sums.astype(np.uint64)
        joined = parts[:, -1]
        for part in range(parts.shape[1] - 2, -1, -1):
            joined = joined * base + parts[:, part]
        keys[block] = joined
    return keys


def most_digits(k: int, limit: int) -> int:
    """Return the number of digits of base k + 1 in numbers up to the limit; at least one."""
    return max(1, int(math.log(limit) / math.log(k + 1)))


def pack_digits(cells: Ints, k: int, digits: int) -> Iterator[tuple[slice, Float32]]:
    """`digits` columns at a time as numbers in base k + 1, lowest first, block by block; abstaining is the digit 0.

    (n, m) -> rows, (rows, m / digits).
    """
    n, m = cells.shape
    weights, zeros = _digit_weights(m, k, digits)
    step = max(1, _BLOCK_PRODUCT // weights.size)
    for start in range(0, n, step):
        block = slice(start, min(start + step, n))
        yield block, quiet_product(cells[block].astype(np.float32), weights) + zeros


@lru_cache(maxsize=16)
def _digit_weights(m: int, k: int, digits: int) -> tuple[Float32, Float32]:
    """Return the factors of the digits of each number, and their sums. (m, m / digits), (m / digits,)."""
    parts = range(0, m, digits)
    weights = np.zeros((m, len(parts)), np.float32)
    for part, start in enumerate(parts):
        width = min(digits, m - start)
        weights[start : start + width, part] = float(k + 1) ** np.arange(width)
    return weights, weights.sum(0)


@np.errstate(all="ignore")
def quiet_product(values: Float32, matrix: Float32) -> Float32:
    """A matrix product without the warnings of what BLAS finds beside small arrays, where it may read. -> (r, d)."""
    product: Float32 = values.dot(matrix)
    return product


def multiply(values: Float32, matrix: Float32) -> Float32:
    """`values @ matrix.T` in blocks that stay in the cache and below the size at which BLAS starts threads.

    Threads gain little on such narrow products, and cost ten times as much where other work keeps the cores busy.
    (r, d_in), (d_out, d_in) -> (r, d_out).
    """
    product: Float32
    block = max(1, _BLOCK_PRODUCT // matrix.size)
    if len(values) < block:
        product = values.dot(matrix.T)  # quicker on few rows than `@`
        return product
    d_out, d_in = matrix.shape
    if d_in == 1:
        return values * matrix[:, 0]
    whole = len(values) // block * block
    product = np.empty((len(values), d_out), np.float32)
    np.matmul(values[:whole].reshape(-1, block, d_in), matrix.T, out=product[:whole].reshape(-1, block, d_out))
    np.matmul(values[whole:], matrix.T, out=product[whole:])
    return product


def row_blocks(rows: int, width: int) -> list[slice]:
    """The rows of an array of this width, block by block, so that a block stays in the cache."""
    step = max(1, _BLOCK_CELLS // max(width, 1))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def softmax(logits: NDArray[Real], out: NDArray[Real] | None = None) -> NDArray[Real]:
    """Normalize log-probabilities by rows, into `out` if given, which may be the logits. (r, k) -> (r, k)."""
    shares = np.empty_like(logits) if out is None else out
    for block in row_blocks(*logits.shape):
        if logits.shape[1] == 2:
            lead = logits[block, 0] - logits[block, 1]
            softmax_of_two(lead, shares[block])
            shares[block, 1][lead > _LARGEST_EXPONENT] = 0  # as with more classes: what is ruled out stays so
            continue
        part = np.subtract(logits[block], over_classes(np.maximum, logits[block])[:, None], out=shares[block])
        np.exp(part, out=part)
        part /= over_classes(np.add, part)[:, None]
    return shares


def raise_to(probabilities: Float64, power: float, least: float) -> Float64:
    """Probabilities to a power, normalized; those below `least` count as that. (r, k) -> (r, k)."""
    logs = power * np.log(np.maximum(probabilities, least))
    raised = np.exp(logs - logs.max(1, keepdims=True))
    normalized: Float64 = raised / raised.sum(1, keepdims=True)
    return normalized


def softmax_of_two(lead: Floats, out: Floats) -> None:
    """Probabilities of two classes, from the log-odds of the first, with one exponential per row. (r,) -> (r, 2)."""
    odds = np.exp(np.minimum(lead, _LARGEST_EXPONENT))
    second = np.divide(1, 1 + odds, out=out[:, 1])
    np.multiply(odds, second, out=out[:, 0])


def over_classes(reduce_two: np.ufunc, values: NDArray[Real]) -> NDArray[Real]:
    """A reduction over the classes: one by one where they are few, up to forty times as fast. (r, k) -> (r,)."""
    if values.shape[1] > _MANY_CLASSES:
        return np.asarray(reduce_two.reduce(values, axis=1))
    return reduce(reduce_two, values.T)


def scale_rows(values: Floats, factors: Float64) -> None:
    """Multiply each row by its factor, in place: column by column where they are few and long. (r, c), (r,)."""
    factors = factors.astype(values.dtype, copy=False)
    if values.shape[1] > _MANY_CLASSES or len(values) < _FEW_ROWS:
        values *= factors[:, None]
        return
    for column in values.T:
        column *= factors


def sigmoid(values: Float64) -> Float64:
    """1 / (1 + exp(-x)), without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * values))


def gather_blocks(values: NDArray[Real], index: Ints, starts: Ints) -> Iterator[tuple[slice, NDArray[Real]]]:
    """Sums of gathered rows over non-empty segments, `values[index[starts[s]:starts[s + 1]]]` each.

    The sums come block by block, so that what is done to them next finds them in the cache, and the gathered rows are
    never all in memory. (x, c), (e,), (segments + 1,) -> segments, (segments, c).
    """
    segments, columns = len(starts) - 1, values.shape[1]
    if 0 < len(index) * columns <= _BLOCK_CELLS:
        yield slice(0, segments), np.add.reduceat(values.take(index, axis=0), starts[:-1])
        return
    width = 2 * columns if columns > _MANY_CLASSES else columns * (len(index) // max(segments, 1) + 1)
    for block in row_blocks(segments, width):
        bounds = starts[block.start : block.stop + 1]
        yield block, _gather_block(values, index[bounds[0] : bounds[-1]], bounds - bounds[0])


def _gather_block(values: NDArray[Real], index: Ints, starts: Ints) -> NDArray[Real]:
    columns, sizes = values.shape[1], starts[1:] - starts[:-1]
    if columns <= _MANY_CLASSES:
        return np.add.reduceat(values.take(index, axis=0), starts[:-1])
    sums, bounds = np.empty((len(sizes), columns), values.dtype), starts.tolist()
    if (sizes == sizes[0]).all():
        np.add.reduce(values.take(index, axis=0).reshape(len(sizes), -1, columns), axis=1, out=sums)
        return sums
    for segment, (start, end) in enumerate(zip(bounds, bounds[1:], strict=False)):
        np.add.reduce(values.take(index[start:end], axis=0), axis=0, out=sums[segment])
    return sums


def gather_sums(values: Floats, index: Ints, starts: Ints) -> Float64:
    """The blocks of `gather_blocks` as one array; few numbers in a row are added in float32. -> (segments, c)."""
    pieces = starts if values.dtype == np.float64 else _cut_segments(starts, _FEW_TERMS)
    sums = np.empty((len(pieces) - 1, values.shape[1]))
    for block, part in gather_blocks(values, index, pieces):
        sums[block] = part
    if len(pieces) == len(starts):
        return sums
    return np.add.reduceat(sums, np.searchsorted(pieces, starts[:-1]))


def _cut_segments(starts: Ints, most: int) -> Ints:
    """Return the starts of segments, and of pieces of those longer than `most`, and the end of the last."""
    if np.diff(starts).max(initial=0) <= most:
        return starts
    cuts = [np.arange(start, end, most) for start, end in zip(starts[:-1], starts[1:], strict=True)]
    return np.append(np.concatenate(cuts), starts[-1])


def find_first(numbers: Ints) -> NDArray[np.bool_]:
    """Return whether numbers differ from the one before: runs of equal ones begin there. (p,) -> (p,)."""
    first = np.ones(len(numbers), bool)
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    return first


def hash_rows(starts: Ints, lf: Ints, vote: Ints, k: int, seed: int) -> Keys:
    """A 64-bit hash of each sparse vote row: the wrapping sum of a hash of each (LF, vote).

    Two different rows collide with probability 2^-64; callers verify. Seeds of any size are taken modulo 2^24:
    they take the bits above the votes. (p + 1,), (e,), (e,) -> (p,).
    """
    numbers, above = lf * k + vote, np.uint64((seed + 1) % _HASH_SEEDS << 40)
    top = int(numbers.max(initial=0)) + 1
    if top < len(numbers):
        terms = mix_bits(np.arange(top, dtype=np.uint64) + above).take(numbers)
    else:
        terms = mix_bits(numbers.astype(np.uint64) + above)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
    hashes: Keys = sums[starts[1:]] - sums[starts[:-1]]
    return hashes


def mix_bits(numbers: Keys) -> Keys:
    """Numbers whose every bit depends on every bit of the input (the finalizer of splitmix64)."""
    mixed = numbers * np.uint64(_MULTIPLIER)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@dataclass(frozen=True)
class KeyGroups:
    """Groups of equal keys."""

    example: Ints  # (p,) the index of one row of each group
    inverse: Ints  # (n,) the group of each row
    counts: Ints  # (p,) the number of rows of each group


def group_keys(keys: Keys, space: int) -> KeyGroups:
    """Group equal keys, the groups in the order of the keys: what is summed over groups is the same however keys come.

    By address where the space is small; by a table of the keys of the first chunk if these repeat; else by sorting.
    """
    if space <= max(8 * len(keys), _FEW_ADDRESSES):
        return _group_by_address(keys.astype(np.intp), space)
    if len(keys) <= _CHUNK_KEYS:
        return _group_by_sorting(keys)
    sample, counts = np.unique(keys[:_CHUNK_KEYS], return_counts=True)
    if 2 * len(sample) > _CHUNK_KEYS:
        return _group_by_sorting(keys)
    return _group_by_table(keys, sample[np.argsort(counts)])


def _group_by_address(keys: NDArray[np.intp], space: int) -> KeyGroups:
    counts = np.bincount(keys, minlength=space)
    present = np.flatnonzero(counts)
    number = np.empty(space, np.int32)
    number[present] = np.arange(len(present))
    example = np.empty(space, np.intp)
    example[keys] = np.arange(len(keys))
    return KeyGroups(example[present], number[keys], counts[present])


def _group_by_sorting(keys: Keys) -> KeyGroups:
    order = np.argsort(keys)
    first = find_first(keys[order])
    starts = np.flatnonzero(first)
    inverse = np.empty(len(keys), np.int32)
    inverse[order] = np.cumsum(first, dtype=np.int32) - 1
    return KeyGroups(order[starts], inverse, np.diff(starts, append=len(keys)))


def _group_by_table(keys: Keys, frequent: Keys) -> KeyGroups:
    """Look keys up in a table with one slot for each frequent key, the most frequent last; sort the others."""
    bits = (16 * len(frequent)).bit_length()

    def slots(some: Keys) -> NDArray[np.intp]:
        return ((some * np.uint64(_MULTIPLIER)) >> np.uint64(64 - bits)).astype(np.intp)

    owner, inverse = np.zeros(1 << bits, np.int32), np.empty(len(keys), np.int32)
    owner[slots(frequent)] = np.arange(len(frequent))  # of several keys, the last stays
    for start in range(0, len(keys), _CHUNK_KEYS):
        chunk = keys[start : start + _CHUNK_KEYS]
        number = owner.take(slots(chunk))
        inverse[start : start + _CHUNK_KEYS] = np.where(frequent.take(number) == chunk, number, -1)
    rest = np.flatnonzero(inverse < 0)
    others = _group_by_sorting(keys[rest])
    inverse[rest] = others.inverse + len(frequent)
    in_order = _group_by_sorting(np.concatenate([frequent, keys[rest[others.example]]])).inverse.take(inverse)
    counts = np.bincount(in_order)
    example = np.empty(len(counts), np.intp)
    example[in_order] = np.arange(len(keys))
    return KeyGroups(example, in_order, counts)


class VoteLayout:
    """Votes of the patterns in jagged-diagonal order: sums over rows and columns without scatter.

    Rows are sorted by their number of votes, longest first; then come the first votes of all rows, the second votes of
    all rows that have one, and so on. The s-th votes belong to a prefix of the rows, so adding a value per row, or
    summing a row, works on whole slices; runs of slices of equal length are one block. For sums over columns the votes
    are gathered by column into small blocks of equal length, each reduced by one product with the weights of its votes.

    Made of sparse rows (p + 1,), (e,), (e,), and (p,) how often each row occurs.

    Attributes:
        row_order: (p,) the row at each position.
        votes_per_row: (p,) by position, at least 1 because it is divided by.
        lf: (e,) the column of each vote; LFs that never vote are left out.
        vote: (e,) the class of each vote.
        weight: (e,) how often the vote's row occurs.
        n_columns: LFs that vote.
        votes_per_column: (n_columns,) counting repeated rows.
        n_votes: All votes, counting repeated rows; at least 1 because it is divided by.
    """

    def __init__(self, starts: Ints, lf: Ints, vote: Ints, counts: Ints) -> None:
        sizes = np.diff(starts)
        self.row_order = stable_order(sizes.max(initial=0) - sizes)
        position = np.empty(len(sizes), np.intp)
        position[self.row_order] = np.arange(len(sizes))
        rows = np.repeat(np.arange(len(sizes)), sizes)
        slot = np.arange(len(lf)) - starts[rows]
        lengths = np.bincount(slot, minlength=1)  # votes in each slot, never increasing
        begins = np.cumsum(lengths) - lengths
        order = np.empty(len(lf), np.intp)
        order[begins[slot] + position[rows]] = np.arange(len(lf))
        self.votes_per_row = np.maximum(sizes[self.row_order], 1).astype(np.float32)
        present = np.bincount(lf) > 0
        self.lf, self.n_columns = (np.cumsum(present) - 1)[lf[order]], int(present.sum())
        self.vote = vote[order]
        self.weight = counts[rows[order]].astype(np.float32)
        self._blocks = list(_runs(lengths))
        self._plan_columns()

    def _plan_columns(self) -> None:
        """Pad each column's votes to whole blocks; padding has weight 0."""
        sizes = np.bincount(self.lf, minlength=self.n_columns)
        self.votes_per_column = np.bincount(self.lf, self.weight, self.n_columns).astype(np.float32)
        self.n_votes = np.maximum(self.votes_per_column.sum(), np.float32(1))
        block = 1 << int(np.clip(np.log2(max(1.0, sizes.mean())) if len(sizes) else 0, 0, 5))
        padded = -(-sizes // block) * block
        index = np.zeros(padded.sum(), np.intp)
        weight = np.zeros(len(index), np.float32)
        by_column = stable_order(self.lf)
        shift = np.repeat(np.cumsum(padded) - padded - (np.cumsum(sizes) - sizes), sizes)
        index[np.arange(len(by_column)) + shift] = by_column
        weight[np.arange(len(by_column)) + shift] = self.weight[by_column]
        self._gather, self._gather_weight = index, weight.reshape(len(weight) // block, 1, block)
        self._column_starts = (np.cumsum(padded) - padded) // block

    def add_rows(self, cells: Float32, values: Float32) -> None:
        """Add to each vote the value of its row, in place. (e, w), (p, w)."""
        for start, slots, length in self._blocks:
            block = cells[start : start + slots * length].reshape(slots, length, cells.shape[1])
            block += values[:length]

    def sum_rows(self, cells: Float32) -> Float32:
        """Sum of each row's votes. (e, w) -> (p, w)."""
        sums = np.zeros((len(self.row_order), cells.shape[1]), np.float32)
        for start, slots, length in self._blocks:
            block = cells[start : start + slots * length].reshape(slots, length, cells.shape[1])
            sums[:length] += block.sum(0) if slots > 1 else block[0]
        return sums

    def add_columns(self, cells: Float32, values: Float32) -> None:
        """Add to each vote the value of its column, in place. (e, w), (n_columns, w)."""
        cells += values.take(self.lf, axis=0, mode="clip")

    def sum_columns(self, cells: Float32) -> Float32:
        """Sum of each column's votes, weighted by how often their rows occur. (e, w) -> (n_columns, w)."""
        gathered = cells.take(self._gather, axis=0, mode="clip")
        blocks, _, size = self._gather_weight.shape
        sums: Float32 = (self._gather_weight @ gathered.reshape(blocks, size, cells.shape[1]))[:, 0]
        if len(self._column_starts) == len(sums):
            return sums
        return np.add.reduceat(sums, self._column_starts, axis=0)


def stable_order(numbers: Ints) -> NDArray[np.intp]:
    """A stable argsort of small numbers; 16-bit ones are sorted by radix, in linear time."""
    small = len(numbers) and numbers.max() < 1 << 16
    return np.argsort(numbers.astype(np.uint16) if small else numbers, kind="stable")


def _runs(lengths: Ints) -> Iterator[tuple[int, int, int]]:
    """Runs of equal slots: (first vote, number of slots, votes in each)."""
    change = np.flatnonzero(find_first(lengths))
    slots = np.diff(change, append=len(lengths))
    start = 0
    for first, count in zip(change.tolist(), slots.tolist(), strict=True):
        length = int(lengths[first])
        if length:
            yield start, count, length
        start += count * length


class Adam:
    """Adam (D. P. Kingma and J. Ba, 2015) over named arrays, which it changes in place.

    >>> values = np.array([1.0])
    >>> Adam({"x": values}).step({"x": np.array([3.0])}, rate=0.1)
    >>> values.round(3).tolist()
    [0.9]
    """

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._arrays, self._steps = arrays, 0
        self._moments: dict[str, tuple[Any, Any]] = {name: (0.0, 0.0) for name in arrays}

    def step(self, gradients: dict[str, NDArray[Any]], rate: float) -> None:
        """Take one step against the gradients."""
        self._steps += 1
        for name, gradient in gradients.items():
            mean, square = self._moments[name]
            mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
            self._moments[name] = mean, square
            deviation = np.sqrt(square / (1 - 0.999**self._steps)) + 1e-8
            self._arrays[name] -= rate * mean / (1 - 0.9**self._steps) / deviation
