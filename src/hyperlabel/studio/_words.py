"""`WordIndex`: the rows that have each word, word by word or by prefix."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.lf import Texts

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WordIndex:
    """The rows of each distinct word, in lower case."""

    words: list[str]  # the w words, in alphabetical order
    starts: NDArray[np.int64]  # (w + 1,) where the rows of each word begin
    rows: Rows  # (t,) the rows, in order for each word
    n: int  # number of rows

    @classmethod
    def of(cls, texts: Any) -> "WordIndex":
        """Index a Polars series of texts."""
        import polars as pl

        wide = Texts(texts).wide
        ascii_words = texts.filter(~wide).str.to_lowercase().str.extract_all(r"\w+")  # Polars and `re` agree on these
        other_words = [re.findall(r"\w+", text.lower()) for text in texts.filter(wide)]
        plain = pl.DataFrame({"row": np.flatnonzero(~wide), "word": ascii_words})
        other = pl.DataFrame({"row": np.flatnonzero(wide), "word": other_words}, plain.schema)
        pairs = pl.concat([plain, other]).explode("word").drop_nulls()
        words = pairs["word"].unique().sort()
        number = pairs["word"].cast(pl.Enum(words)).to_physical().to_numpy().astype(np.int64)
        keys = np.unique(number * len(texts) + pairs["row"].to_numpy())
        starts = np.searchsorted(keys, np.arange(len(words) + 1) * len(texts))
        return cls(words.to_list(), starts, keys % max(len(texts), 1), len(texts))

    @cached_property
    def _number(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def rows_of(self, word: str) -> Rows:
        """Return the rows that have a word."""
        i = self._number.get(word.lower())
        return self.rows[:0] if i is None else self.rows[self.starts[i] : self.starts[i + 1]]

    def rows_of_stem(self, stem: str) -> Rows:
        """Return the rows that have a word with this prefix."""
        first = last = bisect_left(self.words, stem.lower())
        while last < len(self.words) and self.words[last].startswith(stem.lower()):
            last += 1
        return np.unique(self.rows[self.starts[first] : self.starts[last]])

    def rows_of_all(self, words: Sequence[str]) -> Rows:
        """Return the rows that have all of some words, in any order."""
        rows = self.rows_of(words[0])
        for word in words[1:]:
            rows = np.intersect1d(rows, self.rows_of(word), assume_unique=True)
        return rows

    def best_of_rows(self, worth: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the greatest worth among the words of each row, 0 for rows without words. (w,) -> (n,)."""
        best = np.zeros(self.n)
        np.maximum.at(best, self.rows, np.repeat(worth, np.diff(self.starts)))
        return best

    def count(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count the rows of a mask that have each word. (n,) -> (w,)."""
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask[self.rows])])
        return np.asarray(np.diff(sums[self.starts]))

    @cached_property
    def letters(self) -> NDArray[np.int64]:
        """Number of letters of each word. (w,)."""
        return np.array([len(word) for word in self.words], np.int64)
