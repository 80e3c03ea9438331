"""What our stages have made, added up from their manifests."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from inorder.cli.item_status import Standings
from inorder.cli.output import counted
from inorder.stage.manifest.reader import read_line

_BAR = 40
_BOUNDS = (32, 64, 128, 256, 384, 512, 1024)
"""As `chunk` counts them; a test compares."""


class _Extras(msgspec.Struct):
    """What the rows of our stages say besides the common."""

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
    documents: int = 0
    terms: int = 0
    average_length: float = 0.0
    kind: str = ""
    language: str = ""
    lines: int = 0
    symbols: int = 0
    calls: int = 0


_DECODER = msgspec.json.Decoder(_Extras)


def contents(stage: str, manifest: str, standings: Standings) -> dict[str, Any]:
    """What a stage of ours holds; empty: it is none of ours."""
    summarise = _SUMMARIES.get(stage)
    if summarise is None:
        return {}
    return summarise(_extras(manifest, standings))


def _extras(manifest: str, standings: Standings) -> Iterator[_Extras]:
    with open(manifest, "rb") as file:
        for standing in standings.successes():
            try:
                yield _DECODER.decode(read_line(file, standing.made).raw)
            except msgspec.DecodeError:
                continue


def _doctags(rows: Iterator[_Extras]) -> dict[str, Any]:
    sums: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for row in rows:
        if not row.engine:
            continue  # a step on the way to a long document
        kinds[row.engine.split("/")[0].removeprefix("inorder-")] += 1
        sums["documents"] += 1
        for name in ("pages", "pages_without_text", "pages_ocr", "blocks", "tables", "figures"):
            sums[name] += getattr(row, name)
    names = ("documents", "pages", "pages_without_text", "pages_ocr", "blocks", "tables", "figures")
    return {name: sums[name] for name in names} | {"kinds": dict(sorted(kinds.items()))}


def _chunk(rows: Iterator[_Extras]) -> dict[str, Any]:
    documents = chunks = tokens = 0
    histogram = [0] * (len(_BOUNDS) + 1)
    for row in rows:
        documents, chunks, tokens = documents + 1, chunks + row.chunks, tokens + row.tokens
        for place, count in enumerate(row.histogram[: len(histogram)]):
            histogram[place] += count
    return {
        "documents": documents,
        "chunks": chunks,
        "tokens": tokens,
        "histogram": [
            {"tokens_max": bound, "chunks": count} for bound, count in zip((*_BOUNDS, None), histogram, strict=True)
        ],
    }


def _embed(rows: Iterator[_Extras]) -> dict[str, Any]:
    families: dict[str, dict[str, Any]] = {}
    corpus = {}
    for row in rows:
        family, slash, _ = row.doc_id.partition("/")
        if not slash:
            names = ("documents", "chunks", "terms", "average_length")
            corpus = {name: getattr(row, name) for name in names}
            continue
        found = families.setdefault(family, {"documents": 0, "vectors": 0})
        found["documents"] += 1
        found["vectors"] += row.vectors
        found |= {"dimensions": row.dimensions} if row.dimensions else {}
        found |= {"provider": row.provider} if row.provider else {}
    return {"families": families, "corpus": corpus}


def _index(rows: Iterator[_Extras]) -> dict[str, Any]:
    sums: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    for row in rows:
        if not row.kind:
            continue  # it says that a file is gone
        sums["documents" if row.kind == "document" else "files"] += 1
        if row.kind != "document":
            languages[row.language or "other"] += 1
        for name in ("chunks", "lines", "symbols", "calls"):
            sums[name] += getattr(row, name)
    names = ("documents", "files", "chunks", "lines", "symbols", "calls")
    return {name: sums[name] for name in names} | {"languages": dict(languages.most_common())}


_SUMMARIES: dict[str, Callable[[Iterator[_Extras]], dict[str, Any]]] = {
    "doctags": _doctags,
    "chunk": _chunk,
    "embed": _embed,
    "index": _index,
}


def rows_in_words(stage: str, found: dict[str, Any]) -> list[tuple[str, str]]:
    """For people."""
    if not found:
        return []
    if stage == "doctags":
        kinds = ", ".join(f"{count} {kind}" for kind, count in found["kinds"].items())
        pages = counted(found["pages"], "page")
        if found["pages_without_text"]:
            pages += f", {found['pages_without_text']} of them without text (scanned?)"
        if found["pages_ocr"]:
            pages += f", {found['pages_ocr']} read by OCR"
        inside = ", ".join(counted(found[name], name[:-1]) for name in ("blocks", "tables", "figures"))
        return [("documents", f"{found['documents']} ({kinds})"), ("pages", pages), ("inside", inside)]
    if stage == "chunk":
        head = [("chunks", f"{found['chunks']} of {counted(found['documents'], 'document')}, {found['tokens']} tokens")]
        return head + [("tokens" if not place else "", bar) for place, bar in enumerate(_bars(found["histogram"]))]
    if stage == "index":
        languages = ", ".join(f"{count} {language}" for language, count in found["languages"].items())
        inside = ", ".join(counted(found[name], name[:-1]) for name in ("lines", "symbols", "calls"))
        searchable = f"{counted(found['chunks'], 'chunk')} of {counted(found['documents'], 'document')}"
        rows = [("searchable", f"{searchable} and {counted(found['files'], 'file')} of code")]
        return rows + ([("code", f"{languages}; {inside}")] if found["files"] else [])
    rows = []
    for family, sums in found["families"].items():
        details = [sums["provider"]] if "provider" in sums else []
        details += [f"{sums['dimensions']} dimensions"] if "dimensions" in sums else []
        said = f"{counted(sums['vectors'], 'vector')} of {counted(sums['documents'], 'document')}"
        rows.append((family, f"{said} ({', '.join(details)})" if details else said))
    if corpus := found["corpus"]:
        rows.append(("corpus", f"{corpus['terms']} terms in {counted(corpus['chunks'], 'chunk')}"))
    return rows


def _bars(histogram: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each class of sizes."""
    most = max(each["chunks"] for each in histogram)
    low = 0
    for each in histogram:
        bound = each["tokens_max"]
        name = f"{low + 1} to {bound}" if bound is not None else f"over {low}"
        low = bound or low
        length = -(-each["chunks"] * _BAR // most) if most else 0
        yield f"{name:12} {'#' * length}{' ' if length else ''}{each['chunks']}"
