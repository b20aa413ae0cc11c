"""The formats of tables: by the ending of a name, in upper or lower case, or by the first bytes."""

import codecs
from dataclasses import dataclass
from typing import Literal

Kind = Literal["csv", "json", "parquet", "arrow"]
Compression = Literal["gzip", "zstd"]

_ENDINGS: dict[str, tuple[Kind, str]] = {  # kind, and the usual separator of a csv
    ".csv": ("csv", ","),
    ".tsv": ("csv", "\t"),
    ".jsonl": ("json", ""),
    ".ndjson": ("json", ""),
    ".parquet": ("parquet", ""),
    ".pq": ("parquet", ""),
    ".arrow": ("arrow", ""),
    ".feather": ("arrow", ""),
    ".ipc": ("arrow", ""),
}
_COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}
_MAGIC: tuple[tuple[bytes, Kind], ...] = ((b"PAR1", "parquet"), (b"ARROW1", "arrow"), (b"\xff\xff\xff\xff", "arrow"))
_COMPRESSED: tuple[tuple[bytes, Compression], ...] = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))

ENDINGS = ", ".join([*_ENDINGS, *(text + packed for text in (".csv", ".tsv", ".jsonl") for packed in _COMPRESSIONS)])
"""The endings of tables, for messages."""

NAMES: dict[Kind, str] = {"csv": "csv", "json": "JSON lines", "parquet": "parquet", "arrow": "Arrow"}
"""The names of formats in messages."""


SCHEMA = "ARROW:schema"
"""The key of the Arrow schema in a parquet file; every writer writes its own."""


@dataclass(frozen=True)
class Format:
    r"""How a table is written.

    >>> Format.of_name("votes.TSV.gz")
    Format(kind='csv', separator='\t', compression='gzip')
    """

    kind: Kind  # what the table is
    separator: str = ""  # the separator of a csv: the usual one for its ending, or the one that was found
    compression: Compression | None = None  # the compression of a text format

    @classmethod
    def of_name(cls, name: str) -> "Format | None":
        """The format of a name's ending; None for other endings.

        >>> Format.of_name("votes.xlsx") is None
        True
        """
        lowered = name.lower()
        for packed, compression in _COMPRESSIONS.items():
            if lowered.endswith(packed):
                inner = cls.of_name(lowered.removesuffix(packed))
                text = inner is not None and inner.kind in ("csv", "json") and inner.compression is None
                return cls(inner.kind, inner.separator, compression) if inner is not None and text else None
        found = next((found for ending, found in _ENDINGS.items() if lowered.endswith(ending)), None)
        return None if found is None else cls(*found)

    @classmethod
    def of_content(cls, head: bytes) -> "Format":
        """The format that the first bytes show: parquet and Arrow by their marks, JSON lines by a brace, else csv.

        >>> Format.of_content(b'{"a": 1}').kind, Format.of_content(b"a;b").kind
        ('json', 'csv')
        """
        kind = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
        if kind is not None:
            return cls(kind)
        for mark in (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            head = head.removeprefix(mark)
        text = head.replace(b"\0", b"").lstrip()  # the ASCII in it, whatever its encoding
        return cls("json") if text.startswith(b"{") else cls("csv", ",")


def compression_of(head: bytes) -> Compression | None:
    """How bytes are compressed, by their mark.

    >>> compression_of(b"a,b") is None
    True
    """
    return next((compression for magic, compression in _COMPRESSED if head.startswith(magic)), None)
