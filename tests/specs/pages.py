"""The specification pages: where they are, the tables marked in them, and how a table is written.

A page quotes a table of the code between two markers, each on a line of its own:

    <!-- table:NAME -->
    ...
    <!-- end -->
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs" / "specs"

_MARKED = re.compile(r"^<!-- table:(?P<name>[\w-]+) -->\n(?P<table>.*?)^<!-- end -->$", re.DOTALL | re.MULTILINE)
_OPENED = re.compile(r"<!-- table:")


class BadMarkers(Exception):
    """A page opens a table that it does not close, or names the same table twice."""


def marked_tables(text: str) -> dict[str, str]:
    """Every marked table of a page, by name."""
    found = [(match["name"], match["table"].strip()) for match in _MARKED.finditer(text)]
    tables = dict(found)
    if len(tables) != len(found) or len(found) != len(_OPENED.findall(text)):
        raise BadMarkers(f"markers do not pair up one to one: {[name for name, _ in found]}")
    return tables


def read_page(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")


def page_names() -> list[str]:
    return sorted(path.name for path in PAGES.glob("*.md"))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table, one line a row, unpadded so that a changed cell changes one line."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_cell(value) for value in line) + " |" for line in lines)


def code(value: object) -> str:
    return f"`{value}`"


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|")


def complaint(page: str, name: str, expected: str, found: str | None) -> str | None:
    """What is wrong with the quoted table, with the right one ready to paste; None when nothing is."""
    if found == expected:
        return None
    trouble = "is missing" if found is None else "is not what the code says"
    return f"{page}: table {name} {trouble}; between its markers it should read:\n\n{expected}\n"
