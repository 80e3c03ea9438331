"""What the steps of the pipeline have made: totals of the library, as `inorder inspect` and the report show them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from typing import Any

from inorder.errors import InorderError
from inorder.library.reader import LibraryReader
from inorder.library.states import list_facts
from inorder.library.totals import summarize_families
from inorder.pipeline.names import EXTRACT

TOKEN_BOUNDS = (32, 64, 128, 256, 384, 512, 1024)
"""Classes of the histogram of chunk sizes, as `chunk` counts them."""


_Row = dict[str, Any]
"""What a step wrote to the manifest about a file, and the kind of the file."""


def summarize_step(data: str, step: str) -> dict[str, Any]:
    """Return totals of what a step made of the files that the library has now. Raises as `connect_library` does."""
    name, _, family = step.partition(":")
    with closing(LibraryReader(data)) as library:
        if name == EXTRACT:
            return _sum_extracted(each.extras for each in list_facts(library, step))
        if family:
            totals = summarize_families(library.read_totals().counts, [step])
            return {"families": {family: totals.get(step, {"documents": 0, "vectors": 0})}}
        facts = list_facts(library, step)
        contents = _SUMMARIES[name](each.extras | {"kind": each.kind.partition(":")[0]} for each in facts)
    return contents | {"families": _summarize_terms(data)} if name == "index" else contents


def _summarize_terms(data: str) -> dict[str, Any]:
    """The totals of the lexical vectors, which are read from the index; empty: it cannot be read, or the extra `ingest`
    is not installed."""
    try:
        from inorder.index.chunk_terms import summarize_terms  # with NumPy, which is slow to import
        from inorder.library.opening import find_index
    except ModuleNotFoundError:
        return {}
    with suppress(InorderError):
        return {"lexical": summarize_terms(find_index(data))}
    return {}


def _sum_extracted(rows: Iterator[_Row]) -> dict[str, Any]:
    found = [(row["rows"], row["units"]) for row in rows]
    return {
        "documents": sum(1 for _, units in found if units),
        "rows": sum(count for count, _ in found),
        "lacking": sum(units - count for count, units in found),
    }


def _sum_doctags(rows: Iterator[_Row]) -> dict[str, Any]:
    names = ("pages", "pages_without_text", "pages_ocr", "blocks", "tables", "figures")
    sums = dict.fromkeys(("documents", *names), 0)
    kinds: Counter[str] = Counter()
    for row in rows:
        kinds[str(row.get("engine", "")).split("/")[0].removeprefix("inorder-")] += 1
        sums["documents"] += 1
        _add(sums, row, names)
    return sums | {"kinds": dict(sorted(kinds.items()))}


def _add(sums: dict[str, int], row: _Row, names: Iterable[str]) -> None:
    for name in names:
        sums[name] += int(row.get(name) or 0)


def _sum_chunk(rows: Iterator[_Row]) -> dict[str, Any]:
    sums = dict.fromkeys(("documents", "chunks", "tokens"), 0)
    histogram = [0] * (len(TOKEN_BOUNDS) + 1)
    for row in rows:
        sums["documents"] += 1
        _add(sums, row, ("chunks", "tokens"))
        for place, count in enumerate(row.get("histogram", ())[: len(histogram)]):
            histogram[place] += count
    return sums | {
        "histogram": [
            {"tokens_max": bound, "chunks": count}
            for bound, count in zip((*TOKEN_BOUNDS, None), histogram, strict=True)
        ],
    }


def _sum_index(rows: Iterator[_Row]) -> dict[str, Any]:
    names = ("chunks", "lines", "symbols", "calls")
    sums = dict.fromkeys(("documents", "files", *names), 0)
    languages: Counter[str] = Counter()
    for row in rows:
        sums["documents" if row["kind"] == "document" else "files"] += 1
        if row["kind"] != "document":
            languages[row.get("language") or "other"] += 1
        _add(sums, row, names)
    return sums | {"languages": dict(languages.most_common())}


_SUMMARIES: dict[str, Callable[[Iterator[_Row]], dict[str, Any]]] = {
    "doctags": _sum_doctags,
    "chunk": _sum_chunk,
    "index": _sum_index,
}
