"""What the built-in stages have made: totals of the library or of manifests, as `inorder inspect` and the report show
them."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from typing import Any, NamedTuple

import msgspec

from inorder.errors import InorderError
from inorder.library.connection import library_path
from inorder.sinks.packed_lines import open_lines
from inorder.stage.data_layout import DataLayout
from inorder.stage.manifest.item_status import ItemStatuses
from inorder.stage.manifest.reader import read_line

_STEPS = {
    "doctags": "doctags",
    "chunk": "chunk",
    "index": "index",
    "embed-dense": "embed:dense",
    "embed-sparse": "embed:sparse",
}
"""The steps of the pipeline, by the names of their manifests."""
TOKEN_BOUNDS = (32, 64, 128, 256, 384, 512, 1024)
"""Classes of the histogram of chunk sizes, as `chunk` counts them."""


class _Extras(msgspec.Struct):
    """The fields that built-in stages add to their rows."""

    doc_id: str
    engine: str = ""
    pages: int = 0
    pages_without_text: int = 0
    pages_ocr: int = 0
    blocks: int = 0
    tables: int = 0
    figures: int = 0
    chunks: int = 0
    tokens: int = 0
    histogram: list[int] = []
    vectors: int = 0
    dimensions: int = 0
    provider: str = ""
    families: dict[str, dict[str, Any]] = {}
    kind: str = ""
    language: str = ""
    lines: int = 0
    symbols: int = 0
    calls: int = 0


_DECODER = msgspec.json.Decoder(_Extras)


class StageTotals(NamedTuple):
    """What became of the items of a stage, or of the files of a step."""

    items: dict[str, int]
    """By status."""
    failures: dict[str, int]
    """By category, the most frequent first."""
    contents: dict[str, Any]
    """Totals of a built-in stage; empty for others."""


def summarize_stage(data: str, stage: str, statuses: ItemStatuses) -> StageTotals:
    """Return the totals of a stage: from the library if it is a step of the pipeline, else from its manifest."""
    if (totals := _summarize_step(data, stage)) is not None:
        return totals
    contents = _summarize(data, stage, _read_extras(DataLayout(data, stage).manifest, statuses))
    return StageTotals(statuses.count_by_status(), statuses.count_by_category(), contents)


def is_library_step(data: str, stage: str) -> bool:
    """Whether a stage is a step of the pipeline, whose state is in the library."""
    return stage in _STEPS and os.path.exists(library_path(data))


def _summarize_step(data: str, stage: str) -> StageTotals | None:
    """Totals of the files that the library has now; None: it is no step, or there is no library."""
    if not is_library_step(data, stage):
        return None
    from inorder.library.reader import LibraryReader
    from inorder.library.states import count_done, count_failed, list_facts

    step = _STEPS[stage]
    name, _, family = step.partition(":")
    with closing(LibraryReader(data)) as library:
        failures = count_failed(library, step)
        items = {"success": count_done(library, step), "skip": 0, "failure": failures.total()}
        facts = list_facts(library, step)
        prefix = f"{family}/" if family else ""
        rows = (
            msgspec.convert(
                each.extras | {"doc_id": f"{prefix}{each.item_id}", "kind": each.kind.partition(":")[0]}, _Extras
            )
            for each in facts
        )
        contents = _summarize(data, name, rows)
        if family in contents.get("families", {}):
            contents["families"][family] |= _measure_family(step, library.read_totals().counts)
        return StageTotals(items, dict(failures), contents)


def _measure_family(step: str, counts: Mapping[str, int]) -> dict[str, Any]:
    """The lengths of vectors, and the number of their terms, from the totals of the library."""
    from inorder.documents.embed.totals import FamilyTotals

    def find(name: str) -> dict[int, int]:
        prefix = f"{step}/{name}/"
        return {int(each.removeprefix(prefix)): count for each, count in counts.items() if each.startswith(prefix)}

    measured = FamilyTotals(norms=find("norm"), nnz=find("terms")).summarize()
    return {name: measured[name] for name in ("norms", "nnz") if name in measured}


def _summarize(data: str, stage: str, rows: Iterator[_Extras]) -> dict[str, Any]:
    """Totals of a built-in stage; empty for others."""
    summarize = _SUMMARIES.get(stage)
    found = {} if summarize is None else summarize(rows)
    return found | {"families": _summarize_terms(data)} if stage == "index" else found


def _summarize_terms(data: str) -> dict[str, Any]:
    """The totals of the lexical vectors, which are read from the index; empty: it cannot be read, or the extra `ingest`
    is not installed."""
    try:
        from inorder.index.chunk_terms import IndexTerms  # with NumPy, which is slow to import
        from inorder.library.opening import find_index
    except ModuleNotFoundError:
        return {}
    with suppress(InorderError), closing(IndexTerms(find_index(data))) as index:
        return {"lexical": index.summarize()}
    return {}


def _read_extras(manifest: str, statuses: ItemStatuses) -> Iterator[_Extras]:
    with open_lines(manifest) as file:
        for status in statuses.successes():
            try:
                yield _DECODER.decode(read_line(file, status.made).raw)
            except msgspec.DecodeError:
                continue


def _sum_doctags(rows: Iterator[_Extras]) -> dict[str, Any]:
    sums: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for row in rows:
        if not row.engine:
            continue  # a part of a long document
        kinds[row.engine.split("/")[0].removeprefix("inorder-")] += 1
        sums["documents"] += 1
        for name in ("pages", "pages_without_text", "pages_ocr", "blocks", "tables", "figures"):
            sums[name] += getattr(row, name)
    names = ("documents", "pages", "pages_without_text", "pages_ocr", "blocks", "tables", "figures")
    return {name: sums[name] for name in names} | {"kinds": dict(sorted(kinds.items()))}


def _sum_chunk(rows: Iterator[_Extras]) -> dict[str, Any]:
    documents = chunks = tokens = 0
    histogram = [0] * (len(TOKEN_BOUNDS) + 1)
    for row in rows:
        documents, chunks, tokens = documents + 1, chunks + row.chunks, tokens + row.tokens
        for place, count in enumerate(row.histogram[: len(histogram)]):
            histogram[place] += count
    return {
        "documents": documents,
        "chunks": chunks,
        "tokens": tokens,
        "histogram": [
            {"tokens_max": bound, "chunks": count}
            for bound, count in zip((*TOKEN_BOUNDS, None), histogram, strict=True)
        ],
    }


def _sum_embed(rows: Iterator[_Extras]) -> dict[str, Any]:
    families: dict[str, dict[str, Any]] = {}
    totals: dict[str, dict[str, Any]] = {}
    for row in rows:
        family, slash, _ = row.doc_id.partition("/")
        if not slash:
            totals = row.families  # of the row `__corpus__`
            continue
        found = families.setdefault(family, {"documents": 0, "vectors": 0})
        found["documents"] += 1
        found["vectors"] += row.vectors
        found |= {"dimensions": row.dimensions} if row.dimensions else {}
        found |= {"provider": row.provider} if row.provider else {}
    for family, found in families.items():
        measured = totals.get(family, {})
        found |= {name: measured[name] for name in ("norms", "nnz") if name in measured}
    return {"families": families}


def _sum_index(rows: Iterator[_Extras]) -> dict[str, Any]:
    sums: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    for row in rows:
        if not row.kind:
            continue  # a file that was removed
        sums["documents" if row.kind == "document" else "files"] += 1
        if row.kind != "document":
            languages[row.language or "other"] += 1
        for name in ("chunks", "lines", "symbols", "calls"):
            sums[name] += getattr(row, name)
    names = ("documents", "files", "chunks", "lines", "symbols", "calls")
    return {name: sums[name] for name in names} | {"languages": dict(languages.most_common())}


_SUMMARIES: dict[str, Callable[[Iterator[_Extras]], dict[str, Any]]] = {
    "doctags": _sum_doctags,
    "chunk": _sum_chunk,
    "embed": _sum_embed,
    "index": _sum_index,
}
