"""What keys do while the studio is at work."""

import asyncio
from types import SimpleNamespace

import pytest

pytest.importorskip("nicegui")

from hyperlabel.studio.app.item_panel import ItemPanel


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
        give_gold=lambda item, label, picked: given.append((item, label)),
        next_items=lambda by, most: ["abcd"[len(given)]],
    )
    panel = ItemPanel.__new__(ItemPanel)
    panel.page = SimpleNamespace(project=project, hub=Hub(), rules=Rules())
    panel.item, panel.by, panel.past, panel.moving, panel.draw = "a", "useful", [], False, lambda: None
    return panel


def test_a_key_counts_as_soon_as_an_item_is_drawn():
    given = []

    async def press():
        panel = make_panel(given)
        for number in (0, 1, 0):
            asyncio.ensure_future(panel.give(number))  # noqa: RUF006
            await asyncio.sleep(0.01)
        return panel.item

    assert asyncio.run(press()) == "d"
    assert given == [("a", "ham"), ("b", "spam"), ("c", "ham")]
