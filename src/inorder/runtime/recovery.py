"""Opening a journal: a new one, or one that an interrupted run has left.

    read ─▶ scan ─▶ replay ─▶ ask the sinks ─▶ roll them back ─▶ cut the journal ─▶ go on

Every step can be interrupted and done again. Sinks are rolled back before the journal is cut: as long as the journal
tells of runs that may have reached a sink, whoever comes next can undo them.
"""

import contextlib
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from inorder.core.resume_point import ResumePoint
from inorder.errors import InfrastructureError, IntegrityError, OperatorError
from inorder.host.filesystem import Filesystem, write_atomic
from inorder.journal.records import Checkpoint, Commit, Header, Record, Terminal, encode
from inorder.journal.replay import Candidate, Corrupt, Replay, replay
from inorder.journal.scan import Claim, Scan, Verdict, scan
from inorder.journal.writer import Writer
from inorder.sinks.base import AppliedRun, Output, Position, Sink, find_origin

DISTRUSTED = ".distrusted"
"""Ending of the file that says so."""


class Opened(NamedTuple):
    """A journal that is ready to go on."""

    writer: Writer
    resume_point: ResumePoint
    digest: bytes
    """Of the items below `restored.end`."""
    is_resumed: bool
    is_finished: bool
    """The run went to its end; there is nothing left to do."""
    warning: str
    """What was lost, in words; empty: nothing."""


def scan_journal(filesystem: Filesystem, path: str) -> Scan:
    """The records of a journal, and what they are worth; OSError where it cannot be read."""
    is_distrusted = filesystem.stat(f"{path}{DISTRUSTED}") is not None
    return scan(filesystem.read(path), _synced_bytes(filesystem, path) if is_distrusted else None)


def read_journal(filesystem: Filesystem, path: str) -> tuple[Scan, Replay]:
    """What a journal says. Raises IntegrityError where it cannot be trusted."""
    try:
        found = scan_journal(filesystem, path)
    except OSError as error:
        raise InfrastructureError(f"the journal {path} cannot be read ({error.strerror or error})") from error
    if found.verdict is Verdict.FOREIGN:
        raise IntegrityError(f"{path} is not a journal of inorder, or its beginning is damaged: {found.message}")
    if not found.is_usable:
        raise IntegrityError(
            f"the journal {path} is unusable: {found.verdict.value} at byte {found.offset}: {found.message}; "
            "restore it from a copy, or remove it to begin anew"
        )
    try:
        return found, replay(found.found)
    except Corrupt as error:
        raise IntegrityError(
            f"the journal {path} is {error}; restore it from a copy, or remove it to begin anew"
        ) from error


def create(filesystem: Filesystem, path: str, header: Header, sinks: Sequence[Sink]) -> Opened:
    """Begin a new journal in the place of whatever was there, with every sink at its origin."""
    origins = [find_origin(sink) for sink in sinks]
    marks = [(origin.end, origin.offset, origin.checksum) for origin in origins]
    first = Checkpoint(end=0, durable=0, marks=marks)
    data = encode(header) + encode(first)
    try:
        write_atomic(filesystem, path, data)
        file = filesystem.open(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    for sink, origin in zip(sinks, origins, strict=True):
        sink.roll_back(origin, ())
    writer = Writer(file, path, replay(scan(data).found), len(data))
    return Opened(writer, ResumePoint(), b"", is_resumed=False, is_finished=False, warning="")


def resume(filesystem: Filesystem, path: str, header: Header | None, sinks: Sequence[Sink]) -> Opened:
    """Go on from the newest place that the journal knows and every sink can show. Without a header of ours, whatever
    plan and configuration it was of."""
    found, state = read_journal(filesystem, path)
    _require_same(path, header, state.header, [sink.name for sink in sinks])
    is_distrusted = filesystem.stat(f"{path}{DISTRUSTED}") is not None
    if is_distrusted:
        state = _as_synced(found, _synced_bytes(filesystem, path))
    candidate = _choose(path, state, sinks)
    try:
        _roll_back(found, candidate, sinks)
        for sink in sinks:  # a dead process may have left what it did not sync, and what follows says that all is safe
            sink.sync()
        kept = _kept(found, state, candidate)
        writer = (_write_anew if is_distrusted else _cut)(filesystem, path, kept, candidate.offset)
    except InfrastructureError:
        if not is_distrusted:  # beyond the cut, whatever was there may come back under what was written over it
            distrust(filesystem, path, min(_claimed(found), candidate.offset))
        raise
    if is_distrusted:
        _trust_again(filesystem, path)
    warning = ""
    if found.verdict is Verdict.TORN:
        warning = f"the journal {path} has a torn tail at byte {found.offset}: {found.message}; cut there"
    is_finished = state.is_end and candidate == state.newest
    return Opened(writer, state.resume_point(candidate), candidate.digest, True, is_finished, warning)


def distrust(filesystem: Filesystem, path: str, durable: int) -> None:
    """Leave word that this journal, or something with it, could not be synced, and how much of it was before. As well
    as can be done on a disk that has just failed."""
    with contextlib.suppress(OSError):
        write_atomic(filesystem, f"{path}{DISTRUSTED}", b"%d\n" % durable)


def _synced_bytes(filesystem: Filesystem, path: str) -> int:
    """What that word says; 0 where it cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        return int(filesystem.read(f"{path}{DISTRUSTED}"))
    return 0


def _write_anew(filesystem: Filesystem, path: str, kept: Replay, offset: int) -> Writer:
    """Go on in a file of its own: of the one that is there, neither bytes nor name can be made safe any more, and
    whoever comes next must find it as it is."""
    try:
        writer = Writer(filesystem.open(path), path, kept, offset)
        data = writer.compacted(forgets=True)
        write_atomic(filesystem, path, data)
        writer.go_on_in(filesystem.open(path), data)
    except OSError as error:
        raise _unwritable(path, error) from error
    return writer


def _trust_again(filesystem: Filesystem, path: str) -> None:
    try:
        filesystem.unlink(f"{path}{DISTRUSTED}")
        filesystem.sync_directory(os.path.dirname(path) or ".")
    except OSError as error:
        raise InfrastructureError(f"{path}{DISTRUSTED} cannot be removed ({error.strerror or error})") from error


def _as_synced(found: Scan, durable: int) -> Replay:
    """The state at the latest place at which everything is known to have been synced. What came after may be nowhere
    but in memory, however well it reads: a failed sync leaves it there, and later ones pass it over. The word counts
    even where records claim more: a tail that was cut may have come back since."""
    begun = found.found[min(1, len(found.found) - 1)].end  # the header and the first checkpoint are always safe
    safe = max(durable or _claimed(found), begun)
    kept = [one for one in found.found if one.end <= safe]
    while not _is_synced(kept[-1].record):
        kept.pop()
    return replay(kept)


def _claimed(found: Scan) -> int:
    """How much of the journal was synced, as its own records say."""
    return max((one.record.durable for one in found.found if isinstance(one.record, Claim)), default=0)


def _is_synced(record: Record) -> bool:
    return isinstance(record, Header | Checkpoint) or (isinstance(record, Commit) and record.is_synced)


def _kept(found: Scan, state: Replay, candidate: Candidate) -> Replay:
    """What the journal says where the run goes on."""
    kept = replay(record for record in found.found if record.end <= candidate.offset)
    kept.granted = state.resume_point(candidate).retries_granted
    kept.windows = list(state.windows)  # what was granted belongs to a window, also where that is told of after the cut
    return kept


def _cut(filesystem: Filesystem, path: str, kept: Replay, offset: int) -> Writer:
    """Cut the journal where the run goes on, and say everything anew."""
    try:
        filesystem.sync_directory(os.path.dirname(path) or ".")  # who renamed the file into its place may not have
        file = filesystem.open(path)
        file.truncate(offset)
        file.sync()
    except OSError as error:
        raise _unwritable(path, error) from error
    writer = Writer(file, path, kept, offset)
    writer.append(*writer.checkpoint(forgets=True))
    writer.sync()
    return writer


def _unwritable(path: str, error: OSError) -> InfrastructureError:
    return InfrastructureError(f"the journal {path} cannot be written ({error.strerror or error})")


def _require_same(path: str, ours: Header | None, theirs: Header | None, sinks: list[str]) -> None:
    if theirs is None:
        raise IntegrityError(f"the journal {path} has no header")
    ours = ours or theirs
    for what, mine, other in (
        ("plan", ours.plan_hash, theirs.plan_hash),
        ("configuration", ours.config_hash, theirs.config_hash),
        ("set of sinks", sinks, theirs.sinks),
    ):
        if mine != other:
            raise OperatorError(
                f"the {what} has changed since the journal {path} was begun; "
                f"run again with the same {what}, or begin anew with another journal"
            )


def _choose(path: str, state: Replay, sinks: Sequence[Sink]) -> Candidate:
    for candidate in reversed(state.candidates):
        since = _traces(terminal for terminal in state.terminals if terminal.start < candidate.end)
        if all(sink.holds(Position(*candidate.marks[sink.name]), since) for sink in sinks):
            return candidate
    names = ", ".join(sink.name for sink in sinks)
    raise IntegrityError(
        f"what the journal {path} says was committed up to seq {state.candidates[0].end} is not there any more "
        f"({names}); restore it from a copy, or remove the journal to begin anew"
    )


def _roll_back(found: Scan, candidate: Candidate, sinks: Sequence[Sink]) -> None:
    terminals = (one.record for one in found.found if isinstance(one.record, Terminal))
    undone = _traces(terminal.from_(candidate.end) for terminal in terminals if terminal.end > candidate.end)
    for sink in sinks:
        sink.roll_back(Position(*candidate.marks[sink.name]), undone)


def _traces(terminals: Iterable[Terminal]) -> list[AppliedRun]:
    traces = []
    for terminal in terminals:
        outputs = {
            terminal.start + place: [Output(*made) for made in detail.outputs]
            for place, detail in terminal.details.items()
            if detail.outputs
        }
        traces.append(AppliedRun(terminal.start, terminal.end, outputs))
    return traces
