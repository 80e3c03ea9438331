"""The part of `inorder inspect` that is about the library: files, steps, and the latest run."""

import datetime
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import msgspec

from inorder.cli.data_dir import DataDirectory, JournalState
from inorder.cli.output import format_table, pluralize
from inorder.library.reader import LibraryReader
from inorder.pipeline.names import EXTRACT, PASSES, RUN, is_chosen, name_manifest
from inorder.pipeline.outcome import describe_counts, describe_end, describe_model
from inorder.pipeline.state import LibraryState, describe_state, read_state
from inorder.report.contents import summarize_step
from inorder.stage.monitor.live import read_live_state
from inorder.stage.monitor.stall import HeadReport, describe_running

_BAR_WIDTH = 40


def describe_library(data: DataDirectory, name: str | None) -> dict[str, Any]:
    """The library for `--json`: its state, with the steps that a name means."""
    state = read_state(data.root)
    steps = [
        {"step": step, **msgspec.to_builtins(found), "contents": summarize_step(data.root, step)}
        for step, found in state.steps.items()
        if name is None or is_chosen(step, name)
    ]
    with closing(LibraryReader(data.root)) as library:
        sources = [{"name": source.name, "path": source.path} for source in library.list_sources()]
    latest = _describe_latest(data, state)
    described: dict[str, Any] = msgspec.to_builtins(state)
    return described | {
        "published_at": _format_time(state.published_at),
        "lines": describe_state(state),
        "sources": sources,
        "steps": steps,
        "latest": latest,
        "warnings": _list_warnings(data, state, latest),
    }


def _describe_latest(data: DataDirectory, state: LibraryState) -> dict[str, Any]:
    """The latest run: its outcome, and whether it goes on."""
    pass_ = next((name for name in reversed(PASSES) if data.describe_holder(name)), RUN)
    holder, journal = data.describe_holder(pass_), data.read_journal(RUN)
    unfinished_at = None if journal is None else journal.unfinished_at
    outcome = state.latest
    ended = describe_end(outcome)
    return {
        "run_id": "" if outcome is None else outcome.run_id,
        "state": "running" if holder else ended if unfinished_at is None else "interrupted",
        "holder": holder,
        "counts": None if outcome is None else msgspec.to_builtins(outcome.counts),
        "line": "" if outcome is None else describe_counts(outcome.counts),
        "model": None if outcome is None else msgspec.to_builtins(outcome.model),
        "model_line": "" if outcome is None else describe_model(outcome.model),
        "extracted": None if outcome is None else msgspec.to_builtins(outcome.extracted),
        "extracted_line": "" if outcome is None else describe_model(outcome.extracted, "answered"),
        "steps": {} if outcome is None else msgspec.to_builtins(outcome.steps),
        "live": read_live_state(data.layout(pass_).live) if holder else None,
    }


def _list_warnings(data: DataDirectory, state: LibraryState, latest: dict[str, Any]) -> list[str]:
    found = list_run_warnings(data.read_journal(RUN), latest["holder"])
    if state.failed:
        found.append(f"{pluralize(state.failed, 'file')} failed: see `inorder failures{data.option}`")
    if state.with_warnings:
        files = pluralize(state.with_warnings, "file")
        found.append(f"{files} read with warnings: see `inorder manifest --state --jsonl{data.option}`")
    return found


def list_run_warnings(journal: JournalState | None, holder: str) -> list[str]:
    """What a journal, and the process that holds its lock, say of the latest run that wants attention."""
    found = [holder] if holder else []
    if journal is None:
        found.append("the journal is missing")
    elif journal.damage:
        found.append(f"the journal is {journal.damage}")
    elif journal.unfinished_at is not None and not holder:
        after = pluralize(journal.unfinished_at, "item")
        found.append(f"the latest run was interrupted after {after}: run the same command again to resume")
    return found


def _format_time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds") if seconds else ""


def format_library(library: dict[str, Any]) -> list[str]:
    """The same in lines."""
    rows = [
        (subject if not place else "", line)
        for subject, lines in library["lines"].items()
        for place, line in enumerate(lines)
    ]
    rows.append(("generation", f"{library['generation']}, published {library['published_at'] or 'never'}"))
    rows += [("source", f"{source['name']}  {source['path']}") for source in library["sources"]]
    latest = library["latest"]
    if latest["run_id"]:
        rows.append(("latest run", f"{latest['run_id']}, {latest['state']}: {latest['line']}"))
    rows += [("pages", latest["model_line"])] if latest["model_line"] else []
    rows += [("extracted", latest["extracted_line"])] if latest["extracted_line"] else []
    rows += format_live(latest["live"])
    rows += [("warning", warning) for warning in library["warnings"]]
    lines = [f"  {line}" for line in format_table(rows)]
    for step in library["steps"]:
        failed = f", {step['failed']:,} failed" if step["failed"] else ""
        facts = [("files", f"{step['done']:,} done{failed}")]
        if step["failures"]:
            facts.append(("failures", ", ".join(f"{count} {name}" for name, count in step["failures"].items())))
        facts += _format_contents(step["step"].partition(":")[0], step["contents"])
        lines += ["", f"step {name_manifest(step['step'])}", *(f"  {line}" for line in format_table(facts))]
    return lines


def format_live(live: dict[str, Any] | None) -> list[tuple[str, str]]:
    """What a run that is under way does and waits for, and which items report their progress."""
    doing = [("doing", live["doing"])] if live is not None and live.get("doing") else []
    if live is None or live["head"] is None:
        return doing
    head = msgspec.convert(live["head"], HeadReport)
    rows = [*doing, ("waiting for", f"{head.describe()}; no commit for {live['waited_s']:.0f} s")]
    running = [item for item in live["running"] if item["seq"] != head.seq]
    others = [(item["item_id"], describe_running(item)) for item in running]
    return rows + [("running", f"{item_id}: {said}") for item_id, said in others if said]


def _format_contents(stage: str, found: dict[str, Any]) -> list[tuple[str, str]]:
    if not found:
        return []
    if stage == "doctags":
        kinds = ", ".join(f"{count} {kind}" for kind, count in found["kinds"].items())
        pages = pluralize(found["pages"], "page")
        if found["pages_without_text"]:
            pages += f", {found['pages_without_text']} of them without readable text (scanned?)"
        if found["pages_ocr"]:
            pages += f", {found['pages_ocr']} read by OCR"
        inside = ", ".join(pluralize(found[name], name[:-1]) for name in ("blocks", "tables", "figures"))
        documents = f"{found['documents']} ({kinds})" if kinds else str(found["documents"])
        return [("documents", documents), ("pages", pages), ("inside", inside)]
    if stage == EXTRACT:
        lacking = f"; {pluralize(found['lacking'], 'part')} not answered" if found["lacking"] else ""
        return [("rows", f"{found['rows']:,} of {pluralize(found['documents'], 'document')}{lacking}")]
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
        rows += [("code", f"{languages}; {inside}")] if found["files"] else []
        return [*rows, *_format_families(found["families"])]
    return _format_families(found["families"])


def _format_families(families: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for family, sums in families.items():
        details = [*sums.get("providers", ())]
        details += [f"{sums['dimensions']} dimensions"] if "dimensions" in sums else []
        details += [pluralize(sums["terms"], "term")] if "terms" in sums else []
        if nnz := sums.get("nnz"):
            details.append(f"{nnz['avg']:.1f} per vector, 99 % up to {nnz['p99']}")
        if outliers := sums.get("norms", {}).get("outliers"):
            details.append(f"{outliers} of unusual length")
        counts = f"{pluralize(sums['vectors'], 'vector')} of {pluralize(sums['documents'], 'document')}"
        rows.append((family, f"{counts} ({', '.join(details)})" if details else counts))
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
