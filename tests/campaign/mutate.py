"""Damage: bytes changed, cut, repeated and spliced."""

from collections.abc import Callable

from tests.campaign.hostile import Rng

WORDS = (
    b"\0",
    b"\xff",
    b'"',
    b",",
    b"\n",
    b"\r",
    b"\r\n",
    b"\xef\xbb\xbf",
    b"nan",
    b"-1",
    b"1e400",
    b"99999999999999999999",
    b"{",
    b"[[[[",
    b"\\ud800",
    b"\xed\xa0\x80",
    b"null",
    b"PAR1",
    b"ARROW1",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\x93NUMPY",
    b"\x80\x04\x95",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\xff" * 8,
    b"\0" * 8,
    b"'|O'",
    b"'<i8'",
)


def flip(data: bytearray, rng: Rng, others: list[bytes]) -> None:
    data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))


def put(data: bytearray, rng: Rng, others: list[bytes]) -> None:
    word, place = WORDS[rng.integers(len(WORDS))], int(rng.integers(len(data)))
    data[place : place + len(word) * int(rng.integers(2))] = word


def cut(data: bytearray, rng: Rng, others: list[bytes]) -> None:
    place = int(rng.integers(len(data)))
    del data[place : place + int(rng.integers(1, 64))]


def truncate(data: bytearray, rng: Rng, others: list[bytes]) -> None:
    del data[int(rng.integers(len(data))) :]


def repeat(data: bytearray, rng: Rng, others: list[bytes]) -> None:
    place = int(rng.integers(len(data)))
    piece = bytes(data[place : place + int(rng.integers(1, 64))])
    data[place:place] = piece * int(rng.integers(1, 8))


def splice(data: bytearray, rng: Rng, others: list[bytes]) -> None:
    other = others[rng.integers(len(others))]
    start, place = int(rng.integers(len(other))), int(rng.integers(len(data)))
    piece = other[start : start + int(rng.integers(1, 256))]
    data[place : place + len(piece)] = piece


MUTATIONS: tuple[Callable[[bytearray, Rng, list[bytes]], None], ...] = (flip, flip, put, cut, truncate, repeat, splice)


def mutate(content: bytes, rng: Rng, others: list[bytes]) -> bytes:
    """A copy with one to four changes."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        if data:
            MUTATIONS[rng.integers(len(MUTATIONS))](data, rng, others)
    return bytes(data)
