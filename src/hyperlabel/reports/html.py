"""HTML that is escaped by construction: every text is escaped unless `tag` made it, and no text can run."""

from html import escape

from hyperlabel.shown import printable_lines


class Html(str):
    """Text that is already HTML."""

    __slots__ = ()


def tag(name: str, *children: object, **attributes: object) -> Html:
    """An element; children and attributes that are not `Html` are escaped, those that are None are left out.

    The attribute `class_` is class, and `_` in other names is `-`.

    >>> tag("td", "<b>x</b>", class_="name", title='"')
    '<td class="name" title="&quot;">&lt;b&gt;x&lt;/b&gt;</td>'
    """
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    opening = "".join(f' {key}="{escape(printable_lines(value))}"' for key, value in pairs)
    return Html(f"<{name}{opening}>{join(*children)}</{name}>")


def join(*children: object) -> Html:
    """Children one after another, escaped unless they are `Html`; None is left out.

    >>> join("a < b", tag("br"), None)
    'a &lt; b<br></br>'
    """
    return Html("".join(c if isinstance(c, Html) else escape(printable_lines(c)) for c in children if c is not None))


def shorten(text: str, most: int) -> str:
    """A text cut to at most this many characters.

    >>> shorten("labeling", 6)
    'label…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"
