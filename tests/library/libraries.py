"""Libraries for tests: written in a few lines, and described so that two can be compared."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from inorder.index.hits import Filters
from inorder.index.query import parse_query
from inorder.index.ranking.retrieval import Searcher
from inorder.library.connection import connect_library
from inorder.library.reader import LibraryReader
from inorder.library.rows import FileResult
from inorder.library.sink import LibrarySink
from inorder.library.whole.verify import LibraryFinding, verify_library
from inorder.sinks.base import Entry
from tests.library.making import success


@contextmanager
def opened(data: Path | str) -> Iterator[LibrarySink]:
    """The library, at the beginning of a run."""
    sink = LibrarySink(str(data), run_id="run")
    try:
        sink.roll_back(sink.origin(), ())
        yield sink
    finally:
        sink.close()


def commit(sink: LibrarySink, *results: FileResult) -> None:
    """Commit the results of some visits."""
    apply(sink, [success(sink.position().end + at, result) for at, result in enumerate(results)])


def apply(sink: LibrarySink, entries: Sequence[Entry]) -> None:
    """Apply entries."""
    sink.apply(entries)


def write(data: Path | str, *results: FileResult) -> None:
    """A run that commits and publishes these results."""
    with opened(data) as sink:
        commit(sink, *results)
        sink.finish()


@contextmanager
def reading(data: Path | str) -> Iterator[LibraryReader]:
    """A reader of the library."""
    with closing(LibraryReader(str(data))) as reader:
        yield reader


def find(data: Path | str, question: str, mode: str = "lexical") -> list[tuple[str, str, float]]:
    """What a search finds: item id, text and score."""
    with closing(connect_library(str(data))) as connection:
        searcher = Searcher(connection, str(data))
        hits = searcher.search(parse_query(question), mode, 10, Filters())
        return [(hit.item_id, hit.text, hit.score) for hit in hits]


NOT_NAMED = "the library does not name it"
"""The problem of a file with vectors that a killed process has left. The next run removes the file."""


def find_problems(data: Path | str) -> list[LibraryFinding]:
    """What `verify` finds."""
    return list(verify_library(str(data)))


def describe(data: Path | str, *questions: str, may_be_found: str = "") -> dict[str, Any]:
    """What is visible in a library that is intact, but for this problem."""
    findings = [finding for finding in find_problems(data) if finding.problem != may_be_found]
    assert not findings, findings
    with reading(data) as reader:
        totals = reader.read_totals()
        return {
            "hash": totals.content_hash,
            "counts": totals.counts,
            "results": [
                (step, found.item_id, found.content, found.texts)
                for step in ("doctags", "chunk")
                for found in reader.read_results(step)
            ],
            "vectors": [(found.item_id, found.content) for found in reader.read_results("embed:dense")],
            "rows": [(item_id, reader.read_rows(item_id)) for item_id in reader.list_visible("index")],
            "answers": [find(data, question, mode) for question in questions for mode in ("lexical",)],
        }
