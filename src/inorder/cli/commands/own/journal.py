"""`inorder journal`: the contents of a journal."""

import datetime
import os
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from inorder.cli.exit_codes import Exit
from inorder.cli.option_spec import Section
from inorder.cli.output import format_table, print_json, print_out
from inorder.cli.parameters import JsonOption
from inorder.errors import OperatorError
from inorder.host.filesystem import SystemFilesystem
from inorder.journal.records import Checkpoint, Commit, Header, Record, Terminal, get_record_type
from inorder.journal.replay import CorruptRecord, Replay, replay
from inorder.journal.scan import ScannedRecord, ScanResult, ScanVerdict
from inorder.runtime.recovery import RESTORE_HINT, scan_journal

_NEXT_STEPS = {
    ScanVerdict.TORN.value: " (the next run truncates it there)",
    ScanVerdict.CORRUPT.value: f"; {RESTORE_HINT}",
    ScanVerdict.FOREIGN.value: f"; {RESTORE_HINT}",
}


def journal(
    path: Annotated[
        Path, typer.Argument(help="The journal file, as in DATA/journal/NAME.journal.", rich_help_panel=Section.INPUT)
    ],
    last: Annotated[
        int,
        typer.Option(
            "--last", metavar="N", help="Number of latest records to show. Default: 5.", min=0, show_default=False
        ),
    ] = 5,
    as_json: JsonOption = False,
) -> None:
    """Print what a journal holds: its run, how far that run has come, and whether the journal is intact.

    Exit codes: 0 intact, or with a torn tail that the next run truncates; 6 corrupt, or not a journal.
    """
    found = _scan(path)
    state, damage = _replay(found)
    verdict = "corrupt" if damage is not None else found.verdict.value
    message = str(damage) if damage is not None else found.message
    description = describe(os.fspath(path), found, state, verdict, message, last)
    if as_json:
        print_json(description)
    else:
        print_out(*_format(description))
    if damage is not None or not found.is_usable:
        raise typer.Exit(Exit.INTEGRITY)


def _scan(path: Path) -> ScanResult:
    if path.is_dir():
        raise OperatorError(f"{path} is a directory; name the journal file in it")
    try:
        return scan_journal(SystemFilesystem(), os.fspath(path))
    except FileNotFoundError:
        raise OperatorError(f"no such file or directory: {path}") from None


def _replay(found: ScanResult) -> tuple[Replay, CorruptRecord | None]:
    """Replay the records up to the first inconsistent one. Returns that one's error, too."""
    try:
        return replay(found.records), None
    except CorruptRecord as error:
        return replay(record for record in found.records if record.end <= error.offset), error


def describe(path: str, found: ScanResult, state: Replay, verdict: str, message: str, last: int) -> dict[str, Any]:
    """The contents of a journal for `--json`."""
    counts = state.count_outcomes(state.newest_candidate.end)._asdict() if state.candidates else {}
    header = state.header
    return {
        "path": path,
        "verdict": verdict,
        "verdict_offset": found.offset,
        "message": message,
        "header": None if header is None else msgspec.to_builtins(_to_fields(header)),
        "records": len(found.records),
        "bytes": found.offset,
        "cursor": state.newest_candidate.end if state.candidates else 0,
        "terminal": state.terminal_end,
        **counts,
        "retries_under_way": {str(seq): count for seq, count in sorted(state.granted.items())},
        "sinks": {name: list(mark) for name, mark in state.newest_candidate.marks.items()} if state.candidates else {},
        "open_windows": [[window.id, window.start, window.target_entries] for window in state.windows],
        "has_ended": state.is_end,
        "last": [_summarize(one) for one in found.records[len(found.records) - min(last, len(found.records)) :]],
    }


def _to_fields(record: Record) -> dict[str, Any]:
    return {field: getattr(record, field) for field in record.__struct_fields__}


def _summarize(found: ScannedRecord) -> dict[str, Any]:
    record = found.record
    return {"offset": found.offset, "type": get_record_type(record).name.lower(), "says": _describe_record(record)}


def _describe_record(record: Record) -> str:
    if isinstance(record, Header):
        return f"run {record.run_id or '(unnamed)'}"
    if isinstance(record, Terminal):
        return f"outcomes of seqs {record.start} to {record.end - 1}"
    if isinstance(record, Checkpoint):
        return f"everything below seq {record.end} is committed and synced" + (", the end" if record.is_end else "")
    if isinstance(record, Commit):
        return f"everything below seq {record.end} is committed"
    return ", ".join(f"{name} {value}" for name, value in _to_fields(record).items() if value is not None)


def _format(description: dict[str, Any]) -> list[str]:
    header = description["header"]
    rows: list[tuple[str, ...]] = [("journal", description["path"])]
    if header is not None:
        created = datetime.datetime.fromtimestamp(header["created_ms"] / 1000, datetime.UTC)
        rows += [
            ("run", header["run_id"] or "(unnamed)"),
            ("started", created.isoformat(timespec="seconds")),
            ("plan", header["plan_hash"] or "(lazy)"),
            ("configuration", header["config_hash"]),
        ]
    rows.append(("records", f"{description['records']} in {description['bytes']} bytes"))
    if description["records"]:
        rows += _format_progress(description)
    next_step = _NEXT_STEPS.get(description["verdict"], "")
    where = f" at byte {description['verdict_offset']}: {description['message']}" if description["message"] else ""
    rows.append(("verdict", description["verdict"] + where + next_step))
    lines = format_table(rows)
    if description["last"]:
        latest = [(str(one["offset"]), one["type"], one["says"]) for one in description["last"]]
        lines += ["", "latest records:", *format_table(latest)]
    return lines


def _format_progress(description: dict[str, Any]) -> list[tuple[str, ...]]:
    counts = f"{description['succeeded']} succeeded, {description['skipped']} skipped, {description['failed']} failed"
    state = "ended" if description["has_ended"] else "interrupted or still running"
    rows: list[tuple[str, ...]] = [
        ("committed", f"everything below seq {description['cursor']}: {counts}; {description['retries']} retries"),
        ("state", state),
    ]
    for name, (end, offset, checksum) in description["sinks"].items():
        rows.append(("sink", f"{name}: seq {end}, offset {offset}, checksum {checksum:08x}"))
    return rows
