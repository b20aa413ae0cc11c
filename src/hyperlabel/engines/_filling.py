"""Labels from votes and texts for rows that are streamed: a state is learned from some, and labels all of them.

Up to `MOST_TEACHERS` rows teach, all or a random sample: their texts are in memory. Then batch after batch is labeled
in the state, as tomorrow's rows would be.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from hyperlabel.classify import JointModel, TextItems, Vectors
from hyperlabel.data import Answers, OutputColumns
from hyperlabel.engines._packing import Encoder, RowKeys
from hyperlabel.models import LabelModel

MOST_TEACHERS = 200_000

_TICKET = "__ticket"


@dataclass(frozen=True)
class TextAnswerer:
    """Answers rows by their votes and texts."""

    joint: JointModel
    encoder: Encoder
    added: OutputColumns
    votes_only: bool

    def __call__(self, keys: RowKeys, texts: list[str | None]) -> Answers:
        """(n, g) keys, n texts -> n answers."""
        if not len(keys):
            return self.added.nothing
        items = read_items(self.joint.model, self.encoder, keys, self.joint.vectorizer.transform(texts, None))
        return self.added.answer(items.label(self.joint.logits(items), votes_only=self.votes_only))


def read_items(model: LabelModel, encoder: Encoder, keys: RowKeys, vectors: Vectors) -> TextItems:
    """Rows as items for `JointModel`."""
    patterns, gold = encoder.patterns(keys)
    return TextItems.of_patterns(model, patterns, None if gold is None else gold.astype(np.int64), vectors)


def learn(model: LabelModel, encoder: Encoder, rows: tuple[RowKeys, list[str | None]], embed: Any) -> JointModel:
    """Learn a state from some rows: their keys and texts."""
    keys, texts = rows
    return JointModel.fit(model, read_items(model, encoder, keys, Vectors.of(texts, None, embed)))[0]


def draw_rows(batches: Iterable[pl.DataFrame], most: int = MOST_TEACHERS) -> pl.DataFrame:
    """Return all rows of batches, or a random sample of the allowed size, in order.

    >>> draw_rows([pl.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [3]})])["a"].to_list()
    [1, 2, 3]
    """
    rng, kept = np.random.default_rng(0), None
    for batch in batches:
        drawn = batch.with_columns(pl.Series(_TICKET, rng.random(batch.height)))
        kept = drawn if kept is None else pl.concat([kept, drawn])
        if kept.height > 2 * most:
            kept = _lowest(kept, most)
    assert kept is not None  # even a frame without rows has a batch
    return _lowest(kept, most).drop(_TICKET)


def _lowest(rows: pl.DataFrame, most: int) -> pl.DataFrame:
    return rows.filter(pl.col(_TICKET).rank("ordinal") <= most)
