"""`inorder search`: search documents and source code in DATA."""

import os
import re
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NamedTuple

import typer

from inorder.cli.exit_codes import Exit
from inorder.cli.option_spec import Section
from inorder.cli.output import info, pluralize, print_json, print_out
from inorder.cli.parameters import DataOption, JsonOption
from inorder.cli.settings import resolve
from inorder.errors import OperatorError, require
from inorder.index.connection import open_index, translate_index_errors
from inorder.index.draft import published_path
from inorder.index.query import Query, parse_query
from inorder.index.search import MODES, Filters, Hit, Searcher
from inorder.index.symbols import CodeLocation, look_up

_LINES = 3
_WIDTH = 160
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def search(
    question: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY...",
            help="Words; or a name: sym:Kernel.step, def:step, ref:step, imports:msgspec.",
            rich_help_panel=Section.INPUT,
        ),
    ],
    mode: Annotated[
        str,
        typer.Option(
            metavar="|".join(MODES),
            help="By words, by vectors, or by both, fused by score. Default: hybrid.",
            autocompletion=lambda: list(MODES),
            show_default=False,
            rich_help_panel=Section.QUERY,
        ),
    ] = "hybrid",
    path: Annotated[
        str,
        typer.Option(
            metavar="GLOB", help="Only files whose path matches, as in 'src/*.py'.", rich_help_panel=Section.QUERY
        ),
    ] = "",
    language: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Only code in this language, or documents in it (en, de...).",
            rich_help_panel=Section.QUERY,
        ),
    ] = "",
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="Only chunks of this kind: function, method, class, section, lines...",
            rich_help_panel=Section.QUERY,
        ),
    ] = "",
    only: Annotated[
        str,
        typer.Option(
            metavar="code|document",
            help="Only source code, or only documents.",
            autocompletion=lambda: ["code", "document"],
            rich_help_panel=Section.QUERY,
        ),
    ] = "",
    count: Annotated[
        int,
        typer.Option("-k", "--count", min=1, max=1000, help="Number of results. Default: 10.", show_default=False),
    ] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score is composed.")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search documents and source code in DATA.

    Exit codes: 0 something was found, 3 nothing was found, 2 wrong usage or no index.
    """
    answer = answer_question(" ".join(question), mode, count, Filters(path, language, kind, only), data)
    if as_json:
        print_json(answer.describe())
    else:
        answer.print(explains=explain)
    if not answer.hits and not answer.places:
        raise typer.Exit(Exit.ITEMS_FAILED)


class SearchAnswer(NamedTuple):
    """A question and what was found."""

    query: Query
    mode: str
    hits: list[Hit]
    places: list[CodeLocation]
    suggestions: list[str]

    def describe(self) -> dict[str, Any]:
        """The answer for `--json`."""
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
                    "snippet": [line for _, line in select_snippet(hit, self.query.terms)],
                    "text": hit.text,
                }
                for rank, hit in enumerate(self.hits, 1)
            ],
            "places": self.places,
            "suggestions": self.suggestions,
        }

    def print(self, *, explains: bool) -> None:
        """Print the answer as text."""
        if self.places:
            print_places(self.places, shows_caller=self.query.kind == "ref")
        for hit in self.hits:
            self._print_hit(hit, explains=explains)
        if not self.hits and not self.places:
            info("nothing found")
        if self.suggestions:
            info(f"did you mean: {', '.join(self.suggestions)}?")

    def _print_hit(self, hit: Hit, *, explains: bool) -> None:
        lines = select_snippet(hit, self.query.terms)
        is_code = hit.file_kind == "code"
        where = f"{hit.path}:{lines[0][0] if lines else hit.start}" if is_code else hit.path
        what = f"{hit.kind} {hit.name}".strip() if is_code else hit.context.rpartition(" > ")[0]
        print_out(_embolden(where) + (f"  {what}" if what else ""))
        if explains:
            parts = (f"{name} rank {rank} gives {hit.shares[name]:.5f}" for name, rank in hit.ranks.items())
            print_out(f"    score {hit.score:.5f}: {', '.join(parts)}")
        for number, line in lines:
            print_out(f"    {f'{number:>5} ' if is_code else ''}{_highlight(line[:_WIDTH], self.query.terms)}")


@contextmanager
def read_index(data: str | None) -> Iterator[tuple[sqlite3.Connection, str]]:
    """Open the published index of DATA. Yields the connection and the path of DATA."""
    folder = resolve({} if data is None else {"data": data}).data
    path = published_path(os.path.abspath(folder))
    if not os.path.exists(path):
        raise OperatorError(f"no index in {folder}; make one with `inorder index SRC` or `inorder run SRC`")
    open_index.cache_clear()  # a run may have published another index since the last call
    with translate_index_errors(path):
        yield open_index(path), os.path.abspath(folder)


def answer_question(question: str, mode: str, count: int, filters: Filters, data: str | None) -> SearchAnswer:
    """Search the index of DATA."""
    require(mode in MODES, f"--mode must be one of {', '.join(MODES)}; got {mode!r}")
    require(filters.only in ("", "code", "document"), f"--only must be code or document; got {filters.only!r}")
    query = parse_query(question)
    with read_index(data) as (connection, folder):
        if query.kind != "text":
            return SearchAnswer(query, "names", [], look_up(connection, query, count), [])
        searcher = Searcher(connection, folder)
        hits = searcher.search(query, mode, count, filters)
        if not hits:
            searcher.check_filters(filters)
        if mode == "hybrid" and searcher.warning:
            info(f"warning: {searcher.warning}")
        suggestions = searcher.suggest_words(query) if not any("lexical" in hit.ranks for hit in hits) else []
        return SearchAnswer(query, mode, hits, [], suggestions)


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
