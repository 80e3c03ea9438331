"""Answers to questions, as text and as JSON; and the index that a command reads."""

import os
import re
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from inorder.cli.output import info, pluralize, print_out
from inorder.cli.settings import resolve
from inorder.index.hits import Hit
from inorder.index.search import SearchAnswer, use_index
from inorder.index.symbols import CodeLocation

_LINES = 3
_WIDTH = 160
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


@contextmanager
def read_index(data: str | None) -> Iterator[tuple[sqlite3.Connection, str]]:
    """Open the published index of DATA. Yields the connection and the path of DATA."""
    folder = resolve_data(data)
    with use_index(folder) as index:
        yield index.connection, os.path.abspath(folder)


def resolve_data(data: str | None) -> str:
    """The directory that the option names, or else the settings."""
    return str(resolve({} if data is None else {"data": data}).data)


def describe_answer(answer: SearchAnswer) -> dict[str, Any]:
    """The answer for `--json`."""
    return {
        "query": answer.query.text,
        "mode": answer.mode,
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
                "reasons": hit.reasons,
                "snippet": [line for _, line in select_snippet(hit, answer.query.terms)],
                "text": hit.text,
            }
            for rank, hit in enumerate(answer.hits, 1)
        ],
        "places": answer.places,
        "suggestions": answer.suggestions,
        "warnings": answer.warnings,
    }


def print_answer(answer: SearchAnswer, *, explains: bool) -> None:
    """Print the answer as text."""
    if answer.places:
        print_places(answer.places, shows_caller=answer.query.kind == "ref")
    for hit in answer.hits:
        _print_hit(hit, answer.query.terms, explains=explains)
    if not answer.hits and not answer.places:
        info("nothing found")
    if answer.suggestions:
        info(f"did you mean: {', '.join(answer.suggestions)}?")


def _print_hit(hit: Hit, terms: Sequence[str], *, explains: bool) -> None:
    lines = select_snippet(hit, terms)
    is_code = hit.file_kind == "code"
    where = f"{hit.path}:{lines[0][0] if lines else hit.start}" if is_code else hit.path
    what = f"{hit.kind} {hit.name}".strip() if is_code else hit.context.rpartition(" > ")[0]
    print_out(_embolden(where) + (f"  {what}" if what else ""))
    if explains:
        parts = (f"{name} rank {rank} gives {hit.shares[name]:.5f}" for name, rank in hit.ranks.items())
        print_out(f"    score {hit.score:.5f}: {', '.join(parts)}")
    for number, line in lines:
        print_out(f"    {f'{number:>5} ' if is_code else ''}{_highlight(line[:_WIDTH], terms)}")


def select_snippet(hit: Hit, terms: Sequence[str]) -> list[tuple[int, str]]:
    """The consecutive lines of a chunk with the most terms, and their numbers."""
    lines = hit.text.splitlines() if hit.file_kind == "code" else _split_sentences(hit.text)
    wanted = [_compile(term) for term in terms]
    scores = [sum(bool(pattern.search(line)) for pattern in wanted) for line in lines]
    windows = [sum(scores[at : at + _LINES]) for at in range(max(1, len(lines) - _LINES + 1))]
    best = windows.index(max(windows)) if lines else 0
    return [(hit.start + at, lines[at].rstrip()) for at in range(best, min(best + _LINES, len(lines)))]


def print_places(places: Sequence[CodeLocation], indent: str = "", *, shows_caller: bool = False) -> None:
    """Print one line per place."""
    for place in places:
        detail = f"in {place.detail}" if shows_caller and place.detail else place.detail
        print_out(f"{indent}{place.path}:{place.line}  {place.what} {place.name}  {detail}".rstrip())
    if not places and not indent:
        print_out(pluralize(0, "place"))


def _split_sentences(text: str) -> list[str]:
    found = re.split(r"(?<=[.!?])\s+|\n+", text)
    return [sentence for sentence in found if sentence]


def _compile(term: str) -> re.Pattern[str]:
    """A pattern for words that start like the term: the index matches stems, too."""
    return re.compile(re.escape(term[: max(3, len(term) - 2)]), re.IGNORECASE)


def _highlight(line: str, terms: Sequence[str]) -> str:
    if not sys.stdout.isatty() or not terms:
        return line
    pattern = re.compile("|".join(_compile(term).pattern + r"\w*" for term in terms), re.IGNORECASE)
    return pattern.sub(lambda found: f"{_BOLD}{found[0]}{_PLAIN}", line)


def _embolden(text: str) -> str:
    return f"{_BOLD}{text}{_PLAIN}" if sys.stdout.isatty() else text
