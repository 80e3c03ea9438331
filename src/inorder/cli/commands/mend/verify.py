"""`inorder verify`: compare DATA with its own records: the library with its hashes, outputs with fingerprints, and both
with manifests and journals."""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import typer

from inorder.cli.data_dir import DataDirectory, JournalState, list_files, open_data
from inorder.cli.exit_codes import Exit
from inorder.cli.output import encode_json, encode_text, info, pluralize, stream_json, stream_lines
from inorder.cli.parameters import DataOption, JsonOption
from inorder.cli.stage_loader import load_recorded_job
from inorder.engines.attempt import escape_surrogates
from inorder.errors import IntegrityError, OperatorError
from inorder.host.regular_file import read_regular
from inorder.journal.records import Terminal
from inorder.pipeline.names import PASSES
from inorder.sinks.packed_lines import SUFFIX, measure_lines, open_lines
from inorder.stage.contracts import Barrier, WorkItem
from inorder.stage.data_layout import FINGERPRINT_SUFFIX, is_reserved, resolve_output
from inorder.stage.fingerprints import Fingerprint, checksum_file, decode_fingerprint
from inorder.stage.freshness import has_changed_input
from inorder.stage.manifest.item_status import STATUSES, ItemStatus, ItemStatuses
from inorder.stage.manifest.reader import ManifestLine, ManifestRow, read_line, read_lines

from .verify_library import (
    ALTERED,
    LEFTOVER,
    MISSING,
    ORPHANED,
    OUTDATED,
    Problem,
    check_end,
    check_journal,
    check_library,
    check_mark,
    find_irregular,
    find_mark,
)

_RESTORE = "restore it from a backup, or remove DATA and start over"
_AGAIN = "run the stage again"


def verify(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Check DATA against its own records. Reads every file, and changes nothing; DATA may be read-only.

    Prints one line per problem, with what to do: results in the library that are missing or altered, an index or
    vectors that do not match them, torn or altered manifests and journals, runs that have not ended, and files that
    interrupted runs left behind. Of your own stages: outputs and fingerprints that are missing or altered, inputs that
    have changed since they were processed, and files that no manifest names. If a FIFO, a device or a folder is in the
    place of a file, nothing else is checked.

    Exit codes: 0 no problems, 6 problems found, 5 a run is going on.
    """
    directory = open_data(data)
    names = OutputNames()
    irregular = list(find_irregular(directory.root))
    stages = [] if irregular else directory.stages()
    checks = [StageCheck(directory, stage, names.add) for stage in stages]
    count = 0

    def find() -> Iterator[Problem]:
        nonlocal count
        found = [check.find_problems() for check in checks]
        if directory.has_library:
            found.insert(0, check_library(directory))
        for problem in irregular or chain(*found, find_orphans(directory.root, names)):
            count += 1
            yield problem

    def totals() -> dict[str, int]:
        return {"count": count, "stages": len(checks), "items": sum(check.outputs_checked for check in checks)}

    with contextlib.ExitStack() as stack:
        for name in () if irregular else (*(PASSES if directory.has_library else ()), *stages):
            if (lock := directory.lock_if_writable(name)) is not None:
                stack.callback(lock.release)
        if as_json:
            stream_json("problems", (encode_json(problem._asdict()) for problem in find()), totals)
        else:
            stream_lines(encode_text(_format(problem)) for problem in find())
    if count:
        info(f"{pluralize(count, 'problem')} in {directory.root}")
        raise typer.Exit(Exit.INTEGRITY)
    checked = ["the library is as it was written"] if directory.has_library else []
    if checks:
        items = pluralize(totals()["items"], "item")
        checked.append(f"{pluralize(len(checks), 'stage')}, outputs of {items} checked")
    info(f"no problems: {'; '.join(checked)}")


def _format(problem: "Problem") -> str:
    stage = f"{problem.stage}: " if problem.stage else ""
    return f"{problem.kind:10}  {problem.path}  {stage}{problem.message}"


class StageCheck:
    """Checks the files of one stage."""

    def __init__(self, data: DataDirectory, stage: str, add_names: Callable[[Iterable[str]], None]) -> None:
        self._data = data
        self._stage = stage
        self._add_names = add_names
        self._manifest = data.layout(stage).manifest
        self._statuses = ItemStatuses()
        self.outputs_checked = 0

    def find_problems(self) -> Iterator[Problem]:
        """Check everything. Passes every path that a row names to `add_names`."""
        try:
            yield from self._check_manifest()
        except IntegrityError as error:  # the other checks need all rows
            yield self._make_problem(ALTERED, f"manifests/{self._stage}.jsonl{SUFFIX}", f"{error}; {_RESTORE}")
            return
        yield from self._check_journal()
        yield from self._check_outputs()
        yield from self._check_inputs()

    def _make_problem(self, kind: str, path: str, message: str) -> Problem:
        return Problem(kind, self._stage, path, message)

    # ---- the manifest

    def _check_manifest(self) -> Iterator[Problem]:
        path = f"manifests/{self._stage}.jsonl"
        if not os.path.exists(self._manifest):
            yield self._make_problem(MISSING, path, f"the manifest is missing, but the stage has a journal; {_RESTORE}")
            return
        expected: int | None = -1
        """The seq of the next row; -1: a config row must come first; None: unknown."""
        end = 0
        for number, line in enumerate(read_lines(self._manifest), 1):
            end = line.end
            fault = _check_row(line, expected, self._stage)
            if fault:
                yield self._make_problem(ALTERED, path, f"line {number}, at byte {line.offset}, {fault}; {_RESTORE}")
            expected = None if line.row is None else 0 if line.row.is_config else line.row.seq + 1
            if line.row is not None:
                self._add(line, line.row)
        yield from check_end(self._manifest, self._stage, end, _AGAIN)

    def _add(self, line: ManifestLine, row: ManifestRow) -> None:
        self._statuses.add(line, row)
        if row.status in STATUSES:
            self._add_names(path for path in map(self._to_relative, row.output_paths) if path)

    def _to_relative(self, path: str) -> str:
        """The path of an output within DATA; empty: it is outside."""
        try:
            return resolve_output(os.path.abspath(self._data.root), path)
        except ValueError:
            return ""

    # ---- the journal

    def _check_journal(self) -> Iterator[Problem]:
        journal = self._data.read_journal(self._stage)
        yield from check_journal(journal, self._stage, self._stage, _AGAIN)
        if journal is not None and journal.unfinished_at is not None:  # its outputs are published before their rows
            self._add_names(path for path in map(self._to_relative, _list_outputs(journal)) if path)
        if journal is not None and not journal.damage:
            yield from self._check_mark(journal)

    def _check_mark(self, journal: JournalState) -> Iterator[Problem]:
        """Compare the manifest with the position and checksum in the journal."""
        mark = find_mark(journal, "manifest")
        if mark is None or not os.path.exists(self._manifest):
            return
        found = list(check_mark(self._manifest, self._stage, mark, _RESTORE))
        yield from found
        more = measure_lines(self._manifest) - mark[1]
        if not found and more > 0 and journal.unfinished_at is None:
            path = f"manifests/{self._stage}.jsonl"
            yield self._make_problem(ALTERED, path, f"it has {more} bytes more than were written; {_RESTORE}")

    # ---- the outputs

    def _check_outputs(self) -> Iterator[Problem]:
        if not os.path.exists(self._manifest):
            return
        with open_lines(self._manifest) as file:
            for status in self._statuses.successes():
                row = read_line(file, status.made).row
                if row is not None and row.output_paths:
                    self.outputs_checked += 1
                    yield from self._check_item(status, row)

    def _check_item(self, status: ItemStatus, row: ManifestRow) -> Iterator[Problem]:
        paths = [self._to_relative(path) for path in row.output_paths]
        for path, declared in zip(paths, row.output_paths, strict=True):
            if not path:
                yield self._make_problem(MISSING, declared, f"the output of {row.doc_id} is outside DATA; {_AGAIN}")
                return
            fault = _check_file(f"{self._data.root}/{path}")
            if fault:
                yield self._make_problem(MISSING, path, f"the output of {row.doc_id} is {fault}; {_AGAIN} to make it")
        if status.is_fingerprinted:
            yield from self._check_fingerprint(paths, row)

    def _check_fingerprint(self, paths: list[str], row: ManifestRow) -> Iterator[Problem]:
        beside = f"{paths[0]}{FINGERPRINT_SUFFIX}"
        try:
            found = decode_fingerprint(read_regular(f"{self._data.root}/{beside}"))
        except FileNotFoundError:
            yield self._make_problem(
                MISSING, beside, f"the fingerprint of {row.doc_id} is missing; {_AGAIN} to make it"
            )
            return
        fault = "cannot be decoded" if found is None else _compare(found, row, self._stage, paths)
        if fault or found is None:
            yield self._make_problem(ALTERED, beside, f"the fingerprint of {row.doc_id} {fault}; {_AGAIN} to make it")
            return
        for made in found.outputs.values():
            path = f"{self._data.root}/{made.path}"
            if not _check_file(path) and checksum_file(path) != (made.size, made.crc32):
                yield self._make_problem(
                    ALTERED, made.path, f"the output of {row.doc_id} differs from what was written; {_AGAIN} to make it"
                )

    # ---- the inputs

    def _check_inputs(self) -> Iterator[Problem]:
        """Compare the inputs of processed items with what their results were made of. Needs the plan of the stage."""
        try:
            plan = load_recorded_job(self._data, self._stage).make_plan(self._data.root)
            for item in plan.items:
                if isinstance(item, Barrier) or not self._is_outdated(item):
                    continue
                path = escape_surrogates(os.fspath(next(iter(item.inputs.values()))))
                name = escape_surrogates(item.item_id)
                message = f"an input of {name} has changed since it was processed; {_AGAIN}"
                yield self._make_problem(OUTDATED, path, message)
        except (OperatorError, IntegrityError, ImportError) as error:
            info(f"the inputs of stage {self._stage} were not checked: {error}")

    def _is_outdated(self, item: WorkItem) -> bool:
        status = self._statuses.get(escape_surrogates(item.item_id))
        return status is not None and status.status == "success" and has_changed_input(item, status.input_sha256)


def _check_row(line: ManifestLine, expected: int | None, stage: str) -> str:
    """What is wrong with a row at its position; empty: nothing."""
    row = line.row
    if row is None:
        return "is not a row"
    if row.stage != stage:
        return f"belongs to stage {row.stage!r}"
    if row.is_config or row.status not in STATUSES or expected is None:
        return ""
    if expected < 0:
        return "precedes the config row of its run"
    return "" if row.seq == expected else f"has seq {row.seq}, expected {expected}"


def _check_file(path: str) -> str:
    """What is wrong with a file, without reading it; empty: nothing."""
    if not os.path.isfile(path):
        return "missing"
    return "" if os.path.getsize(path) else "empty"


def _compare(found: Fingerprint, row: ManifestRow, stage: str, paths: list[str]) -> str:
    """How a fingerprint contradicts a row; empty: it does not."""
    if (found.stage, escape_surrogates(found.item_id)) != (stage, row.doc_id):
        return f"belongs to item {escape_surrogates(found.item_id)} of stage {found.stage}"
    if found.cfg_hash != row.cfg_hash:
        return "has another configuration than the manifest"
    if found.input_sha256 != row.input_sha256:
        return "has another input than the manifest"
    return "" if [made.path for made in found.outputs.values()] == paths else "has other outputs than the manifest"


def _list_outputs(journal: JournalState) -> Iterator[str]:
    """Yield the paths of the outputs that a journal has."""
    for scanned in journal.scan.records:
        if isinstance(scanned.record, Terminal):
            yield from (output[0] for detail in scanned.record.details.values() for output in detail.outputs)


class OutputNames:
    """Every path that a manifest, or the journal of an unfinished run, names: in a temporary table that spills to
    disk."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute("CREATE TABLE names (path TEXT PRIMARY KEY) WITHOUT ROWID")
        self._database.execute("BEGIN")

    def add(self, paths: Iterable[str]) -> None:
        """Add paths."""
        self._database.executemany("INSERT OR IGNORE INTO names VALUES (?)", ((path,) for path in paths))

    def __contains__(self, path: str) -> bool:
        return self._database.execute("SELECT 1 FROM names WHERE path = ?", (path,)).fetchone() is not None


def find_orphans(root: str, names: OutputNames) -> Iterator[Problem]:
    """Files that no manifest names, and files that interrupted runs left behind."""
    for path in list_files(root):
        top = path.split("/")[0]
        if top == ".staging":
            stage = _get_stage(path)
            remedy = "the next run adopts or removes it" if stage in PASSES else f"{_AGAIN}, or remove it"
            yield Problem(LEFTOVER, stage, path, f"left by an interrupted run; {remedy}")
        elif top == "journal" and path.endswith(".new"):
            yield Problem(LEFTOVER, "", path, "left by an interrupted run; the next run replaces it")
        elif not is_reserved(path) and path.removesuffix(FINGERPRINT_SUFFIX) not in names and path not in names:
            yield Problem(ORPHANED, "", escape_surrogates(path), "no manifest names it; move it away, or remove it")


def _get_stage(path: str) -> str:
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""
