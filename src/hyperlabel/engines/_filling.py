"""Labels from texts for rows that are streamed: a classifier learns from some of them, and labels batch by batch.

Rows come with the columns that labeling adds. Rows with a label teach: all of them if there are at most
`MOST_TEACHERS`, for the same labels as `hyperlabel.classify.fill_labels` in memory; else a random sample.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from hyperlabel.classify import TEXT, BaseClassifier, Classifier, teach
from hyperlabel.data import Labels, OutputColumns

MOST_TEACHERS = 200_000
"""Rows that a classifier learns from: their texts are in memory."""

_TICKET = "__ticket"


@dataclass(frozen=True, eq=False)
class Filler:
    """Labels rows without votes by their texts."""

    text: str  # the column of texts
    added: OutputColumns  # the columns that labeling has added, including the source and the probabilities
    classifier: BaseClassifier

    @classmethod
    def learn(cls, frame: pl.LazyFrame, text: str, added: OutputColumns) -> "Filler":
        """Return a filler whose classifier has learned from labeled rows."""
        filler = cls(text, added, Classifier())
        index_of = frame.collect_schema().names().index
        kept = [pl.nth(index_of(name)) for name in (text, "label", *added.names[3:])]
        batches = frame.select(kept).collect_batches(maintain_order=True)
        rows = draw_rows(batch.filter(filler.has_text(batch) & batch["label"].is_not_null()) for batch in batches)
        shares = rows[added.names[3:]].to_numpy()
        teach(filler.classifier, filler.texts(rows), Labels(shares.argmax(1), shares, added.classes), TEXT)
        return filler

    def texts(self, rows: pl.DataFrame) -> list[str]:
        """Return the texts of rows that have one."""
        return rows[self.text].cast(pl.String).to_list()

    def has_text(self, rows: pl.DataFrame) -> pl.Series:
        """Return whether rows have a text that is not blank."""
        return (rows[self.text].cast(pl.String).str.strip_chars() != "").fill_null(value=False)

    def fill(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Label the rows without votes, batch by batch when the frame is collected or written."""
        return frame.map_batches(self.fill_batch, schema=frame.collect_schema(), streamable=True)

    def fill_batch(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Label the rows without votes in one batch."""
        own, names = rows[self.added.names], self.added.names
        empty = (rows["label_source"].is_null() & self.has_text(rows)).arg_true().to_numpy()
        shares = self.classifier.predict_proba(self.texts(rows[empty]))
        source = np.full(len(empty), TEXT, object)
        labels = Labels(shares.argmax(1), shares, self.added.classes, source=source)
        index = np.arange(rows.height)
        index[empty] = rows.height + np.arange(len(empty))
        filled = pl.concat([own, self.added.to_polars(self.added.answer(labels))])[index]
        sources = filled["label_source"].set(filled["label"].is_null(), None)  # an item that is still tied has no label
        return rows.with_columns(*(sources if name == "label_source" else filled[name] for name in names))


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
