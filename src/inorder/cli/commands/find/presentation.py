"""Answers to questions, as text and as JSON; and the index that a command reads."""

import os
import re
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

from inorder.cli.output import info, pluralize, print_out, to_printable
from inorder.cli.settings import resolve_data
from inorder.errors import OperatorError
from inorder.index.hits import FileHits, Hit
from inorder.index.place import Generation
from inorder.index.ranking.snippets import CONTEXT, SnippetLine, cut
from inorder.index.rows import CODE
from inorder.index.search import SearchAnswer, use_index
from inorder.index.symbols import CodeLocation
from inorder.index.text_lines import find_best_line
from inorder.library.opening import find_index

_WIDTH = 160
_MODES = {"lexical": "words", "dense": "vectors", "hybrid": "words and vectors", "names": "name"}
_LISTS = {
    "lexical": "words",
    "dense": "vectors",
    "code": "names and paths",
    "kind": "kind of file",
    "search": "search",
    "rerank": "rerank",
}
_WEAK = "weak: none of the words, and not more similar than by chance"
_CONTROLS = dict.fromkeys((*range(9), *range(10, 32), *range(127, 160)), "\N{REPLACEMENT CHARACTER}")
"""A terminal would obey these characters of a document."""
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


@contextmanager
def read_index(data: str | None) -> Iterator[tuple[sqlite3.Connection, str]]:
    """Open the index of DATA. Yields the connection and the path of DATA."""
    folder = resolve_data(data)
    with use_index(find_index(folder)) as index:
        yield index.connection, os.path.abspath(folder)


def describe_answer(answer: SearchAnswer, context: int = CONTEXT) -> dict[str, Any]:
    """The answer for `--json`."""
    return {
        "query": answer.query.text,
        "mode": answer.mode,
        "mode_reason": answer.mode_reason,
        "language": answer.language,
        "hits": [_describe_hit(answer, rank, hit, context) for rank, hit in enumerate(answer.hits, 1)],
        "places": answer.places,
        "files": [_describe_file(answer, found) for found in answer.files],
        "suggestions": answer.suggestions,
        "warnings": answer.warnings,
        **describe_generation(answer.generation),
    }


def add_boxes(described: Sequence[dict[str, Any]], hits: Sequence[Hit], data: str) -> None:
    """Add `boxes` to what describes hits that are on pages, if DATA has their documents: where their text is."""
    placed = [(each, hit) for each, hit in zip(described, hits, strict=True) if hit.pages]
    if placed:
        from inorder.dataset.dataset import open as open_dataset

        with open_dataset(data) as dataset, suppress(OperatorError):
            for each, hit in placed:
                each["boxes"] = [box._asdict() for box in dataset.find_boxes(hit)]


def _describe_file(answer: SearchAnswer, found: FileHits) -> dict[str, Any]:
    """A file and the ranks of its hits."""
    rank_of = {id(hit): rank for rank, hit in enumerate(answer.hits, 1)}
    title = found.hits[0].title
    return {
        "item_id": found.item_id,
        "path": found.path,
        "title": title,
        "hits": [rank_of[id(hit)] for hit in found.hits],
    }


def describe_generation(found: Generation) -> dict[str, Any]:
    """Of when an answer is, for JSON: the number of the generation and the time, or null if they are not known."""
    when = datetime.fromtimestamp(found.published_at, UTC).isoformat() if found.published_at else None
    return {"generation": found.number or None, "published_at": when}


def _describe_hit(answer: SearchAnswer, rank: int, hit: Hit, context: int) -> dict[str, Any]:
    lines = answer.make_snippet(hit, context)
    line = find_best_line(hit, lines)
    described = msgspec.structs.asdict(hit)
    only, _ = described.pop("file_kind"), described.pop("number")
    return described | {
        "rank": rank,
        "title": hit.title,
        "heading_path": hit.heading_path,
        "citation": hit.citation,
        "score": round(hit.score, 6),
        "shares": {name: round(share, 6) for name, share in hit.shares.items()},
        "line": line or None,
        "location": hit.locate(line),
        "only": only,
        "snippet": [line.text for line in lines],
        "marks": [line.marks for line in lines],
    }


def print_answer(answer: SearchAnswer, *, explains: bool, context: int, is_whole: bool = False) -> None:
    """Print the answer as text, with snippets or with whole chunks and their neighbours."""
    if explains:
        language = f"; language of the question: {answer.language}" if answer.language else ""
        print_out(f"searched by {_MODES[answer.mode]}: {answer.mode_reason}{language}")
    if answer.places:
        print_places(answer.places, shows_caller=answer.query.kind == "ref")
    rank_of = {id(hit): rank for rank, hit in enumerate(answer.hits, 1)}
    for hit in (hit for found in answer.files for hit in found.hits):
        lines = answer.make_snippet(hit, context)
        _print_head(rank_of[id(hit)], hit, find_best_line(hit, lines), explains=explains)
        if is_whole:
            _print_text(hit)
        else:
            _print_lines(hit, lines)
    if not answer.hits and not answer.places:
        info("nothing found")
    if answer.suggestions:
        info(f"did you mean: {', '.join(answer.suggestions)}?")


def _print_head(rank: int, hit: Hit, best: int, *, explains: bool) -> None:
    is_code = hit.file_kind == CODE
    what = f"{hit.kind} {hit.name}".strip() if is_code else hit.context.rpartition(" > ")[0]
    where = _embolden(to_printable(hit.locate(best)))
    where += f"  {to_printable(what)}" if what else ""
    print_out(f"{where}  (rank {rank}, score {hit.score:.2f})")
    if hit.is_weak:
        print_out(f"    {_WEAK}")
    if hit.copies:
        print_out(f"    also in {', '.join(hit.copies)}")
    if explains:
        print_out(*(f"    {line}" for line in _explain_hit(hit)))


def _print_lines(hit: Hit, lines: Sequence[SnippetLine]) -> None:
    for line in lines:
        print_out(f"    {f'{line.number:>5} ' if hit.file_kind == CODE else ''}{_mark(line)}")


def _print_text(hit: Hit) -> None:
    """Print the text of a hit between those of its neighbours."""
    gap = "\n" if hit.file_kind == CODE else "\n\n"
    text = gap.join(part.strip("\r\n") for part in (*hit.before, hit.text, *hit.after))
    print_out(*(f"    {line.translate(_CONTROLS)}".rstrip() for line in text.splitlines()))


def _explain_hit(hit: Hit) -> list[str]:
    """The score of a hit in words."""
    parts = []
    for name, share in hit.shares.items():
        rank = f" (rank {hit.ranks[name]})" if name in hit.ranks else ""
        parts.append(f"{_LISTS[name]} {share:.3f}{rank}")
    lines = [re.sub(r"\+ ([a-z ]+) -", r"- \1 ", f"score {hit.score:.3f} = {' + '.join(parts)}")]
    label = _LISTS["kind" if "kind" in hit.shares else "code"]
    return [*lines, f"{label}: {'; '.join(hit.reasons)}"] if hit.reasons else lines


def print_places(places: Sequence[CodeLocation], indent: str = "", *, shows_caller: bool = False) -> None:
    """Print one line per place."""
    for place in places:
        detail = f"in {place.detail}" if shows_caller and place.detail else place.detail
        where = to_printable(place.locate())
        print_out(f"{indent}{where}  {place.what} {place.name}  {detail}".rstrip())
    if not places and not indent:
        print_out(pluralize(0, "place"))


def _mark(line: SnippetLine) -> str:
    """A line with the words of the question in bold on a terminal. A long one is cut around the first of them."""
    start = 0
    if len(line.text) > _WIDTH and line.marks:
        start = max(0, min(line.marks[0][0] - _WIDTH // 4, len(line.text) - _WIDTH))
    start, end = cut(line.text, _WIDTH, start)
    shown = line.text[start:end].translate(_CONTROLS)
    if sys.stdout.isatty():
        for first, last in reversed(line.marks):
            first, last = max(0, first - start), min(end, last) - start
            if first < last:
                shown = f"{shown[:first]}{_BOLD}{shown[first:last]}{_PLAIN}{shown[last:]}"
    return ("…" if start else "") + shown + ("…" if end < len(line.text) else "")


def _embolden(text: str) -> str:
    return f"{_BOLD}{text}{_PLAIN}" if sys.stdout.isatty() else text
