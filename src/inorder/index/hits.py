"""What a search finds, and the conditions that it must meet."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from .rows import CODE

CONTEXT_MAX = 20
"""How many chunks of the file can be added before and after a hit."""
MODES = ("auto", "hybrid", "lexical", "dense")
HIT_COLUMNS = (
    "chunk_id, item_id, location(files.kind, item_id, path), files.kind, language, chunks.kind, chunks.name, "
    'chunks.context, start, "end", number, pages, chunks.text'
)
"""The first fields of a hit in SQL, over `chunks` and `files`."""


Values = str | Sequence[str]
"""One value of a condition, or several, of which one must be met. One that begins with `!` must not be met."""
Tests = Mapping[str, tuple[str, int]]
"""By condition, its test of one value in SQL, and how often it has the placeholder."""
_COPIED = "item_id IN (SELECT value FROM json_each(?))"
_TESTS: Tests = {
    "path": ("(item_id GLOB ? OR location(files.kind, item_id, path) GLOB ?)", 2),
    "language": ("language = ?", 1),
    "kind": ("chunks.kind = ?", 1),
    "only": ("files.kind = ?", 1),
    "type": ("substr(lower(item_id), -length(?)) = ?", 2),
    "source": ("substr(item_id, 1, length(?)) = ?", 2),
}


class Filters(NamedTuple):
    """Conditions that a chunk must meet."""

    path: Values = ""
    """A glob over paths as answers show them, or over item ids."""
    language: Values = ""
    kind: Values = ""
    """Kind of the chunk: function, class, section..."""
    only: str = ""
    """`code` or `document`."""
    type: Values = ""
    """The end of the file name, such as `pdf`."""
    source: Values = ""
    """The name of a source, with which the item ids of its files begin."""
    copied: str = ""
    """The item ids of documents that have a copy with such a path, as JSON; empty: there are none."""

    def split(self, name: str) -> tuple[list[str], list[str]]:
        """The values of a condition of which one must be met, and those that must not be met."""
        given = getattr(self, name)
        values = [value for value in ([given] if isinstance(given, str) else given) if value]
        if name == "type":
            values = [f"{'!' * value.startswith('!')}.{value.lstrip('!').lstrip('.').lower()}" for value in values]
        if name == "source":
            values = [f"{value.rstrip('/')}/" for value in values]
        excluded = [value.removeprefix("!") for value in values if value.startswith("!")]
        return [value for value in values if not value.startswith("!")], excluded

    def sql(self) -> tuple[str, list[str]]:
        """The conditions in SQL, and the values of their placeholders."""
        return self.translate(_TESTS)

    def translate(self, tests: Tests) -> tuple[str, list[str]]:
        """The conditions in SQL with these tests, each after AND, and the values of their placeholders."""
        parts: list[str] = []
        found: list[str] = []
        for name, (test, repeats) in tests.items():
            wanted, excluded = self.split(name)
            copied = [self.copied] if name == "path" and wanted and self.copied else []
            if wanted:
                parts.append(f"({' OR '.join([test] * len(wanted) + [_COPIED] * len(copied))})")
            parts += [f"NOT {test}"] * len(excluded)
            found += [value for value in wanted for _ in range(repeats)] + copied
            found += [value for value in excluded for _ in range(repeats)]
        return "".join(f" AND {part}" for part in parts), found


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

    before: list[str] = []
    """The texts of the chunks before it in the file, as many as were asked for, in the order of the file."""
    after: list[str] = []
    """The same of those after it."""

    @property
    def heading_path(self) -> list[str]:
        """The titles of the sections of a document that the chunk is in, outermost first."""
        return [] if self.file_kind == CODE else self.context.split(" > ")[:-1]

    @property
    def title(self) -> str:
        """What to call the hit: the outermost title of a document, the name of a definition, or else the file name."""
        name = self.name if self.file_kind == CODE else next(iter(self.heading_path), "")
        return name or self.path.rstrip("/").rpartition("/")[2]

    @property
    def citation(self) -> str:
        """A reference to the hit for people: what it is called, the section, the file, and the page or the line."""
        if self.file_kind == CODE:
            what = f"{self.kind} {self.name}, " if self.name else ""
            return f"{what}{self.path}, lines {self.start}-{self.end}"
        parts = [self.title, *self.heading_path[-1:][: len(self.heading_path) - 1], self.path]
        pages = (
            f"page {self.pages[0]}"
            if len(self.pages) == 1
            else f"pages {self.pages[0]}-{self.pages[-1]}"
            if self.pages
            else ""
        )
        return ", ".join(dict.fromkeys(part for part in (*parts, pages) if part))

    def locate(self, line: int | None = None) -> str:
        """Where the chunk is, in a form that opens: `path:line` for code, and for a document whose line is given;
        `path#page=3` for PDF."""
        if self.file_kind == CODE:
            return locate(self.path, line or self.start, ())
        return locate(self.path, line or 0, self.pages)


def locate(path: str, line: int, pages: Sequence[int]) -> str:
    """A place in a file, in a form that opens. The line is 0 if it is not known."""
    if line:
        return f"{path}:{line}"
    return f"{path}#page={pages[0]}" if pages and path.lower().endswith(".pdf") else path


class FileHits(NamedTuple):
    """The hits of one file, best first."""

    item_id: str
    path: str
    hits: list[Hit]


def group_by_file(hits: Sequence[Hit]) -> list[FileHits]:
    """Put the hits of each file together. Files are in the order of their best hit."""
    found: dict[str, FileHits] = {}
    for hit in hits:
        found.setdefault(hit.item_id, FileHits(hit.item_id, hit.path, [])).hits.append(hit)
    return list(found.values())


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
