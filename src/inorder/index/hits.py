"""What a search finds, and the conditions that it must meet."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from .rows import CODE

MODES = ("auto", "hybrid", "lexical", "dense")
HIT_COLUMNS = (
    "chunk_id, item_id, location(files.kind, item_id, path), files.kind, language, chunks.kind, chunks.name, "
    'chunks.context, start, "end", number, pages, chunks.text'
)
"""The first fields of a hit in SQL, over `chunks` and `files`."""


class Filters(NamedTuple):
    """Conditions that a chunk must meet."""

    path: str = ""
    """A glob over paths as answers show them, or over item ids."""
    language: str = ""
    kind: str = ""
    """Kind of the chunk: function, class, section..."""
    only: str = ""
    """`code` or `document`."""
    copied: str = ""
    """The item ids of documents that have a copy with such a path, as JSON; empty: there are none."""

    def sql(self) -> tuple[str, list[str]]:
        """The conditions in SQL, and the values of their placeholders."""
        path = "item_id GLOB ? OR location(files.kind, item_id, path) GLOB ?"
        copied = " OR item_id IN (SELECT value FROM json_each(?))" if self.copied else ""
        conditions = (
            (f"({path}{copied})", [self.path] * 2 + [self.copied] * bool(self.copied)),
            ("language = ?", [self.language]),
            ("chunks.kind = ?", [self.kind]),
            ("files.kind = ?", [self.only]),
        )
        active = [(condition, values) for condition, values in conditions if values[0]]
        sql = "".join(f" AND {condition}" for condition, _ in active)
        return sql, [value for _, values in active for value in values]


class Hit(msgspec.Struct, kw_only=True):
    """A chunk that matches, and why.

    >>> import inorder
    >>> def cite(hit: inorder.Hit) -> str:
    ...     return f"{hit.path}:{hit.start} {hit.score:.2f}"
    """

    chunk_id: str
    item_id: str
    path: str
    """As seen from the current folder."""
    file_kind: str
    """`code` or `document`."""
    language: str
    kind: str
    name: str
    context: str
    start: int
    end: int
    number: int
    pages: list[int]
    """The pages of a document that the chunk is on."""
    text: str
    score: float = 0.0
    ranks: dict[str, int] = {}
    """Its rank in each list, from 1."""
    shares: dict[str, float] = {}
    """What each list contributes to the score, and what the adjustment of code does."""
    reasons: list[str] = []
    """Why the score of a chunk of code was adjusted."""
    copies: list[str] = []
    """The item ids of further files that have the same chunk."""
    is_weak: bool = False
    """Whether it has no word of the question, and a vector no more similar than one found by chance."""

    def locate(self, line: int | None = None) -> str:
        """Where the chunk is, in a form that opens: `path:line` for code, `path#page=3` for PDF."""
        if self.file_kind == CODE:
            return f"{self.path}:{line or self.start}"
        return f"{self.path}#page={self.pages[0]}" if self.pages and self.path.lower().endswith(".pdf") else self.path


def make_hit(row: Sequence[Any]) -> Hit:
    """A hit from the values of `HIT_COLUMNS`."""
    fields = dict(zip(Hit.__struct_fields__, row, strict=False))
    fields["pages"] = [int(page) for page in fields["pages"].split() if page.isdecimal()]
    return Hit(**fields)


def add_copies(hits: Sequence[Hit], copies: Sequence[tuple[str, str]]) -> None:
    """Add the copies of documents to hits: pairs of the id of a copy and of its document."""
    by_document: dict[str, list[str]] = {}
    for copy, document in copies:
        by_document.setdefault(document, []).append(copy)
    for hit in hits:
        hit.copies = [*hit.copies, *(each for name in [hit.item_id, *hit.copies] for each in by_document.get(name, ()))]
