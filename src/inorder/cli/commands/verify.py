"""What can be wrong with a DATA folder, and finding it: stage by stage."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from inorder.cli.data_dir import Dataset, JournalState
from inorder.cli.item_status import STATUSES, Standing, Standings
from inorder.cli.output import counted
from inorder.errors import InfrastructureError, IntegrityError, OperatorError
from inorder.host.filesystem import SystemFilesystem
from inorder.journal.scan import Verdict
from inorder.sinks.checksums import Prefixes
from inorder.stage.data_layout import FINGERPRINT_SUFFIX, resolve_output
from inorder.stage.fingerprints import Fingerprint, checksum_file, decode_fingerprint
from inorder.stage.manifest.reader import ManifestLine, ManifestRow, read_line, read_lines
from inorder.stage.manifest.rows import to_printable

MISSING, ALTERED, TORN, UNFINISHED, JOURNAL = "missing", "altered", "torn", "unfinished", "journal"
_AGAIN = "run the stage again"


class Problem(NamedTuple):
    """One thing that is not as it was written, or not as it should be left."""

    kind: str
    stage: str
    path: str
    """Relative to DATA."""
    message: str


class StageCheck:
    """Everything that one stage has left in DATA."""

    def __init__(self, dataset: Dataset, stage: str, named: Callable[[Iterable[str]], None]) -> None:
        self._dataset = dataset
        self._stage = stage
        self._named = named
        self._manifest = dataset.places(stage).manifest
        self._standings = Standings()
        self.outputs_checked = 0

    def problems(self) -> Iterator[Problem]:
        """What is wrong with it. Tells `named` of every path that a row names."""
        yield from self._of_manifest()
        yield from self._of_journal()
        yield from self._of_outputs()

    def _problem(self, kind: str, path: str, message: str) -> Problem:
        return Problem(kind, self._stage, path, message)

    # ---- the manifest

    def _of_manifest(self) -> Iterator[Problem]:
        path = f"manifests/{self._stage}.jsonl"
        if not os.path.exists(self._manifest):
            yield self._problem(MISSING, path, "the manifest is not there, and there is a journal of the stage")
            return
        expected: int | None = -1
        """The seq of the next row; -1: a run begins; None: nobody can tell."""
        end = 0
        for number, line in enumerate(read_lines(self._manifest), 1):
            end = line.offset + len(line.raw) + 1
            trouble = _trouble_with(line, expected, self._stage)
            if trouble:
                yield self._problem(ALTERED, path, f"line {number}, at byte {line.offset}, {trouble}")
            expected = None if line.row is None else 0 if line.row.is_config else line.row.seq + 1
            if line.row is not None:
                self._take(line, line.row)
        if (size := os.path.getsize(self._manifest)) > end:
            yield self._problem(
                TORN,
                path,
                f"its last line, at byte {end}, has no end ({size - end} bytes); {_AGAIN}, and it is cut off",
            )

    def _take(self, line: ManifestLine, row: ManifestRow) -> None:
        self._standings.take(line, row)
        if row.status in STATUSES:
            self._named(path for path in map(self._relative, row.output_paths) if path)

    def _relative(self, path: str) -> str:
        """An output as it lies in DATA; empty: it cannot lie there."""
        try:
            return resolve_output(os.path.abspath(self._dataset.root), path)
        except ValueError:
            return ""

    # ---- the journal

    def _of_journal(self) -> Iterator[Problem]:
        path = f"journal/{self._stage}.journal"
        journal = self._dataset.journal(self._stage)
        if journal is None:
            yield self._problem(MISSING, path, f"the journal is not there; {_AGAIN} to have a new one")
            return
        if journal.trouble:
            yield self._problem(
                JOURNAL, path, f"the journal is {journal.trouble}; restore it, or remove it to begin anew"
            )
            return
        if journal.scan.verdict is Verdict.TORN:
            where = f"{journal.scan.verdict.value} at byte {journal.scan.offset}"
            yield self._problem(TORN, path, f"the journal has a {where}; {_AGAIN}, and it is cut off")
        if journal.unfinished_at is not None:
            after = counted(journal.unfinished_at, "item")
            yield self._problem(UNFINISHED, path, f"the latest run was interrupted after {after}; {_AGAIN} to go on")
        yield from self._of_mark(journal)

    def _of_mark(self, journal: JournalState) -> Iterator[Problem]:
        """The manifest is what the journal saw written."""
        mark = journal.replay.newest.marks.get("manifest") if journal.replay is not None else None
        if mark is None or not os.path.exists(self._manifest):
            return
        path, (_, offset, checksum) = f"manifests/{self._stage}.jsonl", mark
        file = SystemFilesystem().open(self._manifest)
        try:
            if file.size < offset:
                yield self._problem(
                    ALTERED, path, f"it has {file.size} bytes, fewer than the {offset} that were written"
                )
            elif Prefixes(file).checksum(offset) != checksum:
                yield self._problem(ALTERED, path, f"its first {offset} bytes are not those that were written")
            elif file.size > offset and journal.unfinished_at is None:
                yield self._problem(ALTERED, path, f"it has {file.size - offset} bytes more than were written")
        finally:
            file.close()

    # ---- the outputs

    def _of_outputs(self) -> Iterator[Problem]:
        if not os.path.exists(self._manifest):
            return
        with open(self._manifest, "rb") as file:
            for standing in self._standings.successes():
                row = read_line(file, standing.made).row
                if row is not None and row.output_paths:
                    self.outputs_checked += 1
                    yield from self._of_item(standing, row)

    def _of_item(self, standing: Standing, row: ManifestRow) -> Iterator[Problem]:
        paths = [self._relative(path) for path in row.output_paths]
        for path, declared in zip(paths, row.output_paths, strict=True):
            if not path:
                yield self._problem(MISSING, declared, f"the output of {row.doc_id} lies outside of DATA")
                return
            trouble = _trouble_at(f"{self._dataset.root}/{path}")
            if trouble:
                yield self._problem(MISSING, path, f"the output of {row.doc_id} is {trouble}")
        if standing.is_fingerprinted:
            yield from self._of_fingerprint(paths, row)

    def _of_fingerprint(self, paths: list[str], row: ManifestRow) -> Iterator[Problem]:
        beside = f"{paths[0]}{FINGERPRINT_SUFFIX}"
        try:
            with open(f"{self._dataset.root}/{beside}", "rb") as file:
                found = decode_fingerprint(file.read())
        except FileNotFoundError:
            yield self._problem(MISSING, beside, f"the fingerprint of {row.doc_id} is not there")
            return
        trouble = "is none that can be read" if found is None else _contradiction(found, row, self._stage, paths)
        if trouble or found is None:
            yield self._problem(ALTERED, beside, f"the fingerprint of {row.doc_id} {trouble}")
            return
        for made in found.outputs.values():
            path = f"{self._dataset.root}/{made.path}"
            if not _trouble_at(path) and checksum_file(path) != (made.size, made.crc32):
                yield self._problem(ALTERED, made.path, f"the output of {row.doc_id} is not what was made")


def _trouble_with(line: ManifestLine, expected: int | None, stage: str) -> str:
    """What is wrong with a row where it stands; empty: nothing."""
    row = line.row
    if row is None:
        return "is no row"
    if row.stage != stage:
        return f"is of stage {row.stage!r}"
    if row.is_config or row.status not in STATUSES or expected is None:
        return ""
    if expected < 0:
        return "comes before the row of its run"
    return "" if row.seq == expected else f"has seq {row.seq} where {expected} is the next"


def _trouble_at(path: str) -> str:
    """What is wrong with a file at first sight; empty: nothing."""
    if not os.path.isfile(path):
        return "not there"
    return "" if os.path.getsize(path) else "empty"


def _contradiction(found: Fingerprint, row: ManifestRow, stage: str, paths: list[str]) -> str:
    """Where a fingerprint and a row say different things; empty: nowhere."""
    if (found.stage, to_printable(found.item_id)) != (stage, row.doc_id):
        return f"is that of item {to_printable(found.item_id)} of stage {found.stage}"
    if found.cfg_hash != row.cfg_hash:
        return "names another configuration than the manifest"
    if found.input_sha256 != row.input_sha256:
        return "names another input than the manifest"
    return "" if [made.path for made in found.outputs.values()] == paths else "names other outputs than the manifest"


def of_index(root: str) -> Iterator[Problem]:
    """What is wrong with the index, if there is one."""
    path = f"{os.path.abspath(root)}/index.sqlite"
    if not os.path.exists(path):
        return
    from inorder.index.connection import open_index
    from inorder.index.verify import find_problems

    try:
        for message in find_problems(open_index(path)):
            yield Problem(ALTERED, "index", "index.sqlite", message)
    except (OperatorError, IntegrityError, InfrastructureError) as error:
        yield Problem(ALTERED, "index", "index.sqlite", str(error))
