"""Opening a journal: a new one, or that of an interrupted run.

    read ─▶ scan ─▶ replay ─▶ ask the sinks ─▶ roll them back ─▶ truncate the journal ─▶ resume

Every step can be interrupted and repeated. Sinks are rolled back before the journal is truncated: while the journal
contains commit runs that may have reached a sink, the next recovery can undo them.

A run whose plan is a remainder is not resumed. `settle_journal` brings its sinks to one position, and the next run
replaces the journal. A sink that cannot be rolled back decides: if it has applied a run that the journal does not
record as committed, the others keep what they have of that run. They got it first, so they have all of it.
"""

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from inorder.core.resume_point import ResumePoint
from inorder.errors import InfrastructureError, IntegrityError, OperatorError
from inorder.host.filesystem import Filesystem, write_atomic
from inorder.host.os_errors import translate_os_errors
from inorder.journal.records import Checkpoint, Commit, Header, Mark, Record, Terminal, encode_record
from inorder.journal.replay import Candidate, CorruptRecord, Replay, replay
from inorder.journal.scan import Claim, ScanResult, ScanVerdict, scan
from inorder.journal.writer import JournalWriter
from inorder.sinks.base import AppliedRun, Output, Position, Sink, advance_sink, find_applied, find_origin

RESTORE_HINT = "restore it from a backup, or remove it to start over"
"""What to do about a damaged journal."""
DISTRUST_SUFFIX = ".distrusted"
"""Suffix of the file that marks a journal with a failed sync. It holds the number of bytes that were synced before."""


class HeaderMismatch(OperatorError):
    """The journal is of another plan, configuration or set of sinks."""


class OpenedJournal(NamedTuple):
    """A journal that is ready for a run."""

    writer: JournalWriter
    resume_point: ResumePoint
    digest: bytes
    """Digest of the items below `resume_point.end`."""
    is_resumed: bool
    is_finished: bool
    """The previous run is complete: there is nothing to resume."""
    warning: str
    """Describes a torn tail that was cut. Empty: there was none."""


def scan_journal(filesystem: Filesystem, path: str) -> ScanResult:
    """Read and scan a journal. Raises OSError if it cannot be read."""
    is_distrusted = filesystem.stat(f"{path}{DISTRUST_SUFFIX}") is not None
    return scan(filesystem.read(path), _read_synced_bytes(filesystem, path) if is_distrusted else None)


def read_journal(filesystem: Filesystem, path: str) -> tuple[ScanResult, Replay]:
    """Read, scan and replay a journal. Raises IntegrityError if it is corrupt."""
    with translate_os_errors(f"the journal {path} cannot be read"):
        scanned = scan_journal(filesystem, path)
    if scanned.verdict is ScanVerdict.FOREIGN:
        raise IntegrityError(
            f"{path} is not a journal of inorder, or its start is damaged: {scanned.message}; {RESTORE_HINT}"
        )
    if not scanned.is_usable:
        raise IntegrityError(
            f"the journal {path} cannot be used: {scanned.verdict.value} at byte {scanned.offset}: {scanned.message}; "
            f"{RESTORE_HINT}"
        )
    try:
        return scanned, replay(scanned.records)
    except CorruptRecord as error:
        raise IntegrityError(f"the journal {path} is {error}; {RESTORE_HINT}") from error


def read_final_marks(filesystem: Filesystem, path: str) -> Mapping[str, Mark] | None:
    """Return where each sink was at the end of the run of a journal, by its name. Return None if there is no journal,
    its run is not complete, or its end is torn. Raises as `read_journal` does."""
    if filesystem.stat(path) is None or filesystem.stat(f"{path}{DISTRUST_SUFFIX}") is not None:
        return None
    scanned, found = read_journal(filesystem, path)
    is_whole = found.is_end and scanned.verdict is not ScanVerdict.TORN
    return found.newest_candidate.marks if is_whole else None


def remove_temporary_files(filesystem: Filesystem, path: str) -> None:
    """Remove what was left by a process that was killed while it replaced a journal or its mark."""
    with translate_os_errors(f"what was left beside {path} cannot be removed"):
        for temporary in (f"{path}.new", f"{path}{DISTRUST_SUFFIX}.new"):
            if filesystem.stat(temporary) is not None:
                filesystem.unlink(temporary)


def create_journal(filesystem: Filesystem, path: str, header: Header, sinks: Sequence[Sink]) -> OpenedJournal:
    """Create a journal, replacing an existing one, and roll every sink back to its origin."""
    remove_temporary_files(filesystem, path)
    origins = [find_origin(sink) for sink in sinks]
    marks = [(origin.end, origin.offset, origin.checksum) for origin in origins]
    first = Checkpoint(end=0, durable=0, marks=marks)
    data = encode_record(header) + encode_record(first)
    with _translate_write_errors(path):
        write_atomic(filesystem, path, data)
        file = filesystem.open(path)
    if filesystem.stat(f"{path}{DISTRUST_SUFFIX}") is not None:
        _remove_mark(filesystem, path)
    for sink, origin in zip(sinks, origins, strict=True):
        sink.roll_back(origin, ())
    writer = JournalWriter(file, path, replay(scan(data).records), len(data))
    return OpenedJournal(writer, ResumePoint(), b"", is_resumed=False, is_finished=False, warning="")


def resume_journal(filesystem: Filesystem, path: str, header: Header | None, sinks: Sequence[Sink]) -> OpenedJournal:
    """Resume from the newest commit that the journal records and every sink holds. Raises HeaderMismatch if the journal
    is of another plan or configuration than `header`; None accepts any."""
    remove_temporary_files(filesystem, path)
    scanned, state = read_journal(filesystem, path)
    _require_same_header(path, header, state.header, [sink.name for sink in sinks])
    is_distrusted = filesystem.stat(f"{path}{DISTRUST_SUFFIX}") is not None
    if is_distrusted:
        state = _replay_synced(scanned, _read_synced_bytes(filesystem, path))
    candidate = _choose_candidate(path, state, sinks)
    try:
        _roll_back(scanned, candidate, sinks)
        for sink in sinks:  # the next checkpoint says that all is durable; a killed process may not have synced it
            sink.sync()
        kept = _replay_until(scanned, state, candidate)
        writer = (_rewrite if is_distrusted else _truncate)(filesystem, path, kept, candidate.offset)
    except InfrastructureError:
        if not is_distrusted:  # after a failed sync the old bytes beyond the cut may reappear
            mark_distrusted(filesystem, path, min(_find_claimed_bytes(scanned), candidate.offset))
        raise
    if is_distrusted:
        _remove_mark(filesystem, path)
    warning = ""
    if scanned.verdict is ScanVerdict.TORN:
        warning = f"the journal {path} has a torn tail at byte {scanned.offset}: {scanned.message}; it was cut there"
    is_finished = state.is_end and candidate == state.newest_candidate
    return OpenedJournal(writer, state.build_resume_point(candidate), candidate.digest, True, is_finished, warning)


def replace_header(filesystem: Filesystem, path: str, writer: JournalWriter, header: Header) -> None:
    """Make a journal that was resumed the journal of another header. It is replaced as a whole."""
    writer.state.header = header
    data = writer.build_compacted(drops_uncommitted=True)
    with _translate_write_errors(path):
        write_atomic(filesystem, path, data)
        writer.switch_file(filesystem.open(path), data)


def settle_journal(filesystem: Filesystem, path: str, sinks: Sequence[Sink]) -> str:
    """Bring the sinks of an interrupted run, which is not resumed, to the newest position that all of them hold. Sinks
    that the run did not have stay as they are. Repeated, it changes nothing more. Returns a warning, or an empty
    string. The journal stays as it is; the caller replaces it."""
    scanned, state = read_journal(filesystem, path)
    known = [] if state.header is None else state.header.sinks
    sinks = [sink for sink in sinks if sink.name in known]
    _require_same_header(path, None, state.header, known)
    if filesystem.stat(f"{path}{DISTRUST_SUFFIX}") is not None:
        state = _replay_synced(scanned, _read_synced_bytes(filesystem, path))
    candidate = _choose_candidate(path, state, sinks)
    terminals = [one.record for one in scanned.records if isinstance(one.record, Terminal)]
    end, positions, warning = _roll_forward(candidate, terminals, sinks)
    undone = _list_runs_from(terminals, end)
    for sink, position in zip(sinks, positions, strict=True):
        sink.roll_back(position, undone)
        sink.sync()
    return warning


def _roll_forward(
    candidate: Candidate, terminals: Sequence[Terminal], sinks: Sequence[Sink]
) -> tuple[int, list[Position], str]:
    """Return the seq and the positions of the sinks that follow the one which cannot be rolled back, and a warning if
    one of them cannot follow."""
    marks = [Position(*candidate.marks[sink.name]) for sink in sinks]
    applied = [find_applied(sink, mark) for sink, mark in zip(sinks, marks, strict=True)]
    end = max((position.end for position in applied), default=candidate.end)
    if end == candidate.end:
        return end, marks, ""
    runs = [run for run in _list_runs_from(terminals, candidate.end) if run.end <= end]
    if runs and runs[-1].end == end:
        reached = [
            position if position.end == end else advance_sink(sink, mark, runs)
            for sink, mark, position in zip(sinks, marks, applied, strict=True)
        ]
        found = [position for position in reached if position is not None]
        if len(found) == len(sinks):
            return end, found, ""
    behind = ", ".join(sink.name for sink, position in zip(sinks, applied, strict=True) if position.end < end)
    warning = f"seqs {candidate.end} to {end - 1} of the interrupted run are missing in {behind}"
    return candidate.end, marks, warning


def _list_runs_from(terminals: Iterable[Terminal], start: int) -> list[AppliedRun]:
    """List the runs from `start` on."""
    return _list_applied_runs(terminal.slice_from(start) for terminal in terminals if terminal.end > start)


def mark_distrusted(filesystem: Filesystem, path: str, durable: int) -> None:
    """Note on disk that a sync of this journal or of a sink failed, and how many bytes were synced before. Best effort:
    the disk has just failed."""
    with contextlib.suppress(OSError):
        write_atomic(filesystem, f"{path}{DISTRUST_SUFFIX}", b"%d\n" % durable)


def _read_synced_bytes(filesystem: Filesystem, path: str) -> int:
    """Read how many bytes were synced before a sync failed; 0 if that is unknown."""
    with contextlib.suppress(OSError, ValueError):
        return int(filesystem.read(f"{path}{DISTRUST_SUFFIX}"))
    return 0


def _rewrite(filesystem: Filesystem, path: str, kept: Replay, offset: int) -> JournalWriter:
    """Continue in a new file. After a failed sync the old one cannot be made durable any more, and until the new one is
    in place it must stay as it is."""
    with _translate_write_errors(path):
        writer = JournalWriter(filesystem.open(path), path, kept, offset)
        data = writer.build_compacted(drops_uncommitted=True)
        write_atomic(filesystem, path, data)
        writer.switch_file(filesystem.open(path), data)
    return writer


def _remove_mark(filesystem: Filesystem, path: str) -> None:
    with translate_os_errors(f"{path}{DISTRUST_SUFFIX} cannot be removed"):
        filesystem.unlink(f"{path}{DISTRUST_SUFFIX}")
        filesystem.sync_directory(os.path.dirname(path) or ".")


def _replay_synced(scanned: ScanResult, durable: int) -> Replay:
    """Replay up to the latest record at which everything is known to be synced. Later records may exist only in the
    page cache: a failed sync leaves them there, and later syncs skip them. `durable` counts even if records claim more,
    because a tail that was cut may have reappeared."""
    start = scanned.records[min(1, len(scanned.records) - 1)].end  # header and first checkpoint are always durable
    durable_end = max(durable or _find_claimed_bytes(scanned), start)
    kept = [one for one in scanned.records if one.end <= durable_end]
    while not _is_synced(kept[-1].record):
        kept.pop()
    return replay(kept)


def _find_claimed_bytes(scanned: ScanResult) -> int:
    """Return how many bytes of the journal were synced according to its own records."""
    return max((one.record.durable for one in scanned.records if isinstance(one.record, Claim)), default=0)


def _is_synced(record: Record) -> bool:
    return isinstance(record, Header | Checkpoint) or (isinstance(record, Commit) and record.is_synced)


def _replay_until(scanned: ScanResult, state: Replay, candidate: Candidate) -> Replay:
    """Replay the records up to a candidate."""
    kept = replay(record for record in scanned.records if record.end <= candidate.offset)
    kept.granted = state.build_resume_point(candidate).retries_granted
    kept.windows = list(state.windows)  # retries belong to a window, which may be recorded after the candidate
    return kept


def _truncate(filesystem: Filesystem, path: str, kept: Replay, offset: int) -> JournalWriter:
    """Truncate the journal at the resume point and write a checkpoint."""
    with _translate_write_errors(path):
        filesystem.sync_directory(os.path.dirname(path) or ".")  # the rename that created the file may not be synced
        file = filesystem.open(path)
        file.truncate(offset)
        file.sync()
    writer = JournalWriter(file, path, kept, offset)
    writer.append(*writer.build_checkpoint(drops_uncommitted=True))
    writer.sync()
    return writer


def _translate_write_errors(path: str) -> AbstractContextManager[None]:
    return translate_os_errors(f"the journal {path} cannot be written")


def _require_same_header(path: str, ours: Header | None, theirs: Header | None, sinks: list[str]) -> None:
    if theirs is None:
        raise IntegrityError(f"the journal {path} has no header")
    ours = ours or theirs
    for what, mine, other in (
        ("plan", ours.plan_hash, theirs.plan_hash),
        ("configuration", ours.config_hash, theirs.config_hash),
        ("set of sinks", sinks, theirs.sinks),
    ):
        if mine != other:
            raise HeaderMismatch(
                f"the {what} has changed since the journal {path} was created; "
                f"run again with the same {what}, or start over with another journal"
            )


def _choose_candidate(path: str, state: Replay, sinks: Sequence[Sink]) -> Candidate:
    for candidate in reversed(state.candidates):
        since = _list_applied_runs(terminal for terminal in state.terminals if terminal.start < candidate.end)
        if all(sink.holds(Position(*candidate.marks[sink.name]), since) for sink in sinks):
            return candidate
    names = ", ".join(sink.name for sink in sinks)
    raise IntegrityError(
        f"the journal {path} records commits up to seq {state.candidates[0].end} that the sinks no longer hold "
        f"({names}); restore them from a backup, or remove the journal to start over"
    )


def _roll_back(scanned: ScanResult, candidate: Candidate, sinks: Sequence[Sink]) -> None:
    terminals = (one.record for one in scanned.records if isinstance(one.record, Terminal))
    undone = _list_runs_from(terminals, candidate.end)
    for sink in sinks:
        sink.roll_back(Position(*candidate.marks[sink.name]), undone)


def _list_applied_runs(terminals: Iterable[Terminal]) -> list[AppliedRun]:
    runs = []
    for terminal in terminals:
        outputs = {
            terminal.start + position: [Output(*mark) for mark in detail.outputs]
            for position, detail in terminal.details.items()
            if detail.outputs
        }
        runs.append(AppliedRun(terminal.start, terminal.end, outputs))
    return runs
