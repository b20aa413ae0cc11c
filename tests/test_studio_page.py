"""Parts of the page without a browser: keys while the studio is busy, and marks of what LFs match."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

import hyperlabel as hl

pytest.importorskip("nicegui")

from hyperlabel.studio._app._format import find_hits
from hyperlabel.studio._app._item_panel import ItemPanel


class Rules:
    """Never finds its rules."""

    async def propose(self):
        await asyncio.Event().wait()


class Hub:
    async def ask(self, call):
        return call()

    async def change(self, call):
        return call()


def make_panel(given):
    """The panel without a page; `given` gets the gold."""
    state = SimpleNamespace(gold={})
    project = SimpleNamespace(
        classes=("ham", "spam"),
        state=state,
        data=SimpleNamespace(text=lambda row: "free money", row_of=dict.fromkeys("abcd", 0)),
        give_gold=lambda item, label: given.append((item, label)),
        next_items=lambda by, most: ["abcd"[len(given)]],
    )
    panel = ItemPanel.__new__(ItemPanel)
    panel.page = SimpleNamespace(project=project, hub=Hub(), rules=Rules())
    panel.item, panel.by, panel.past, panel.is_moving, panel.draw = "a", "useful", [], False, lambda: None
    return panel


def test_a_key_counts_as_soon_as_an_item_is_drawn():
    given = []

    async def press():
        panel = make_panel(given)
        for number in (0, 1, 0):
            shown, _ = panel.item, asyncio.ensure_future(panel.give(number))
            async with asyncio.timeout(30):
                while panel.item == shown:
                    await asyncio.sleep(0)
        return panel.item

    assert asyncio.run(press()) == "d"
    assert given == [("a", "ham"), ("b", "spam"), ("c", "ham")]


def test_matches_of_lfs_are_those_of_re_but_no_search_takes_forever():
    rng = np.random.default_rng(0)
    lfs = [hl.regex_lf(p, "x") for p in (r"a+b+", r"(ab?)+c*", r"\ba\w+ b?", r"(?i)B{2,}", r"x*y*")]
    for _ in range(200):
        pieces = ["".join(rng.choice(list("aabbcd AB\n.xy"), 3)) for _ in range(8)]
        spans = [match.span() for lf in lfs for match in lf.pattern.finditer("".join(pieces))]
        expected = [any(a < 3 * i + 3 and b > 3 * i and a < b for a, b in spans) for i in range(8)]
        assert find_hits(lfs, "text", pieces) == expected
    for text in ("a" * 60 + "b", "a" * 60 + "\u00e9", ""):
        assert find_hits([hl.regex_lf("(a+)+$", "x")], "text", [text]) == [False]
