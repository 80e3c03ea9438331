"""`inorder journal PATH`: what a journal holds, in words."""

import datetime
import os
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from inorder.cli.output import complain, show, show_json, table
from inorder.errors import OperatorError
from inorder.host.filesystem import SystemFilesystem
from inorder.journal.records import Checkpoint, Commit, Header, Record, Terminal
from inorder.journal.replay import Corrupt, Replay, replay
from inorder.journal.scan import Found, Scan, Verdict
from inorder.runtime.recovery import scan_journal

INTEGRITY = 6


def journal(
    path: Annotated[Path, typer.Argument(help="The journal: a file that ends in .journal, or whatever you called it.")],
    last: Annotated[int, typer.Option("--last", help="Show this many of the latest records.", min=0)] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Say what a journal holds: whose it is, how far its run came, and whether it is whole.

    Exit code 0: clean, or with a torn tail that the next run will cut. 6: corrupt, or not a journal.
    """
    found = _scanned(path)
    state, trouble = _replayed(found)
    verdict = "corrupt" if trouble is not None else found.verdict.value
    message = str(trouble) if trouble is not None else found.message
    description = describe(os.fspath(path), found, state, verdict, message, last)
    if as_json:
        show_json(description)
    else:
        show(*in_words(description))
    if trouble is not None or not found.is_usable:
        complain(f"{path}: {verdict} at byte {description['verdict_offset']}: {message}")
        raise typer.Exit(INTEGRITY)


def _scanned(path: Path) -> Scan:
    if path.is_dir():
        raise OperatorError(f"{path} is a folder; name the journal in it")
    try:
        return scan_journal(SystemFilesystem(), os.fspath(path))
    except FileNotFoundError:
        raise OperatorError(f"there is no {path}") from None


def _replayed(found: Scan) -> tuple[Replay, Corrupt | None]:
    """As far as the records make sense, and the one that does not."""
    try:
        return replay(found.found), None
    except Corrupt as error:
        return replay(record for record in found.found if record.end <= error.offset), error


def describe(path: str, found: Scan, state: Replay, verdict: str, message: str, last: int) -> dict[str, Any]:
    """All of it as plain data."""
    counts = state.counts_at(state.newest.end)._asdict() if state.candidates else {}
    header = state.header
    return {
        "path": path,
        "verdict": verdict,
        "verdict_offset": found.offset,
        "message": message,
        "header": None if header is None else msgspec.to_builtins(_named(header)),
        "records": len(found.found),
        "bytes": found.offset,
        "cursor": state.newest.end if state.candidates else 0,
        "terminal": state.terminal_end,
        **counts,
        "retries_under_way": {str(seq): count for seq, count in sorted(state.granted.items())},
        "sinks": {name: list(mark) for name, mark in state.newest.marks.items()} if state.candidates else {},
        "open_windows": [[window.id, window.start, window.target_entries] for window in state.windows],
        "has_ended": state.is_end,
        "last": [_summary(one) for one in found.found[len(found.found) - min(last, len(found.found)) :]],
    }


def _named(record: Record) -> dict[str, Any]:
    return {field: getattr(record, field) for field in record.__struct_fields__}


def _summary(found: Found) -> dict[str, Any]:
    record = found.record
    return {"offset": found.offset, "type": type(record).__name__.lower(), "says": _says(record)}


def _says(record: Record) -> str:
    if isinstance(record, Header):
        return f"run {record.run_id or '(unnamed)'}"
    if isinstance(record, Terminal):
        return f"outcomes of seqs {record.start} to {record.end - 1}"
    if isinstance(record, Checkpoint):
        return f"everything below seq {record.end} is committed and synced" + (", the end" if record.is_end else "")
    if isinstance(record, Commit):
        return f"everything below seq {record.end} is committed"
    return ", ".join(f"{name} {value}" for name, value in _named(record).items() if value is not None)


def in_words(description: dict[str, Any]) -> list[str]:
    """For people."""
    header = description["header"]
    rows: list[tuple[str, ...]] = [("journal", description["path"])]
    if header is not None:
        created = datetime.datetime.fromtimestamp(header["created_ms"] / 1000, datetime.UTC)
        rows += [
            ("run", header["run_id"] or "(unnamed)"),
            ("begun", created.isoformat(timespec="seconds")),
            ("plan", header["plan_hash"] or "(read as the run goes on)"),
            ("configuration", header["config_hash"]),
        ]
    rows.append(("records", f"{description['records']} in {description['bytes']} bytes"))
    if description["records"]:
        rows += _progress(description)
    torn = description["verdict"] == Verdict.TORN.value
    where = f" at byte {description['verdict_offset']}: {description['message']}" if description["message"] else ""
    rows.append(("verdict", description["verdict"] + where + (" (the next run cuts it there)" if torn else "")))
    lines = table(rows)
    if description["last"]:
        latest = [(str(one["offset"]), one["type"], one["says"]) for one in description["last"]]
        lines += ["", "latest records:", *table(latest)]
    return lines


def _progress(description: dict[str, Any]) -> list[tuple[str, ...]]:
    counts = f"{description['succeeded']} succeeded, {description['skipped']} skipped, {description['failed']} failed"
    state = "the run has ended" if description["has_ended"] else "interrupted or under way"
    rows: list[tuple[str, ...]] = [
        ("committed", f"everything below seq {description['cursor']}: {counts}; {description['retries']} retries"),
        ("state", state),
    ]
    for name, (end, offset, checksum) in description["sinks"].items():
        rows.append(("sink", f"{name}: seq {end}, offset {offset}, checksum {checksum:08x}"))
    return rows
