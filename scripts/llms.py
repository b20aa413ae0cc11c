"""Writes docs/llms.txt, the list of pages for language models: python scripts/llms.py.

Each page is listed with its first heading and its first sentence, in the order of the site.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = re.compile(r"[\w/-]+\.md")
HEAD = """# hyperlabel

> Training labels from noisy votes of rules, people and language models, with texts and a few known labels.

Paths are relative to this file. [agents.md](agents.md) is a one-page guide for coding agents.

"""


def list_pages() -> list[str]:
    """The pages of the site, in the order of its navigation."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    return PAGE.findall(navigation)


def describe(page: str) -> str:
    """One line about a page: its heading, its path and its first sentence."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    body = text[heading.end() :] if heading else text
    paragraph = next((p for p in body.split("\n\n") if re.match(r"\s*[A-Z*`]", p)), "")
    plain = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", " ".join(paragraph.split())).replace("**", "")
    sentence = re.split(r"(?<=[.:?])\s", plain)[0]
    return f"- [{heading.group(1) if heading else page}]({page}): {sentence}".rstrip(": ")


def main() -> int:
    """Write the list."""
    lines = "\n".join(describe(page) for page in list_pages())
    (ROOT / "docs" / "llms.txt").write_text(HEAD + lines + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
