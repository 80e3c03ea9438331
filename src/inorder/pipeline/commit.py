"""What a finished visit means: for the library, for the manifests of the steps, and for the counts of the run.

An entry is read once, when the first sink gets it, and forgotten after the last.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from inorder.core.windows.id_set import IdSet
from inorder.engines.attempt import escape_surrogates
from inorder.errors import Failure
from inorder.library.rows import WARNINGS, FileIdentity, FileResult, StepFailure, StepResult, decode_result
from inorder.sinks.base import Entry
from inorder.stage.manifest.entries import get_result
from inorder.stage.manifest.rows import CORPUS_ID, COUNTS_ID, SCHEMA_VERSION

from .due import FINAL
from .names import DOCTAGS, EXTRACT
from .outcome import FileClass, RunOutcome, name_type
from .remedies import is_encrypted
from .sources.classify import CODE, FileKind
from .steps import Step, StepTable
from .visit import FILE, VisitOrder, decode_order

LIBRARY_FILE = "library.sqlite"
OUTSIDE = frozenset(("provider",))
"""Categories of failures that are not those of the file: a server is down, and the file keeps what it has."""


class Visited:
    """A finished visit."""

    def __init__(self, entry: Entry, table: StepTable) -> None:
        self.order: VisitOrder = decode_order(entry.item)
        delivered = entry.payload
        self.result = decode_result(delivered) if isinstance(delivered, bytes) else FileResult(self.order.facts)
        self.result.is_held = self.order.is_held
        kept = get_result(entry)
        self.warnings: Sequence[str] = () if kept is None else kept.warnings
        for made in self.result.steps if self.warnings else ():
            if made.step == DOCTAGS:
                made.extras = made.extras | {WARNINGS: [escape_surrogates(each) for each in self.warnings]}
        if entry.failure is not None:
            if delivered is None and not self.order.problem:
                self._forget_version(entry)
            self.result.failure = self._describe_failure(entry, entry.failure, table)
        self._row = self._describe(entry)
        """What the rows of all steps have in common, and the order of their fields."""

    def _forget_version(self, entry: Entry) -> None:
        """Forget which version of a file has failed before it was read: what was wrong is not its content, and the next
        run reads it."""
        if isinstance(entry.item.inputs.get(FILE), str):
            self.result.file = msgspec.structs.replace(self.order.facts, signature=b"", sha256=b"")

    def _describe(self, entry: Entry) -> dict[str, Any]:
        item_id = escape_surrogates(entry.item.item_id)
        return {
            "stage": "",
            "doc_id": item_id,
            "status": "success",
            "duration_s": 0.0,
            "input_path": escape_surrogates(self.order.facts.path),
            "output_paths": [f"{LIBRARY_FILE}#{item_id}"],
            "schema_version": SCHEMA_VERSION,
            "seq": entry.seq,
            "attempts": entry.attempts,
            "cfg_hash": "",
            "input_sha256": self.result.file.sha256.hex(),
            "reason": "",
            "error": None,
            "traceback": "",
            "warnings": [],
        }

    def make_row(self, step: str) -> dict[str, Any] | None:
        """Return the row of a step in its manifest; None: the step did not run."""
        name, _, family = step.partition(":")
        failure = self.result.failure
        if failure is not None and failure.step == step:
            error = {"error": _describe_failure(failure), "traceback": failure.detail}
            row = self._row | {"status": "failure", "output_paths": [], **error}
            made: StepResult | StepFailure = failure
            extras: dict[str, Any] = {}
        else:
            for made in self.result.steps:
                if made.step == step:
                    break
            else:
                return None
            row, extras = self._row.copy(), made.extras
        row["stage"], row["cfg_hash"], row["duration_s"] = name, made.settings, round(made.duration_ms / 1000, 6)
        if self.warnings and self._reads_file(name):
            row["warnings"] = [escape_surrogates(each) for each in self.warnings]
        if family:
            row["family"] = family
        row.update(extras)
        return row

    def _reads_file(self, step: str) -> bool:
        """Whether a step reads the file itself, which is what warnings are about."""
        return step == DOCTAGS or FileKind.parse(self.result.file.kind).role == CODE

    def _describe_failure(self, entry: Entry, failure: Failure, table: StepTable) -> StepFailure:
        names = [step.name for step in self.order.steps]
        failed = failure.step if failure.step in names else names[0]
        step = self.order.steps[names.index(failed)]
        steps = () if self.order.is_part else table.list_steps(FileKind.parse(self.result.file.kind))
        found = next((each for each in steps if each.name == failed), None)  # of what the content has turned out to be
        settings = step.settings if found is None else found.settings
        if found is not None and is_encrypted(failure.message):
            settings = found.failed_settings
        inputs = {made.step: made.output for made in self.result.steps} | self.order.outputs
        return StepFailure(
            failed,
            settings,
            inputs.get(step.reads, b"") if step.reads else self.result.file.sha256[:16],
            failure.category.value,
            failure.message,
            failure.detail,
            entry.attempts,
            failure.category.value in OUTSIDE,
            _list_after(steps, failed),
            max(0.0, entry.exec_ms - sum(made.duration_ms for made in self.result.steps)),
        )


def _is_merged(visited: Visited) -> bool:
    """Whether nobody needs the parts of a long PDF any more: it was read, or can never be."""
    failure = visited.result.failure
    is_final = failure is None or failure.category in FINAL
    return is_final or any(made.step == DOCTAGS for made in visited.result.steps)


def _list_after(steps: Sequence[Step], failed: str) -> list[str]:
    """The steps that read the result of a step, or of one that does."""
    found = [failed]
    for step in steps:
        if step.reads in found:
            found.append(step.name)
    return found[1:]


class CommitReader:
    """Reads the entries of a run, for all of its sinks."""

    def __init__(self, outcome: RunOutcome, table: StepTable, *, has_more: bool) -> None:
        """`has_more`: further passes follow, which visit the same files."""
        self._outcome = outcome
        self._has_more = has_more
        self._table = table
        self._visited: dict[int, Visited] = {}
        self._is_first = True
        self._new, self._changed, self._failed, self._same = IdSet(), IdSet(), IdSet(), IdSet()
        """The files that were visited, if further passes follow."""

    def begin_next(self) -> None:
        """Begin a further pass. Its files are counted already."""
        self._is_first = False
        self._visited.clear()

    def read(self, entry: Entry) -> Visited:
        """Return what an entry means."""
        found = self._visited.get(entry.seq)
        if found is None:
            found = self._visited[entry.seq] = Visited(entry, self._table)
        return found

    def list_results(self, entry: Entry) -> Iterator[FileResult]:
        """Yield what an entry does to the library, and count it. To be called by the last sink."""
        visited = self.read(entry)
        del self._visited[entry.seq]
        yield from visited.order.also
        if _is_merged(visited):
            yield from (FileResult(FileIdentity(item_id), is_removed=True) for item_id in visited.order.scratch)
        for made in visited.result.steps:
            if made.step == DOCTAGS:
                visited.result.file.pages_without_text = made.extras.get("pages_without_text", 0)
        yield visited.result
        self._count(visited)

    def _count(self, visited: Visited) -> None:
        outcome, result = self._outcome, visited.result
        if visited.order.is_part:
            outcome.get_step(DOCTAGS).duration_s += sum(made.duration_ms for made in result.steps) / 1000
            return
        for made in result.steps:
            totals = outcome.get_step(made.step)
            totals.files += 1
            totals.duration_s += made.duration_ms / 1000
        item_id, failure = result.file.item_id, result.failure
        if failure is not None:
            totals = outcome.get_step(failure.step)
            totals.failed += 1
            totals.duration_s += failure.duration_ms / 1000
        if item_id in self._failed:
            return
        if self._is_first:
            for made in result.steps:
                outcome.model.kept += made.extras.get("pages_model", 0)
                outcome.extracted.kept += made.extras.get("rows", 0)
        before = None if self._is_first else self._find_class(visited)
        if before is not None:
            outcome.counts.add(before, -1)
            outcome.count_pages(visited.order.facts.pages_without_text if before != "failed" else 0, -1)
        is_new = before == "new" if before is not None else not visited.order.is_known
        is_same = visited.order.is_known and before in (None, "unchanged") and not _is_read_again(result)
        if self._has_more:
            done = self._same if is_same else self._new if is_new else self._changed
            (done if failure is None else self._failed).add(item_id)
        if failure is not None:
            outcome.counts.add("failed")
            return
        if result.file.reason:
            outcome.count_not_read(result.file.reason, name_type(result.file.item_id))
            return
        outcome.counts.add("unchanged" if is_same else "new" if is_new else "changed")
        outcome.count_pages(result.file.pages_without_text)

    def _find_class(self, visited: Visited) -> FileClass:
        """What an earlier pass has counted a file as."""
        item_id = visited.result.file.item_id
        if item_id in self._new:
            return "new"
        if item_id in self._changed:
            return "changed"
        return "failed" if visited.order.was_failed and item_id not in self._same else "unchanged"

    def make_row(self, step: str, entry: Entry) -> dict[str, Any] | None:
        """Return the row of an entry in the manifest of a step; None: the step did not run."""
        return self.read(entry).make_row(step)


def _is_read_again(result: FileResult) -> bool:
    """Whether a step has run that makes something of the file itself. Fields that are extracted do not change it."""
    return any(not made.step.startswith(f"{EXTRACT}:") for made in result.steps)


def _describe_failure(failure: StepFailure) -> dict[str, Any]:
    return {
        "category": failure.category,
        "message": failure.message,
        "retryable": failure.is_outside,
        "step": failure.step,
    }


def make_corpus_row(stage: str, outcome: RunOutcome, totals: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with the totals of all vectors of a family. They are those of the library after the run."""
    return {
        "stage": stage,
        "doc_id": CORPUS_ID,
        "status": "totals",
        "schema_version": SCHEMA_VERSION,
        "run_id": outcome.run_id,
        **totals,
    }


def make_counts_row(stage: str, outcome: RunOutcome) -> dict[str, Any]:
    """Return the last row of a run in the manifest of a step: its counts in files."""
    return {
        "stage": stage,
        "doc_id": COUNTS_ID,
        "status": "counts",
        "schema_version": SCHEMA_VERSION,
        "run_id": outcome.run_id,
        "counts": msgspec.to_builtins(outcome.counts),
    }
