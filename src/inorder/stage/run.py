"""`run_stage`: runs the plan of a stage, with order, retries, time limits, resume, manifest, progress and telemetry.

    lock DATA ─▶ journal: resume or start over ─▶ staging ─▶ plan ─▶ workers ─▶ outputs, manifest ─▶ outcome

The plan is read lazily. An item whose outputs are up to date is skipped, but it stays an item: it has its seq, its row
in the manifest, and its place in the order.

A run adopts the results of an interrupted or stopped run of the same plan that are in staging and not committed, and
empties the rest of staging. After a run that is complete there is nothing in it.
"""

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from inorder.core.commands import Command, Summary
from inorder.core.events import Event, Finished
from inorder.core.transitions import State
from inorder.engines.factory import EngineSpec
from inorder.engines.process.idle import IdleProcesses
from inorder.errors import require
from inorder.host.clock import SystemClock
from inorder.host.filesystem import SystemFilesystem
from inorder.host.lock import Lock
from inorder.host.memory import release_after_work
from inorder.journal.records import Header
from inorder.journal.writer import JournalOptions
from inorder.runtime.durable_run import DurableJob, DurableRun
from inorder.runtime.identity import PlanChanged, new_run_id
from inorder.runtime.recovery import OpenedJournal
from inorder.runtime.result_log import FORMAT_VERSION, LogHeader, ResultLog
from inorder.sinks.base import Entry, Sink
from inorder.sinks.manifest import ManifestSink
from inorder.sinks.outputs import OutputsSink, clear_staging
from inorder.sinks.packed_lines import pack_lines

from .autoscale import StageAutoscaler
from .context import StageContext, call_hook
from .contracts import PassHooks, PassPlan, StageHooks, StageOutcome, StagePlan, to_pass_hooks, to_pass_plan
from .data_layout import DataLayout, create_option_folder
from .engine import (
    answer_skipped,
    create_stage_engine,
    create_stage_memory_probe,
    list_survivors,
    make_engine_spec,
    make_kernel_options,
    require_disk_space,
    require_gpu_policy,
    stop_at_refusal,
)
from .files.hash_cache import HashCache
from .manifest.entries import describe_entry, get_result, to_item_result
from .manifest.rows import add_fields, make_config_row, make_row
from .monitor.monitor import RunMonitor
from .options import StageOptions
from .plan_identity import hash_config, hash_plan, identify_item, open_journal
from .plan_reader import PlanPosition, count_plan, fill_total, read_plan
from .signals import cancel_on_signals
from .staged_results import StageResultCodec
from .worker import StageTask, StageWork

_SUCCESS = int(State.TERMINAL_SUCCESS)
MakeManifest = Callable[[Callable[[Entry], dict[str, Any]], dict[str, Any]], Sink]
"""Makes the sink for manifest rows from the function that makes a row, and the `__config__` row."""
_ONE_SHOT = (
    "the plan has changed since it was interrupted, and its items can be read only once; "
    "give StagePlan a list, or run with resume off"
)


def run_stage(
    plan: StagePlan,
    worker: Callable[..., Any],
    options: StageOptions | None = None,
    hooks: StageHooks | None = None,
    *,
    origin: dict[str, Any] | None = None,
    sinks: Sequence[Sink] = (),
    finish: Callable[[], None] | None = None,
    manifest: MakeManifest | None = None,
) -> StageOutcome:
    """Run every item of a plan and commit the results in plan order; resume where an earlier run was interrupted.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as data:
    ...     plan = StagePlan("count", [WorkItem(item_id="a"), WorkItem(item_id="b")])
    ...     outcome = run_stage(plan, lambda item: None, StageOptions(data=data, progress="none"))
    >>> outcome.succeeded
    2

    Args:
        plan: The items, in the order in which they are committed.
        worker: Called as `worker(item, ctx)` with a `WorkItem` and a `StageContext`, or as `worker(item)`. It writes
            its outputs to `ctx.output(name)` and returns a dict of manifest fields, a `Skip`, or None.
        options: How to run; defaults as in `StageOptions`.
        hooks: Callbacks around the stage and its items.
        origin: Recorded in the `__config__` row of the manifest: how to make the same plan again.
        sinks: Further sinks, which get what workers pass to `ctx.deliver` as `entry.payload`, in the order of the plan.
            They are closed at the end.
        finish: Called after the sinks are closed, unless the run was stopped.
        manifest: Makes the sink for manifest rows, instead of `DATA/manifests/<stage>.jsonl`. Called with a function
            that makes the row of an entry, and with the `__config__` row. Commands that read manifests find no rows.

    Returns:
        Counts, durations and errors of the run. Failed items do not raise.

    Raises:
        OperatorError: The plan or an option is invalid.
        BusyError: Another run of this stage holds DATA.
        InfrastructureError: The disk or the machine failed; repeat the call to resume.
        IntegrityError: The journal is damaged.
    """
    options = StageOptions() if options is None else options
    hooks = StageHooks() if hooks is None else hooks
    require(isinstance(plan, StagePlan), f"run_stage needs a StagePlan, got {type(plan).__name__}")
    require(callable(worker), f"run_stage needs a worker that can be called, got {type(worker).__name__}")
    for name, value, kind in (("options", options, StageOptions), ("hooks", hooks, StageHooks)):
        require(isinstance(value, kind), f"{name} must be {kind.__name__}, got {type(value).__name__}")
    for name, function in (("finish", finish), ("manifest", manifest)):
        require(function is None or callable(function), f"{name} must be callable, got {type(function).__name__}")
    _require_sinks(sinks)
    return run_pass(plan, worker, options, hooks, origin=origin, sinks=sinks, finish=finish, manifest=manifest)


def _require_sinks(sinks: Sequence[Sink]) -> None:
    require(isinstance(sinks, Sequence), f"sinks must be a list of sinks, got {type(sinks).__name__}")
    for sink in sinks:
        require(callable(getattr(sink, "apply", None)), f"sinks must be a list of sinks, got a {type(sink).__name__}")
    names = ["outputs", "manifest", *(sink.name for sink in sinks)]
    require(len(set(names)) == len(names), f"every sink needs a name of its own, got {', '.join(names)}")


def run_pass(
    plan: StagePlan,
    worker: Callable[..., Any],
    options: StageOptions,
    hooks: StageHooks,
    *,
    origin: dict[str, Any] | None = None,
    sinks: Sequence[Sink] = (),
    finish: Callable[[], None] | None = None,
    manifest: MakeManifest | None = None,
    idle: IdleProcesses | None = None,
    run_id: str | None = None,
) -> StageOutcome:
    """Run a pass of this package, as `run_stage` runs a stage.

    Args:
        plan: A `PassPlan`, or the plan of a stage. The same holds for `hooks`.
        idle: Worker processes of earlier runs, which are used again and are left there at the end.
        run_id: The id of the run, as `new_run_id` makes one; None: a new one.
    """
    require_gpu_policy(plan, options)
    plan = fill_total(to_pass_plan(plan))
    options = msgspec.structs.replace(options, data=os.path.abspath(options.data))
    layout = DataLayout(os.fspath(options.data), plan.stage_name)
    layout.create_folders(is_durable=options.fsync != "off")
    if options.telemetry and options.telemetry_dir is not None:
        create_option_folder("telemetry_dir", options.telemetry_dir)
    if options.metrics_file is not None:
        create_option_folder("metrics_file", os.path.dirname(os.path.abspath(options.metrics_file)))
    lock = Lock(layout.lock, f"{layout.data} ({plan.stage_name})")
    try:
        try:
            run = _StageRun(
                plan,
                worker,
                options,
                to_pass_hooks(hooks),
                layout,
                origin or {},
                sinks,
                manifest,
                idle,
                run_id,
            )
            outcome = run.run()
        finally:
            for sink in sinks:
                sink.close()
            if options.metrics_file is not None:
                from .monitor.prometheus import write_metrics_file

                write_metrics_file(options.metrics_file, layout.data, options.telemetry_dir)
        release_after_work(outcome.succeeded + outcome.failed)
        if outcome.stop_kind is None and finish is not None:
            finish()
        return outcome
    finally:
        lock.release()


class _StageRun:
    """One run, under the lock."""

    def __init__(
        self,
        plan: PassPlan,
        worker: Callable[..., Any],
        options: StageOptions,
        hooks: PassHooks,
        layout: DataLayout,
        origin: dict[str, Any],
        sinks: Sequence[Sink],
        make_manifest: MakeManifest | None,
        idle: IdleProcesses | None,
        run_id: str | None,
    ) -> None:
        self._idle = idle
        self._plan = plan
        self._sinks = sinks
        self._worker = worker
        self._options = options
        self._hooks = hooks
        self._layout = layout
        self._run_id = run_id or new_run_id()
        self._clock = SystemClock()
        self._filesystem = SystemFilesystem()
        self._results: ResultLog | None = None
        self._resources: dict[str, Any] = {}
        self._signals: list[int] = []
        """Signals that were received during the run."""
        self._autoscaler: StageAutoscaler | None = None
        self._context = StageContext(plan.stage_name, options, self._resources)
        self._config_row = make_config_row(plan.stage_name, self._run_id, options, origin)
        self._make_manifest = make_manifest or self._open_manifest

    def run(self) -> StageOutcome:
        """Run the stage."""
        started_s = time.monotonic()
        is_ended = False
        self._cache = HashCache(self._layout.cache)
        self._monitor = RunMonitor(self._plan, self._options, self._layout, self._run_id)
        try:
            self._call_hook("before_stage", self._context)
            add_fields(self._config_row, self._context.fields)
            summary, opened = self._run_or_start_over()
            pack_lines(self._filesystem, self._layout.manifest, self._plan.stage_name, self._context.warn)
            wall_ms = (time.monotonic() - started_s) * 1000
            outcome = self._monitor.make_outcome(summary, opened, wall_ms, self._context.warnings)
            is_ended = outcome.stop_kind is None
            adopted = 0 if self._results is None else self._results.adopted_count
            outcome = msgspec.structs.replace(outcome, stop_signal=self._stop_signal(outcome), adopted=adopted)
            self._call_hook("after_stage", outcome)
            self._monitor.finish(outcome)
        except BaseException as error:
            self._monitor.fail(error)
            raise
        finally:
            self._monitor.close()
            self._cache.close()
            if is_ended or self._results is None or not self._results.has_uncommitted:
                shutil.rmtree(self._layout.staging, ignore_errors=True)
        return outcome

    def _call_hook(self, name: str, *arguments: Any) -> Any:
        return call_hook(getattr(self._hooks, name), self._context.warn, name, *arguments)

    def _stop_signal(self, outcome: StageOutcome) -> int | None:
        """Return the signal that stopped the run, if one did."""
        return self._signals[0] if self._signals and outcome.stop_kind == "cancelled" else None

    def _run_or_start_over(self) -> tuple[Summary, OpenedJournal]:
        """Resume the interrupted run if there is one. Start over if its plan was another one."""
        job, results = self._make_job()
        opened = open_journal(job, self._plan, self._options, self._context.warn)
        try:
            return self._run(job, results, opened), opened
        except PlanChanged:
            require(iter(self._plan.items) is not self._plan.items, _ONE_SHOT)
        job, results = self._make_job()
        opened = job.open(start_over=True)
        return self._run(job, results, opened), opened

    def _run(self, job: DurableJob, results: ResultLog, opened: OpenedJournal) -> Summary:
        """Run all items of the plan."""
        position = PlanPosition()
        rest = read_plan(self._plan, self._options, self._layout, self._cache, opened.resume_point.end, position)
        try:
            adopts = self._options.resume and not self._options.force
            results.start(opened.resume_point.end if adopts else None)
            clear_staging(self._filesystem, self._layout.staging, keep=results.list_files())
            spec = make_engine_spec(self._plan, self._options)
            engine = create_stage_engine(spec, self._options, self._make_work(spec), self._layout, self._idle)
            run = DurableRun(
                job,
                opened,
                rest,
                engine,
                self._clock,
                make_kernel_options(self._options, has_groups=self._hooks.before_group is not None),
                total=self._plan.total_items,
                observer=self._observe,
                memory=create_stage_memory_probe(self._options, engine),
            )
        except BaseException:
            opened.writer.close()
            raise
        self._autoscaler = scaled = None
        if self._options.adaptive:
            kernel = run.runtime.kernel
            self._autoscaler = scaled = StageAutoscaler(
                engine, spec.worker_count, lambda: kernel.is_saturated, self._clock.now_ms()
            )
        self._monitor.start(
            run.runtime,
            opened,
            engine,
            lambda: spec.worker_count if scaled is None else scaled.workers,
            results,
            lambda: position.part_count,
            [*getattr(engine, "lanes", ()), *run.lanes],
            self._resources,
        )
        try:
            if self._plan.attach is not None:
                self._plan.attach(engine.wake)
            with cancel_on_signals(run.runtime.cancel) as self._signals:
                summary = count_plan(
                    run.run(), self._plan.expected_items, rest, position, self._signals, self._context.warn
                )
        except BaseException as error:
            for message in list_survivors(run.runtime):
                error.add_note(message)
            raise
        for message in list_survivors(run.runtime):
            self._context.warn(message)
        return summary

    def _observe(self, now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        """Called after every step of the kernel, before its commands are performed."""
        require_disk_space(event)
        stop_at_refusal(event)
        if self._autoscaler is not None:
            if type(event) is Finished:
                self._autoscaler.record(event.worker, event.envelopes, now_ms)
            self._autoscaler.adjust(now_ms)
        self._monitor.observe(now_ms, event, commands)

    def _make_job(self) -> tuple[DurableJob, ResultLog]:
        layout, stage = self._layout, self._plan.stage_name
        plan_hash, config_hash = hash_plan(self._plan), hash_config(self._plan, self._options)
        log_header = LogHeader(FORMAT_VERSION, self._run_id, plan_hash, config_hash)
        fingerprinting = self._options.fingerprinting
        codec = StageResultCodec(self._filesystem, layout.data, layout.staging, fingerprinting=fingerprinting)
        self._results = results = ResultLog(
            self._filesystem, layout.staging, log_header, codec, by_identity=self._plan.is_remainder
        )
        results.read()
        outputs = OutputsSink(
            self._filesystem, layout.data, staging=layout.staging, name="outputs", staged=results.published
        )
        manifest = self._make_manifest(partial(make_row, stage), self._config_row)
        header = Header(
            self._run_id,
            plan_hash,
            config_hash,
            [outputs.name, manifest.name, *(sink.name for sink in self._sinks)],
            self._clock.wall_ms(),
        )
        job = DurableJob(
            filesystem=self._filesystem,
            path=layout.journal,
            header=header,
            sinks=[outputs, manifest, *self._sinks],
            identify=lambda task: identify_item(task.item),
            describe=partial(describe_entry, layout.data, self._plan),
            options=JournalOptions(fsync=self._options.fsync),
            results=results,
            commit_thread=self._options.commit_thread,
            answer=answer_skipped,
            offer=StageTask.offer,
            on_commit=self._on_committed,
        )
        return job, results

    def _open_manifest(self, row: Callable[[Entry], dict[str, Any]], head: dict[str, Any]) -> Sink:
        return ManifestSink(self._filesystem, self._layout.manifest, row, head=[head], name="manifest", appends=True)

    def _make_work(self, spec: EngineSpec) -> StageWork:
        """Make what calls the worker. Threads share the resources of the driver; each process sets up its own."""
        hooks, resources = self._hooks, None if spec.has_processes else self._resources
        return StageWork(
            self._worker,
            self._plan.stage_name,
            self._options,
            self._layout.staging,
            before_item=hooks.before_item,
            worker_setup=hooks.worker_setup if spec.has_processes else None,
            group_size=hooks.group_size,
            before_group=hooks.before_group,
            resources=resources,
        )

    def _on_committed(self, entries: Sequence[Entry]) -> None:
        """Called on the commit thread after entries are committed."""
        for entry in entries:
            if entry.outcome == _SUCCESS and (result := get_result(entry)) is not None:
                self._cache.put_inputs(result.inputs)
        self._monitor.record_committed(entries, {} if self._hooks.after_item is None else self._call_after(entries))

    def _call_after(self, entries: Sequence[Entry]) -> dict[int, Mapping[str, Any]]:
        """Call `after_item` for each entry. Returns the fields for telemetry that it returned, by seq."""
        fields = {}
        for entry in entries:
            self._context.delivery = entry.payload
            found = self._call_hook("after_item", entry.item, to_item_result(entry), self._context)
            plain = call_hook(_to_plain_fields, self._context.warn, "after_item", found)
            if plain:
                fields[entry.seq] = plain
        self._context.delivery = None
        return fields


def _to_plain_fields(found: object) -> dict[str, Any]:
    """Return the fields that `after_item` returned, as plain data. May raise whatever a value of them raises."""
    if not isinstance(found, Mapping):
        return {}
    import json  # most runs have no such fields

    plain: dict[str, Any] = json.loads(json.dumps(dict(found), default=str, skipkeys=True))
    msgspec.json.encode(plain)
    return plain
