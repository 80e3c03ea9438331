"""Builds a report from the files of DATA. It takes no lock and changes nothing: a run may be writing them."""

import os
import shlex
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec

from inorder.errors import InorderError
from inorder.host.filesystem import SystemFilesystem
from inorder.host.liveness import is_held, read_holder
from inorder.journal.replay import Replay
from inorder.library.connection import library_path
from inorder.library.reader import LibraryReader
from inorder.library.rows import WARNINGS
from inorder.library.states import list_facts
from inorder.pipeline.names import DOCTAGS, INDEX, RUN
from inorder.pipeline.outcome import RunOutcome, decode_outcome
from inorder.pipeline.remedies import suggest_help
from inorder.runtime.recovery import read_journal
from inorder.stage.data_layout import DataLayout
from inorder.stage.monitor.live import read_live_state
from inorder.stage.monitor.measures import RETRIED_REQUESTS
from inorder.stage.monitor.stall import HeadReport, describe_running
from inorder.version import __version__
from inorder.watch.status import WatchPlace

from .comparison import Comparison, FailedItem, compare_rows
from .dataset import build_dataset
from .deltas import list_deltas
from .items import TRACEBACK_MAX, FailureList, ItemDigest, TextCounter, fill_buckets, read_run_rows
from .model import (
    DurationStats,
    ItemCounts,
    LongItem,
    PipelineReport,
    RunPart,
    RunReport,
    SlowItem,
)
from .runs import StageRun, list_library_runs, select_runs
from .telemetry import TelemetryDigest
from .verdict import format_duration, format_time, make_verdict

_DURATIONS = {
    "item_queue_ms": ("Queue", "from being read from the plan to the first dispatch"),
    "item_start_ms": ("Start", "from the dispatch to the start in the worker"),
    "item_exec_ms": ("Execution", "in the worker; of files, each step for itself"),
    "item_wait_ms": ("Wait", "from the result to the start of its commit"),
    "commit_ms": ("Commit", "per commit: journal, outputs, manifest"),
}

_OUTCOMES = ("succeeded", "skipped", "failed")


def build_report(data: str | os.PathLike[str], runs: Sequence[str] = (), *, dataset: bool = True) -> PipelineReport:
    """Build the report of the latest run of every stage in DATA, or of the runs with these ids. Two runs of one stage
    are compared.

    Args:
        data: The folder DATA.
        runs: Ids of runs, which may be abbreviated; empty: the latest run of every stage.
        dataset: Whether to describe the contents of DATA as well.

    Raises:
        OperatorError: A run is not in DATA, or its id is ambiguous.
    """
    root, option = os.path.abspath(data), f" --data {shlex.quote(os.fspath(data))}"
    chosen = select_runs(root, runs)
    reports = [build_run_report(root, run, is_current=dataset and not runs) for run in chosen]
    comparison = _compare(root, chosen, reports)
    contents = build_dataset(root) if dataset else None
    return PipelineReport(
        inorder_version=__version__,
        generated_ms=int(time.time() * 1000),
        data=root,
        option=option,
        verdict=make_verdict(reports, option, comparison, "" if contents is None else contents.problem),
        runs=reports,
        dataset=contents,
        comparison=comparison,
        watch=None if runs else WatchPlace(root).read(),
    )


def _compare(data: str, runs: Sequence[StageRun], reports: Sequence[RunReport]) -> Comparison | None:
    """Compare two runs of one stage, the first with the second; None: there are not two."""
    if len(runs) != 2 or runs[0].stage != runs[1].stage:
        return None
    return Comparison(
        stage=runs[0].stage,
        before=runs[0].run_id,
        after=runs[1].run_id,
        deltas=list_deltas(*reports),
        **compare_rows(read_run_rows(runs[0]), read_run_rows(runs[1])),
    )


class _RunFiles:
    """What the files of a run say about it, besides its telemetry and rows."""

    def __init__(self, data: str, run: StageRun) -> None:
        layout = DataLayout(data, run.stage)
        live = read_live_state(layout.live) if run.is_latest else None
        self.live = live if live is not None and live.get("run_id") in run.run_ids else None
        self.journal = _read_journal_of(layout.journal, run) if run.is_latest else None
        self.is_running = run.is_latest and _is_running(layout.lock, run, self.live)
        self.last_sign_ms = self._find_last_sign(layout, run) if run.is_latest else None

    def _find_last_sign(self, layout: DataLayout, run: StageRun) -> int | None:
        """The latest moment at which the run is known to have been alive."""
        if self.is_running:
            return int(time.time() * 1000)
        signs = [int(self.live["time"])] if self.live is not None else []
        if self.journal is not None:
            written = (layout.journal, *(rows.path for rows in run.rows))
            paths = (path for path in written if os.path.exists(path))
            signs += [int(os.stat(path).st_mtime * 1000) for path in paths]
        return max(signs, default=None)


def _read_journal_of(path: str, run: StageRun) -> Replay | None:
    """The state of the journal, if it is that of the run."""
    if not os.path.exists(path):
        return None
    try:
        replay = read_journal(SystemFilesystem(), path)[1]
    except InorderError:
        return None
    return replay if replay.header is not None and replay.header.run_id in run.run_ids else None


def _is_running(lock: str, run: StageRun, live: dict[str, Any] | None) -> bool:
    """Whether the lock is held by the process that works on this run."""
    if not is_held(lock):
        return False
    holder = read_holder(lock)
    started_ms = run.parts[-1].started_ms if run.parts else run.started_ms
    return live is not None or holder is None or holder.since_s * 1000 <= started_ms + 1000


def build_run_report(data: str, run: StageRun, *, is_current: bool = False) -> RunReport:
    """Build the report of one run. `is_current`: failures and warnings of a run of the pipeline are those of the files
    that are there now, whichever run has read them."""
    files = _RunFiles(data, run)
    digest = TelemetryDigest()
    for part in run.parts:
        digest.add_part(part, files.last_sign_ms if part is run.parts[-1] else None)
    longest = {item.seq: item for item in digest.list_longest()}
    items = ItemDigest(longest, is_pass=run.is_pass)
    items.read(run)
    if is_current and run.is_pass:
        items.failures, items.warnings = _read_library(data) if run.stage == RUN else (FailureList(), TextCounter())
    state, state_text = _find_state(run, files, digest)
    if state == "killed":
        digest.add_mark("killed", state_text)
    parts = digest.parts or [RunPart(run_id=run.run_id, started_ms=run.started_ms, last_ms=run.started_ms)]
    counts = _count_items(run, files, digest, items, state)
    active_ms = max(1, digest.active_ms)
    if state == "finished" and counts.done:  # one that was committed as a whole has no samples of it
        digest.series.add(active_ms, committed=counts.done, computed=counts.done)
    rate = float(digest.snapshot.get("items_per_s") or 1000 * counts.done / active_ms)
    if digest.outcome is not None:
        rate = digest.outcome["items_per_s"]
    left = None if counts.total is None else counts.total - counts.done
    return RunReport(
        stage=run.stage,
        run_id=run.run_id,
        state=state,
        state_text=state_text,
        is_latest=run.is_latest,
        started_ms=parts[0].started_ms,
        last_ms=parts[-1].last_ms,
        active_ms=active_ms,
        parts=parts,
        **_describe_config(run),
        workers=digest.snapshot.get("workers"),
        counts=counts,
        files=_describe_files(data, run),
        is_pass=run.is_pass,
        items_per_s=rate,
        bytes_per_s=float(digest.snapshot.get("bytes_per_s") or 0.0),
        input_bytes=int(digest.snapshot.get("input_bytes") or 0),
        requests_retried=int((digest.snapshot.get("measures") or {}).get(RETRIED_REQUESTS, 0)),
        eta_s=left / rate if state == "running" and left is not None and rate > 0 else None,
        **_describe_activity(files.live, state),
        committed=files.journal.newest_candidate.end if files.journal is not None else counts.done,
        series=digest.series.build(),
        heat_map=digest.heat_map.build(),
        worker_timeline=digest.workers.build(active_ms),
        marks=digest.list_marks(),
        mark_counts=digest.count_marks(),
        spans=digest.list_spans(),
        spans_total=digest.spans_total,
        windows=digest.list_windows(),
        durations=_list_durations(digest, items),
        slowest=[_add_worker(item, longest.get(item.seq)) for item in items.list_slowest()],
        longest=[
            msgspec.structs.replace(item, item_id=items.names.get(item.seq, "")) for item in digest.list_longest()
        ],
        failures=items.failures.build(),
        skips=items.skips.build(),
        warnings=items.warnings.build(),
        notes=list((digest.outcome or {}).get("warnings", [])),
        damaged_lines=items.damaged + digest.damaged_lines,
    )


def _find_state(run: StageRun, files: _RunFiles, digest: TelemetryDigest) -> tuple[str, str]:
    """The state of a run, and the same in words."""
    outcome, failure = digest.outcome, digest.failure
    if outcome is not None:
        if not outcome["was_cancelled"]:
            return "finished", f"finished in {format_duration(outcome['wall_ms'])}"
        return "stopped", f"was stopped: {outcome['cancel_reason'] or outcome['stop_kind']}"
    if failure is not None:
        return "failed", f"failed with {failure['error']}: {failure['message']}"
    if files.is_running:
        return "running", "is running"
    if files.journal is not None and files.journal.is_end:
        return "finished", "finished; it wrote no telemetry"
    if run.outcome and not run.parts and run.config is None:
        return "finished", "found nothing to do"
    if run.parts or files.journal is not None:
        last_ms = digest.parts[-1].last_ms if digest.parts else files.last_sign_ms or run.started_ms
        return "killed", f"was killed at about {format_time(last_ms)}, its last sign of life"
    return "unknown", "has no telemetry"


def _describe_files(data: str, run: StageRun) -> RunOutcome | None:
    """What a run of the pipeline did, as the library has it; None: it has not. What can be searched is what can be
    searched now."""
    outcome = decode_outcome(run.outcome) if run.outcome else None
    if outcome is None or not run.is_latest:
        return outcome
    with suppress(InorderError), closing(LibraryReader(data)) as library:
        totals = library.read_totals().counts
        outcome.documents, outcome.source_files = totals.get("files/document", 0), totals.get("files/code", 0)
        outcome.generation = library.read_generation().number
    return outcome


def read_latest_outcome(data: str) -> RunOutcome | None:
    """Read what the latest run of the pipeline counted; None: none has published anything."""
    latest = next((run.outcome for run in list_library_runs(data) if run.outcome), b"")
    return decode_outcome(latest) if latest else None


def _read_library(data: str) -> tuple[FailureList, TextCounter]:
    """The failures and the warnings of the files that are there now."""
    failures, warnings = FailureList(suggest_help), TextCounter()
    if not os.path.exists(library_path(data)):
        return failures, warnings
    with suppress(InorderError), closing(LibraryReader(data)) as library:
        for found in library.list_failures():
            failures.add(
                FailedItem(
                    item_id=found.item_id,
                    category=found.category,
                    message=found.message,
                    attempts=found.attempts,
                    traceback="" if found.category == "input" else found.detail[-TRACEBACK_MAX:],
                    step=found.step,
                )
            )
        for step in (DOCTAGS, INDEX):
            for facts in list_facts(library, step):
                for warning in facts.extras.get(WARNINGS, ()):
                    warnings.add(warning, facts.item_id)
    return failures, warnings


def _count_items(run: StageRun, files: _RunFiles, digest: TelemetryDigest, items: ItemDigest, state: str) -> ItemCounts:
    """The outcomes of items. The rows of the manifest count; those of a pass are of steps, so its telemetry does."""
    outcome = digest.outcome or digest.failure or {}
    known = (outcome.get("scheduled"), digest.snapshot.get("items_total"), (files.live or {}).get("items_total"))
    total = next((value for value in (*known, digest.announced_total) if value is not None), None)
    counts = {name: getattr(items, name) for name in _OUTCOMES}
    if run.is_pass and run.parts:
        ended, latest = digest.outcome, digest.snapshot
        found = {name: latest.get(f"items_{name}") if ended is None else ended.get(name) for name in _OUTCOMES}
        counts = {name: int(value or 0) for name, value in found.items()}
        if ended is None and files.journal is not None:  # which is newer than the snapshot
            committed = files.journal.newest_candidate.end
            counts["succeeded"] += max(0, min(committed, total or committed) - sum(counts.values()))
    done = sum(counts.values())
    if state == "finished" and total is None:
        total = done
    return ItemCounts(
        total=None if total is None else max(total, done),
        adopted=(digest.outcome or {}).get("adopted", digest.snapshot.get("items_adopted") or 0),
        **counts,
    )


def _describe_config(run: StageRun) -> dict[str, Any]:
    config = run.config
    if config is None:
        return {}
    options = config.options
    return {
        "version": config.version,
        "host": config.host,
        "command": _quote_command(config.argv),
        "policy": options.get("policy", ""),
    }


def _quote_command(argv: Sequence[str]) -> str:
    """The command line of a run, to be pasted into a shell; empty: it was a program of the user's."""
    if not argv or Path(argv[0]).name not in ("inorder", "__main__.py"):
        return shlex.join(["python", *argv]) if argv and argv[0].endswith(".py") else ""
    return shlex.join(["inorder", *argv[1:]])


def _describe_activity(live: dict[str, Any] | None, state: str) -> dict[str, Any]:
    """What a run that is under way waits for, and what it is running; or what a killed one was running."""
    if live is None or state not in ("running", "killed"):
        return {}
    try:
        head = None if live["head"] is None else msgspec.convert(live["head"], HeadReport)
        waiting = "" if head is None else head.describe().replace(head.name, head.item_id or head.name, 1)
        running = [
            f"{item['item_id'] or item['seq']}: {item['running_s']:.0f} s on worker {item['worker']}"
            + (f", {describe_running(item)}" if describe_running(item) else "")
            for item in live["running"]
        ]
    except (msgspec.ValidationError, KeyError, TypeError):
        return {}
    return {"waiting_for": waiting, "running": running}


def _list_durations(digest: TelemetryDigest, items: ItemDigest) -> list[DurationStats]:
    """The durations of the telemetry; execution times from the rows, which have all of them."""
    found = []
    for name, (title, meaning) in _DURATIONS.items():
        values: dict[str, Any] = digest.histograms.get(name, {})
        if name == "item_exec_ms":
            values = items.durations.summarize() | {"buckets": items.durations.list_buckets()}
        found.append(
            DurationStats(
                name=name,
                title=title,
                meaning=meaning,
                count=values.get("count", 0),
                p50_ms=values.get("p50", 0.0),
                p95_ms=values.get("p95", 0.0),
                max_ms=values.get("max", 0.0),
                buckets=fill_buckets(values.get("buckets", [])),
            )
        )
    return found


def _add_worker(item: SlowItem, found: LongItem | None) -> SlowItem:
    return item if found is None else msgspec.structs.replace(item, worker=found.worker)
