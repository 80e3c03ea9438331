"""`inorder inspect`: the contents of DATA at a glance."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from inorder.cli.builtin import sort_stages
from inorder.cli.data_dir import DataDirectory, list_files, open_data
from inorder.cli.item_status import ItemStatuses
from inorder.cli.output import format_table, pluralize, print_json, print_out
from inorder.cli.parameters import DataOption, JsonOption, StageOption
from inorder.stage.manifest.reader import read_line
from inorder.stage.monitor.live import read_live_state
from inorder.stage.monitor.stall import HeadReport, describe_progress

_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_BAR_WIDTH = 40
TOKEN_BOUNDS = (32, 64, 128, 256, 384, 512, 1024)
"""Classes of the histogram of chunk sizes, as `chunk` counts them."""


def inspect(stage: StageOption = None, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Show the stages in DATA: the status of their items, their latest runs, warnings and sizes on disk."""
    description = describe(open_data(data), stage)
    if as_json:
        print_json(description)
    else:
        print_out(*_format(description))


_RUN_FIELDS = ("run_id", "started_at", "version", "origin")


def describe(data: DataDirectory, stage: str | None) -> dict[str, Any]:
    """The contents of DATA for `--json`."""
    chosen = sort_stages(data.select_stages(stage))
    stages = [_describe_stage(data, name) for name in chosen]
    return {"data": data.root, "stages": stages, "sizes": _measure(data.root)}


def _describe_stage(data: DataDirectory, stage: str) -> dict[str, Any]:
    statuses = ItemStatuses.read(data.layout(stage).manifest)
    config, journal, holder = data.config(stage), data.read_journal(stage), data.describe_holder(stage)
    unfinished_at = None if journal is None else journal.unfinished_at
    live = read_live_state(data.layout(stage).live) if holder else None
    latest: dict[str, Any] | None = None
    if live is not None and (config is None or config.run_id != live["run_id"]):  # nothing is committed yet
        latest = dict.fromkeys(_RUN_FIELDS) | {"run_id": live["run_id"]}
    elif config is not None:
        latest = {name: getattr(config, name) for name in _RUN_FIELDS}
    if latest is not None:
        latest["state"] = "running" if holder else "ended" if unfinished_at is None else "interrupted"
        latest["unfinished_at"] = unfinished_at
        latest["live"] = live
    return {
        "stage": stage,
        "items": statuses.count_by_status(),
        "contents": _summarize(stage, data.layout(stage).manifest, statuses),
        "failures": statuses.count_by_category(),
        "latest_run": latest,
        "warnings": _list_warnings(data, stage, statuses, holder),
    }


def _list_warnings(data: DataDirectory, stage: str, statuses: ItemStatuses, holder: str) -> list[str]:
    journal = data.read_journal(stage)
    found = [holder] if holder else []
    if journal is None:
        found.append("the journal is missing")
    elif journal.damage:
        found.append(f"the journal is {journal.damage}")
    elif journal.unfinished_at is not None and not holder:
        after = pluralize(journal.unfinished_at, "item")
        found.append(f"the latest run was interrupted after {after}: run the same command again to resume")
    if failed := statuses.count_by_status()["failure"]:
        found.append(f"{pluralize(failed, 'item')} failed: see `inorder failures{data.option}`")
    if warned := statuses.count_items_with_warnings():
        found.append(f"{pluralize(warned, 'item')} have warnings: see `inorder manifest --jsonl{data.option}`")
    if statuses.damaged:
        lines = pluralize(statuses.damaged, "line")
        found.append(f"{lines} of the manifest cannot be read: see `inorder verify{data.option}`")
    return found


def _measure(root: str) -> dict[str, dict[str, int]]:
    """Files and bytes per top-level directory."""
    found: dict[str, dict[str, int]] = {}
    for path in list_files(root):
        folder = path.split("/")[0] if "/" in path else "."
        sums = found.setdefault(folder, {"files": 0, "bytes": 0})
        sums["files"] += 1
        sums["bytes"] += os.lstat(f"{root}/{path}").st_size
    return found


def _format(description: dict[str, Any]) -> list[str]:
    lines = [f"DATA {description['data']}"]
    for stage in description["stages"]:
        items = ", ".join(f"{count} {status}" for status, count in stage["items"].items())
        rows = [("items", items)]
        rows += _format_contents(stage["stage"], stage["contents"])
        if stage["failures"]:
            rows.append(("failures", ", ".join(f"{count} {name}" for name, count in stage["failures"].items())))
        if (latest := stage["latest_run"]) is not None:
            started = f" of {latest['started_at']}" if latest["started_at"] else ""
            rows.append(("latest run", f"{latest['run_id']}{started}, {latest['state']}"))
            rows += _format_live(latest["live"])
        rows += [("warning", warning) for warning in stage["warnings"]]
        lines += ["", f"stage {stage['stage']}", *(f"  {line}" for line in format_table(rows))]
    has_index = os.path.exists(f"{description['data']}/index.sqlite")
    top = "index.sqlite, vectors" if has_index else "other files"
    sizes = [
        (top if name == "." else name, _format_size(sums["bytes"]), pluralize(sums["files"], "file"))
        for name, sums in description["sizes"].items()
    ]
    return [*lines, "", "on disk", *(f"  {line}" for line in format_table(sizes))]


def _format_live(live: dict[str, Any] | None) -> list[tuple[str, str]]:
    """What a run that is under way waits for, and which items report their progress."""
    if live is None or live["head"] is None:
        return []
    head = msgspec.convert(live["head"], HeadReport)
    rows = [("waiting for", f"{head.describe()}; no commit for {live['waited_s']:.0f} s")]
    others = [item for item in live["running"] if item["progress"] is not None and item["seq"] != head.seq]
    return rows + [("running", f"{item['item_id']}: {describe_progress(item['progress'])}") for item in others]


def _format_size(count: int) -> str:
    value = float(count)
    for unit in _UNITS:
        if value < 1000 or unit == _UNITS[-1]:
            break
        value /= 1000
    return f"{count} bytes" if unit == "bytes" else f"{value:.1f} {unit}"


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
    documents: int = 0
    terms: int = 0
    average_length: float = 0.0
    kind: str = ""
    language: str = ""
    lines: int = 0
    symbols: int = 0
    calls: int = 0


_DECODER = msgspec.json.Decoder(_Extras)


def _summarize(stage: str, manifest: str, statuses: ItemStatuses) -> dict[str, Any]:
    """Totals of a built-in stage; empty for others."""
    summarize = _SUMMARIES.get(stage)
    return {} if summarize is None else summarize(_read_extras(manifest, statuses))


def _read_extras(manifest: str, statuses: ItemStatuses) -> Iterator[_Extras]:
    with open(manifest, "rb") as file:
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


def _format_contents(stage: str, found: dict[str, Any]) -> list[tuple[str, str]]:
    if not found:
        return []
    if stage == "doctags":
        kinds = ", ".join(f"{count} {kind}" for kind, count in found["kinds"].items())
        pages = pluralize(found["pages"], "page")
        if found["pages_without_text"]:
            pages += f", {found['pages_without_text']} of them without text (scanned?)"
        if found["pages_ocr"]:
            pages += f", {found['pages_ocr']} read by OCR"
        inside = ", ".join(pluralize(found[name], name[:-1]) for name in ("blocks", "tables", "figures"))
        documents = f"{found['documents']} ({kinds})" if kinds else str(found["documents"])
        return [("documents", documents), ("pages", pages), ("inside", inside)]
    if stage == "chunk":
        head = [
            ("chunks", f"{found['chunks']} of {pluralize(found['documents'], 'document')}, {found['tokens']} tokens")
        ]
        return head + [
            ("tokens" if not place else "", bar) for place, bar in enumerate(_format_histogram(found["histogram"]))
        ]
    if stage == "index":
        languages = ", ".join(f"{count} {language}" for language, count in found["languages"].items())
        inside = ", ".join(pluralize(found[name], name[:-1]) for name in ("lines", "symbols", "calls"))
        searchable = f"{pluralize(found['chunks'], 'chunk')} of {pluralize(found['documents'], 'document')}"
        rows = [("searchable", f"{searchable} and {pluralize(found['files'], 'file')} of code")]
        return rows + ([("code", f"{languages}; {inside}")] if found["files"] else [])
    rows = []
    for family, sums in found["families"].items():
        details = [sums["provider"]] if "provider" in sums else []
        details += [f"{sums['dimensions']} dimensions"] if "dimensions" in sums else []
        counts = f"{pluralize(sums['vectors'], 'vector')} of {pluralize(sums['documents'], 'document')}"
        rows.append((family, f"{counts} ({', '.join(details)})" if details else counts))
    if corpus := found["corpus"]:
        rows.append(("corpus", f"{corpus['terms']} terms in {pluralize(corpus['chunks'], 'chunk')}"))
    return rows


def _format_histogram(histogram: list[dict[str, Any]]) -> Iterator[str]:
    most = max(each["chunks"] for each in histogram)
    low = 0
    for each in histogram:
        bound = each["tokens_max"]
        name = f"{low + 1} to {bound}" if bound is not None else f"over {low}"
        low = bound or low
        length = -(-each["chunks"] * _BAR_WIDTH // most) if most else 0
        yield f"{name:12} {'#' * length}{' ' if length else ''}{each['chunks']}"
