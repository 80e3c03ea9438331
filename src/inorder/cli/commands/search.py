"""Asking the index, and showing the answer."""

import os
import re
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from inorder.cli.output import counted, show, tell
from inorder.cli.settings import resolve
from inorder.errors import OperatorError, require
from inorder.index.connection import open_index
from inorder.index.draft import published_path
from inorder.index.query import Query, parse_query
from inorder.index.search import MODES, Filters, Hit, Searcher
from inorder.index.symbols import CodeLocation, look_up
from inorder.sinks.sqlite_errors import explained

_LINES = 3
_WIDTH = 160
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


class Answer(NamedTuple):
    """What was asked, and what was found."""

    query: Query
    mode: str
    hits: list[Hit]
    places: list[CodeLocation]
    suggestions: list[str]

    def described(self) -> dict[str, Any]:
        """For programs."""
        return {
            "query": self.query.text,
            "mode": self.mode,
            "hits": [
                {
                    "rank": rank,
                    "score": round(hit.score, 6),
                    "ranks": hit.ranks,
                    "shares": {name: round(share, 6) for name, share in hit.shares.items()},
                    "path": hit.path,
                    "item_id": hit.item_id,
                    "kind": hit.kind,
                    "only": hit.file_kind,
                    "language": hit.language,
                    "name": hit.name,
                    "context": hit.context,
                    "start": hit.start,
                    "end": hit.end,
                    "chunk_id": hit.chunk_id,
                    "snippet": [line for _, line in snippet(hit, self.query.terms)],
                    "text": hit.text,
                }
                for rank, hit in enumerate(self.hits, 1)
            ],
            "places": self.places,
            "suggestions": self.suggestions,
        }

    def show(self, *, explains: bool) -> None:
        """For people."""
        if self.places:
            show_places(self.places, shows_caller=self.query.kind == "ref")
        for hit in self.hits:
            self._show_hit(hit, explains=explains)
        if not self.hits and not self.places:
            tell("nothing was found")
        if self.suggestions:
            tell(f"did you mean: {', '.join(self.suggestions)}?")

    def _show_hit(self, hit: Hit, *, explains: bool) -> None:
        lines = snippet(hit, self.query.terms)
        is_code = hit.file_kind == "code"
        where = f"{hit.path}:{lines[0][0] if lines else hit.start}" if is_code else hit.path
        what = f"{hit.kind} {hit.name}".strip() if is_code else hit.context.rpartition(" > ")[0]
        show(_strong(where) + (f"  {what}" if what else ""))
        if explains:
            parts = (f"{name} rank {rank} gives {hit.shares[name]:.5f}" for name, rank in hit.ranks.items())
            show(f"    score {hit.score:.5f}: {', '.join(parts)}")
        for number, line in lines:
            show(f"    {f'{number:>5} ' if is_code else ''}{_marked(line[:_WIDTH], self.query.terms)}")


@contextmanager
def index_of(data: str | None) -> Iterator[tuple[sqlite3.Connection, str]]:
    """The published index of DATA, and DATA. What the database has to complain about is told in one line."""
    folder = resolve({} if data is None else {"data": data}).data
    path = published_path(os.path.abspath(folder))
    if not os.path.exists(path):
        raise OperatorError(f"there is no index in {folder}; make one with `inorder index SRC` or `inorder run SRC`")
    try:
        yield open_index(path), os.path.abspath(folder)
    except sqlite3.Error as error:
        raise explained(error, path, "it cannot be read") from error


def answered(said: str, mode: str, count: int, filters: Filters, data: str | None) -> Answer:
    """Ask."""
    require(mode in MODES, f"--mode must be one of {', '.join(MODES)}, got {mode!r}")
    require(filters.only in ("", "code", "document"), f"--only must be code or document, got {filters.only!r}")
    query = parse_query(said)
    with index_of(data) as (connection, folder):
        if query.kind != "text":
            return Answer(query, "names", [], look_up(connection, query, count), [])
        searcher = Searcher(connection, folder)
        hits = searcher.search(query, mode, count, filters)
        suggestions = searcher.suggestions(query) if not any("lexical" in hit.ranks for hit in hits) else []
        return Answer(query, mode, hits, [], suggestions)


def snippet(hit: Hit, terms: Sequence[str]) -> list[tuple[int, str]]:
    """The lines of a chunk that say most of what was asked, with their numbers."""
    lines = hit.text.splitlines() if hit.file_kind == "code" else _sentences(hit.text)
    wanted = [_pattern(term) for term in terms]
    scores = [sum(bool(pattern.search(line)) for pattern in wanted) for line in lines]
    windows = [sum(scores[at : at + _LINES]) for at in range(max(1, len(lines) - _LINES + 1))]
    best = windows.index(max(windows)) if lines else 0
    return [(hit.start + at, lines[at].rstrip()) for at in range(best, min(best + _LINES, len(lines)))]


def _sentences(text: str) -> list[str]:
    found = re.split(r"(?<=[.!?])\s+|\n+", text)
    return [sentence for sentence in found if sentence]


def _pattern(term: str) -> re.Pattern[str]:
    """A term, or what begins as it does: the index looks for stems, too."""
    return re.compile(re.escape(term[: max(3, len(term) - 2)]), re.IGNORECASE)


def _marked(line: str, terms: Sequence[str]) -> str:
    if not sys.stdout.isatty() or not terms:
        return line
    pattern = re.compile("|".join(_pattern(term).pattern + r"\w*" for term in terms), re.IGNORECASE)
    return pattern.sub(lambda found: f"{_BOLD}{found[0]}{_PLAIN}", line)


def _strong(text: str) -> str:
    return f"{_BOLD}{text}{_PLAIN}" if sys.stdout.isatty() else text


def show_places(places: Sequence[CodeLocation], indent: str = "", *, shows_caller: bool = False) -> None:
    """A line a place."""
    for place in places:
        detail = f"in {place.detail}" if shows_caller and place.detail else place.detail
        show(f"{indent}{place.path}:{place.line}  {place.what} {place.name}  {detail}".rstrip())
    if not places and not indent:
        show(counted(0, "place"))
