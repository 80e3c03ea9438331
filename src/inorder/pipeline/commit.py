"""What a finished visit means: for the library, for the manifests of the steps, and for the counts of the run.

An entry is read once, when the first sink gets it, and forgotten after the last.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from inorder.core.windows.id_set import IdSet
from inorder.engines.attempt import escape_surrogates
from inorder.errors import Failure
from inorder.library.rows import FileIdentity, FileResult, StepFailure, StepResult, decode_result
from inorder.sinks.base import Entry
from inorder.stage.manifest.rows import SCHEMA_VERSION

from .classify import FileKind
from .due import FINAL
from .outcome import FileClass, RunOutcome, name_type
from .steps import DOCTAGS, EMBED, StepTable
from .visit import VisitOrder, decode_order

LIBRARY_FILE = "library.sqlite"
OUTSIDE = frozenset(("provider",))
"""Categories of failures that are not those of the file: a server is down, and the file keeps what it has."""


class Visited:
    """A finished visit."""

    def __init__(self, entry: Entry, table: StepTable) -> None:
        self.order: VisitOrder = decode_order(entry.item.item)
        delivered = getattr(entry.payload, "delivery", None)
        self.result = decode_result(delivered) if isinstance(delivered, bytes) else FileResult(self.order.facts)
        self.result.is_held = self.order.is_held
        self.warnings: Sequence[str] = getattr(entry.payload, "warnings", ())
        if entry.failure is not None:
            self.result.failure = self._describe_failure(entry, entry.failure, table)

    def _describe_failure(self, entry: Entry, failure: Failure, table: StepTable) -> StepFailure:
        names = [step.name for step in self.order.steps]
        failed = failure.step if failure.step in names else names[0]
        step = self.order.steps[names.index(failed)]
        settings = step.settings
        if self.result.file.kind != self.order.facts.kind:  # the visit has seen what the file is
            by_name = {each.name: each.settings for each in table.list_steps(FileKind.parse(self.result.file.kind))}
            settings = by_name.get(failed, settings)
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
            _list_after(self.order, failed),
            max(0.0, entry.exec_ms - sum(made.duration_ms for made in self.result.steps)),
        )


def _is_merged(visited: Visited) -> bool:
    """Whether nobody needs the parts of a long PDF any more: it was read, or can never be."""
    failure = visited.result.failure
    is_final = failure is None or failure.category in FINAL
    return is_final or any(made.step == DOCTAGS for made in visited.result.steps)


def _list_after(order: VisitOrder, failed: str) -> list[str]:
    """The steps that read the result of a step, or of one that does."""
    found = [failed]
    for step in order.steps:
        if step.reads in found:
            found.append(step.name)
    return found[1:]


class CommitReader:
    """Reads the entries of a run, for all of its sinks."""

    def __init__(self, outcome: RunOutcome, table: StepTable) -> None:
        self._outcome = outcome
        self._table = table
        self._visited: dict[int, Visited] = {}
        self._is_second = False
        self._new, self._changed = IdSet(), IdSet()
        """The files that the first pass has visited."""

    def begin_second(self) -> None:
        """Begin the pass of models. Its files are counted already."""
        self._is_second = True
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
        item_id = result.file.item_id
        if self._is_second:
            before: FileClass = "unchanged"
            if item_id in self._new:
                before = "new"
            elif item_id in self._changed:
                before = "changed"
            outcome.counts.add(before, -1)
            after: FileClass = "changed" if before == "unchanged" else before
        else:
            after = "changed" if visited.order.is_known else "new"
            (self._changed if visited.order.is_known else self._new).add(item_id)
        if result.failure is not None:
            outcome.counts.add("failed")
            totals = outcome.get_step(result.failure.step)
            totals.failed += 1
            totals.duration_s += result.failure.duration_ms / 1000
            return
        if result.file.reason:
            outcome.count_not_read(result.file.reason, name_type(result.file.item_id))
            return
        is_same = not self._is_second and visited.order.is_known and not result.steps  # only its version is another one
        outcome.counts.add("unchanged" if is_same else after)
        for made in result.steps:
            if made.step == DOCTAGS:
                outcome.count_pages(made.extras.get("pages_without_text", 0))

    def make_row(self, step: str, entry: Entry) -> dict[str, Any] | None:
        """Return the row of an entry in the manifest of a step; None: the step did not run."""
        visited = self.read(entry)
        failure = visited.result.failure
        if failure is not None and failure.step == step:
            return self._describe(entry, visited, step, None, failure)
        made = next((each for each in visited.result.steps if each.step == step), None)
        return None if made is None else self._describe(entry, visited, step, made, None)

    def _describe(
        self, entry: Entry, visited: Visited, step: str, made: StepResult | None, failure: StepFailure | None
    ) -> dict[str, Any]:
        item = entry.item.item
        item_id = escape_surrogates(item.item_id)
        name, _, family = step.partition(":")
        state = made or failure
        return {
            "stage": name,
            "doc_id": item_id,
            "status": "success" if failure is None else "failure",
            "duration_s": round((state.duration_ms if state is not None else 0.0) / 1000, 6),
            "input_path": escape_surrogates(os.fspath(visited.order.facts.path)),
            "output_paths": [f"{LIBRARY_FILE}#{item_id}"] if failure is None else [],
            "schema_version": SCHEMA_VERSION,
            "seq": entry.seq,
            "attempts": entry.attempts,
            "cfg_hash": state.settings if state is not None else "",
            "input_sha256": visited.result.file.sha256.hex(),
            "reason": "",
            "error": None if failure is None else _describe_failure(failure),
            "traceback": "" if failure is None else failure.detail,
            "warnings": [escape_surrogates(each) for each in visited.warnings] if name == DOCTAGS else [],
            **({"family": family} if name == EMBED else {}),
            **({} if made is None else made.extras),
        }


def _describe_failure(failure: StepFailure) -> dict[str, Any]:
    return {
        "category": failure.category,
        "message": failure.message,
        "retryable": failure.is_outside,
        "step": failure.step,
    }


def encode_counts(outcome: RunOutcome) -> dict[str, Any]:
    """Return the last row of a run in each manifest: its counts in files."""
    return {"doc_id": "__run__", "counts": msgspec.to_builtins(outcome.counts)}
