"""The part of `inorder verify` that checks the library, the manifests of its steps, and the journals of its runs."""

import os
import stat
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import chain
from typing import NamedTuple

from inorder.cli.data_dir import DataDirectory, JournalState, list_files
from inorder.cli.output import pluralize
from inorder.engines.attempt import escape_surrogates
from inorder.errors import InfrastructureError, IntegrityError, OperatorError
from inorder.host.regular_file import NOT_REGULAR
from inorder.journal.scan import ScanVerdict
from inorder.library.connection import NAME as LIBRARY
from inorder.library.reader import LibraryReader
from inorder.pipeline.names import MANIFESTS, PASSES, RUN
from inorder.sinks.packed_lines import SUFFIX, checksum_lines, measure_lines
from inorder.stage.manifest.reader import ManifestLine, ManifestRow, read_lines
from inorder.stage.manifest.rows import COUNTS_ID

MISSING, ALTERED, TORN, UNFINISHED, JOURNAL = "missing", "altered", "torn", "unfinished", "journal"
ORPHANED, LEFTOVER, OUTDATED = "orphaned", "leftover", "outdated"
_AGAIN = "run the same command again"
_STATUSES = ("success", "failure")
_FILES_ONLY = ("", "journal", "locks", "manifests", "telemetry")
"""Folders of DATA that have no folders in them; DATA itself has none whose name is that of a file of the library."""


class Problem(NamedTuple):
    """One difference between DATA and its records."""

    kind: str
    stage: str
    path: str
    """Relative to DATA; absolute for an input."""
    message: str


def find_irregular(root: str) -> Iterator[Problem]:
    """Find what is in the place of a file of DATA, but is none: a FIFO, a device, a folder. Nothing that needs the file
    can be checked."""
    for path in chain(list_files(root), _list_misplaced_folders(root)):
        with suppress(OSError):
            if not stat.S_ISREG(os.stat(os.path.join(root, path)).st_mode):
                message = f"it is {NOT_REGULAR}; move it away, and {_AGAIN}"
                yield Problem(ALTERED, "", escape_surrogates(path), message)


def _list_misplaced_folders(root: str) -> Iterator[str]:
    """Folders in places that only files have."""
    for folder in _FILES_ONLY:
        with suppress(OSError), os.scandir(os.path.join(root, folder)) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and (folder or entry.name.startswith("library.")):
                    yield os.path.join(folder, entry.name)


def check_journal(journal: JournalState | None, name: str, stage: str, again: str) -> Iterator[Problem]:
    """Check the journal of a stage or a pass. `again`: how to run it again."""
    path = f"journal/{name}.journal"
    if journal is None:
        yield Problem(MISSING, stage, path, f"the journal is missing; {again} to create a new one")
        return
    if journal.damage:
        yield Problem(JOURNAL, stage, path, f"the journal is {journal.damage}; restore it, or remove it to start over")
        return
    if journal.scan.verdict is ScanVerdict.TORN:
        where = f"{journal.scan.verdict.value} at byte {journal.scan.offset}"
        yield Problem(TORN, stage, path, f"the journal has a {where}; {again} to truncate it")
    if journal.unfinished_at is not None:
        after = pluralize(journal.unfinished_at, "item")
        yield Problem(UNFINISHED, stage, path, f"the latest run was interrupted after {after}; {again} to resume")


def check_library(data: DataDirectory) -> Iterator[Problem]:
    """Check the library of DATA and what its runs have written beside it."""
    from inorder.library.whole.verify import verify_library  # with NumPy

    try:
        for finding in verify_library(data.root):
            is_file = os.sep not in finding.where and finding.where.startswith("library.vectors.")
            is_gone = is_file and not os.path.exists(f"{data.root}/{finding.where}")
            path, where = (finding.where, "") if is_file else (LIBRARY, f"{finding.where}: ")
            yield Problem(MISSING if is_gone else ALTERED, RUN, path, f"{where}{finding.problem}; {finding.remedy}")
        yield from _check_position(data)
    except (OperatorError, IntegrityError, InfrastructureError) as error:
        yield Problem(ALTERED, RUN, LIBRARY, str(error).removeprefix(f"{data.root}/{LIBRARY} "))
    for name in PASSES:
        journal = data.read_journal(name)
        if name == RUN or journal is not None:
            yield from check_journal(journal, name, RUN, _AGAIN)
    for name in MANIFESTS:
        if os.path.exists(data.layout(name).manifest):
            try:
                yield from _check_manifest(data, name)
            except IntegrityError as error:
                yield Problem(ALTERED, RUN, f"manifests/{name}.jsonl{SUFFIX}", f"{error}; {_RESTORE}")
        elif any(find_mark(data.read_journal(each), f"manifest {name}") for each in PASSES):
            yield Problem(
                MISSING, RUN, f"manifests/{name}.jsonl", f"the manifest is missing; {_AGAIN} to begin a new one"
            )


def _check_position(data: DataDirectory) -> Iterator[Problem]:
    """Compare the library with what the latest journal says of it."""
    latest = _find_latest(data, "library")
    mark = None if latest is None else find_mark(latest, "library")
    if mark is None:
        return
    with closing(LibraryReader(data.root)) as library:
        number = library.read_run_number()
    if number != mark[2]:
        message = "it is not the one that the latest run has written: it was exchanged or restored"
        yield Problem(ALTERED, RUN, LIBRARY, f"{message}; {_AGAIN}, which compares all files with it")


def _find_latest(data: DataDirectory, sink: str) -> JournalState | None:
    """The journal of the latest pass that has written to a sink."""
    found = [data.read_journal(name) for name in PASSES]
    written = [journal for journal in found if journal is not None and find_mark(journal, sink) is not None]
    return max(written, key=_find_start, default=None)


def _find_start(journal: JournalState) -> int:
    header = None if journal.replay is None else journal.replay.header
    return 0 if header is None else header.created_ms


def find_mark(journal: JournalState | None, sink: str) -> tuple[int, int, int] | None:
    """The position of a sink at the latest commit: seq, offset and checksum."""
    if journal is None or journal.replay is None:
        return None
    mark = journal.replay.newest_candidate.marks.get(sink)
    return None if mark is None else (mark[0], mark[1], mark[2])


# ---- Manifests


def _check_manifest(data: DataDirectory, name: str) -> Iterator[Problem]:
    """Check the manifest of a step: whole rows, each file once in a run, and what the journal says of it."""
    path, stage = f"manifests/{name}.jsonl", MANIFESTS[name].partition(":")[0]
    latest = -2
    """The seq of the latest row; -1: a run has begun; -2: a config row must come."""
    end = 0
    for number, line in enumerate(read_lines(data.layout(name).manifest), 1):
        fault = _check_row(line, latest, stage)
        if fault:
            message = f"line {number}, at byte {line.offset}, {fault}; {_RESTORE}"
            yield Problem(ALTERED, RUN, path, message)
        if line.row is not None:
            latest = _find_place(line.row, latest)
        end = line.end
    yield from check_end(data.layout(name).manifest, RUN, end, _AGAIN)
    journal = _find_latest(data, f"manifest {name}")
    mark = find_mark(journal, f"manifest {name}")
    if mark is not None and journal is not None:
        found = list(check_mark(data.layout(name).manifest, RUN, mark, _RESTORE))
        yield from found
        rows = read_lines(data.layout(name).manifest, mark[1])
        more = sum(line.row is None or line.row.is_item for line in rows)
        if not found and more and journal.unfinished_at is None:
            yield Problem(ALTERED, RUN, path, f"it has {pluralize(more, 'row')} more than were written; {_RESTORE}")


_RESTORE = "restore the manifest from a backup, or remove it: a run begins a new one"


def _find_place(row: ManifestRow, latest: int) -> int:
    """The place after a row, as `_check_manifest` keeps it."""
    if row.is_config:
        return -1
    if row.doc_id == COUNTS_ID:
        return -2
    return row.seq if row.is_item else latest


def _check_row(line: ManifestLine, latest: int, stage: str) -> str:
    """What is wrong with a row at its position; empty: nothing."""
    row = line.row
    if row is None:
        return "is not a row"
    if row.stage != stage:
        return f"belongs to step {row.stage!r}"
    if row.is_config:
        return ""
    if latest == -2:
        return "precedes the config row of its run"
    if not row.is_item:
        return ""
    if row.status not in _STATUSES:
        return f"has the status {row.status!r}"
    return "" if row.seq > latest else f"has seq {row.seq}, which must be above {latest}"


def check_end(manifest: str, stage: str, end: int, again: str) -> Iterator[Problem]:
    """Check that a manifest ends with the whole line that ends at this offset."""
    size = measure_lines(manifest)
    if size > end:
        message = f"the last line, at byte {end}, is incomplete ({size - end} bytes); {again} to truncate it"
        yield Problem(TORN, stage, f"manifests/{os.path.basename(manifest)}", message)


def check_mark(manifest: str, stage: str, mark: tuple[int, int, int], restore: str) -> Iterator[Problem]:
    """Compare the beginning of a manifest with the position and checksum in a journal."""
    _, offset, checksum = mark
    found = checksum_lines(manifest, offset)
    if found == checksum:
        return
    message = f"its first {offset} bytes differ from what was written"
    if found is None:
        message = f"it has {measure_lines(manifest)} bytes, but {offset} were written"
    yield Problem(ALTERED, stage, f"manifests/{os.path.basename(manifest)}", f"{message}; {restore}")
