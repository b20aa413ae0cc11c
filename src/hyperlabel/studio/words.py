"""Which rows have which words: one index of all texts, made once."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.lf.regex import Texts

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WordIndex:
    """The distinct words of each row, words in lower case."""

    words: list[str]  # the w words, in alphabetical order
    starts: NDArray[np.int64]  # (w + 1,) where the rows of each word begin
    rows: Rows  # (t,) the rows, in order for each word
    n: int  # number of rows

    @classmethod
    def of(cls, texts: Any) -> "WordIndex":
        r"""The index of a Polars series of texts.

        >>> import polars as pl
        >>> index = WordIndex.of(pl.Series(["Free money", "free!", "a song"]))
        >>> index.rows_of("free").tolist(), index.rows_of("gold").tolist()
        ([0, 1], [])
        """
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
    def number(self) -> dict[str, int]:
        """The number of each word."""
        return {word: i for i, word in enumerate(self.words)}

    def rows_of(self, word: str) -> Rows:
        """The rows that have a word."""
        i = self.number.get(word.lower())
        return self.rows[:0] if i is None else self.rows[self.starts[i] : self.starts[i + 1]]

    def rows_of_stem(self, stem: str) -> Rows:
        """The rows that have a word with this prefix."""
        first = bisect_left(self.words, stem.lower())
        last = first
        while last < len(self.words) and self.words[last].startswith(stem.lower()):
            last += 1
        return np.unique(self.rows[self.starts[first] : self.starts[last]])

    def rows_of_all(self, words: Sequence[str]) -> Rows:
        """The rows that have all of some words, in any order."""
        rows = self.rows_of(words[0])
        for word in words[1:]:
            rows = np.intersect1d(rows, self.rows_of(word), assume_unique=True)
        return rows

    def best_of_rows(self, worth: NDArray[np.float64]) -> NDArray[np.float64]:
        """The greatest worth among the words of each row, 0 for rows without words. (w,) -> (n,)."""
        best = np.zeros(self.n)
        np.maximum.at(best, self.rows, np.repeat(worth, np.diff(self.starts)))
        return best

    def count(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many rows of a mask have each word. (n,) -> (w,)."""
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask[self.rows])])
        counts: NDArray[np.int64] = sums[self.starts[1:]] - sums[self.starts[:-1]]
        return counts

    @cached_property
    def letters(self) -> NDArray[np.int64]:
        """The number of letters of each word. (w,)."""
        return np.array([len(word) for word in self.words], np.int64)
