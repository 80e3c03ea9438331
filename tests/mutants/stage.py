"""Bugs in the stage runner."""

from tests.mutants.mutant import Mutant

_STALL = "tests/stage/monitor/test_stall.py"
_BUDGET = "tests/core/test_error_budget.py::test_"
_STOPPING = "tests/stage/run/test_stopping.py::test_"
_COUNTS = "tests/stage/run/test_counts.py::test_"
_EXTENSIONS = "tests/stage/run/test_extensions.py::test_"
_OTEL = "tests/stage/monitor/test_otel.py::test_"
_OUTCOMES = "tests/stage/worker/test_item_outcomes.py::test_"

STAGE_MUTANTS: tuple[Mutant, ...] = (
    # ---- autoscaling
    Mutant(
        "slow items never raise the number of workers",
        "stage/autoscale.py",
        "if sample.is_saturated and not sample.is_failing:",
        "if False:",
        "tests/stage/test_autoscale.py::test_it_rises_for_items_of_half_a_second_and_for_items_of_minutes",
    ),
    Mutant(
        "the number of workers rises while a worker is idle",
        "stage/autoscale.py",
        "if sample.is_saturated and not sample.is_failing:",
        "if not sample.is_failing:",
        "tests/stage/test_autoscale.py::test_it_does_not_rise_for_slow_items_while_a_worker_is_idle_or_failures_are_frequent",
    ),
    # ---- stalls and tracebacks
    Mutant(
        "a stall is announced again and again",
        "stage/monitor/stall.py",
        "return head if is_new else None",
        "return head",
        f"{_STALL}::test_a_stall_begins_once_and_ends_once",
    ),
    Mutant(
        "the end of a stall is not noticed",
        "stage/monitor/stall.py",
        "        ended = StallEnded(round(waited_s, 3), head)\n",
        "        return None\n        ended = StallEnded(round(waited_s, 3), head)\n",
        f"{_STALL}::test_a_stall_begins_once_and_ends_once",
    ),
    Mutant(
        "the time since the last commit counts from the start of the run",
        "stage/monitor/stall.py",
        "self._position, self._moved_s = position, now_s",
        "self._position = position",
        f"{_STALL}::test_a_stall_begins_once_and_ends_once",
    ),
    Mutant(
        "a stall names the worker but not what it runs",
        "stage/monitor/stall.py",
        "(activity.worker, activity.seq) == (head.worker, head.seq)",
        "activity.worker == head.seq",
        f"{_STALL}::test_the_head_is_described_with_its_state",
    ),
    Mutant(
        "the outcome does not name the item that a run waited for",
        "stage/monitor/monitor.py",
        "        warnings += self._watchdog.describe_longest()\n",
        "",
        f"{_STALL}::test_a_run_names_the_item_it_waits_for",
    ),
    Mutant(
        "a failure has no traceback in the manifest",
        "stage/manifest/rows.py",
        '"traceback": "" if failure is None else failure.detail,',
        '"traceback": "",',
        "tests/stage/manifest/test_tracebacks.py::test_a_failure_keeps_the_traceback_of_its_worker[io]",
    ),
    # ---- stopping and counting
    Mutant(
        "threads that outlast a run are not named",
        "stage/run.py",
        "        for message in list_survivors(run.runtime):\n            self._context.warn(message)\n",
        "",
        f"{_STOPPING}a_thread_that_outlasts_its_grace_is_named_in_a_warning",
    ),
    Mutant(
        "an exception does not name the threads that go on",
        "stage/run.py",
        "                error.add_note(message)\n",
        "                pass\n",
        f"{_STOPPING}a_stage_that_raises_waits_for_running_items_and_names_the_others",
    ),
    Mutant(
        "running items have no grace when the error budget is exceeded",
        "core/cursor.py",
        "else state.options.cancel_grace_ms",
        "else 0",
        f"{_BUDGET}work_in_flight_has_the_grace_of_a_cancel_when_the_budget_runs_out",
    ),
    Mutant(
        "drain ends running items like stop",
        "core/cursor.py",
        'if state.options.on_budget == "drain"',
        "if False",
        f"{_BUDGET}a_budget_that_runs_out_can_let_work_in_flight_end",
    ),
    Mutant(
        "closing an engine does not wait for threads",
        "engines/pool.py",
        "ticket.wait(max(0.0, until_s - monotonic()))",
        "pass",
        "tests/conformance/test_engines.py::test_closing_with_grace_waits_for_what_runs[threads-1]",
    ),
    Mutant(
        "workers go on with their batch while a run stops",
        "engines/pool.py",
        "elif has_idle or self._is_draining:",
        "elif has_idle:",
        "tests/conformance/test_engines.py::test_a_worker_of_a_run_that_stops_starts_nothing_more[threads-1]",
    ),
    Mutant(
        "items that were not read are not counted as cancelled",
        "stage/plan_reader.py",
        "cancelled=total - done)",
        "cancelled=position.count - total)",
        f"{_COUNTS}a_run_stopped_by_its_error_budget[a generator]",
    ),
    Mutant(
        "items to remove are not counted in a run that was stopped",
        "stage/plan_reader.py",
        "        position.count += 1\n        removals",
        "        removals",
        "tests/stage/test_stale_items.py::test_a_stopped_run_counts_what_it_would_have_removed",
    ),
    Mutant(
        "the event of a run that raised has no counts",
        "stage/monitor/monitor.py",
        "            **self._make_progress().count_outcomes(self._metrics.planned_count),\n",
        "",
        f"{_COUNTS}a_run_that_raises_tells_its_counts_to_telemetry[a list]",
    ),
    # ---- the same in every run, and the truth about time
    Mutant(
        "the failure of an item names a process",
        "engines/process/worker_process.py",
        'return f"the process was killed by',
        'return f"process {self.pid} was killed by',
        f"{_OUTCOMES}the_row_of_an_item_that_kills_its_process_is_the_same_in_every_run",
    ),
    Mutant(
        "spans are dated back from the commit",
        "stage/monitor/otel.py",
        "began_ns = int(entry.began_ms * 1e6) or time.time_ns()",
        "began_ns = time.time_ns() - int(entry.exec_ms * 1e6)",
        f"{_OTEL}a_span_has_the_start_and_end_of_the_execution_and_not_of_the_commit[io]",
    ),
    Mutant(
        "an item past its time limit took no time",
        "core/results.py",
        "self.fail_item(lease, event.seq, failure, event.exec_ms, event.began_ms)",
        "self.fail_item(lease, event.seq, failure, 0.0, 0.0)",
        f"{_OTEL}an_item_whose_process_is_gone_has_a_span_too[hang]",
    ),
    Mutant(
        "staged outputs do not count as buffered",
        "stage/worker.py",
        "return sum(size for _, size, _ in self.outputs)",
        "return 0",
        "tests/stage/run/test_staged_bytes.py::test_outputs_behind_a_slow_item_pause_dispatch",
    ),
    # ---- what a program can bring along
    Mutant(
        "a user's satisfies is not called",
        "stage/freshness.py",
        "if type(item).satisfies is not WorkItem.satisfies:",
        "if False:",
        f"{_EXTENSIONS}an_item_that_overrides_satisfies_decides_itself",
    ),
    Mutant(
        "an item whose satisfies raises is skipped",
        "stage/freshness.py",
        'return Freshness(False, f"its method satisfies raised',
        'return Freshness(True, f"its method satisfies raised',
        f"{_EXTENSIONS}an_item_whose_satisfies_raises_is_processed",
    ),
    Mutant(
        "the place of a StageError is not in the row",
        "stage/manifest/rows.py",
        "    if not failure.stage and not failure.item_id:\n",
        "    if True:\n",
        f"{_EXTENSIONS}the_place_of_a_stage_error_is_in_the_row_and_in_the_message",
    ),
    Mutant(
        "the message does not name the place of a StageError",
        "stage/worker.py",
        "    if place:\n",
        "    if False:\n",
        f"{_EXTENSIONS}the_place_of_a_stage_error_is_in_the_row_and_in_the_message",
    ),
    Mutant(
        "a plan made for a GPU runs in processes",
        "stage/engine.py",
        "or options.i_know_what_im_doing,",
        "or True,",
        f"{_EXTENSIONS}a_plan_made_for_gpu_refuses_processes_unless_it_is_told_otherwise",
    ),
    Mutant(
        "an injected manifest is ignored",
        "stage/run.py",
        "make_manifest or self._open_manifest",
        "self._open_manifest",
        f"{_EXTENSIONS}a_manifest_sink_can_be_injected",
    ),
    Mutant(
        "fields of before_stage are dropped",
        "stage/run.py",
        "            add_fields(self._config_row, self._context.fields)\n",
        "",
        f"{_EXTENSIONS}before_stage_can_add_fields_to_the_config_row",
    ),
    Mutant(
        "fields of before_item are dropped",
        "stage/worker.py",
        "extras = context.fields | self._encode_extras(item, value)",
        "extras = self._encode_extras(item, value)",
        f"{_EXTENSIONS}before_item_can_add_fields_to_the_row[io]",
    ),
    Mutant(
        "fields of after_item do not reach the telemetry",
        "stage/monitor/monitor.py",
        "            if entry.seq in fields:\n",
        "            if False:\n",
        f"{_EXTENSIONS}after_item_can_add_fields_to_telemetry",
    ),
    # ---- resuming
    Mutant(
        "a fingerprint is removed after its outputs",
        "stage/fingerprints.py",
        "(locate_fingerprint(outputs), *outputs.values())",
        "(*outputs.values(), locate_fingerprint(outputs))",
        "tests/stage/test_stale_items.py::test_the_fingerprint_of_an_item_is_removed_before_its_outputs",
    ),
    Mutant(
        "retries before an interruption are granted again",
        "journal/replay.py",
        "retries_granted={seq: count for seq, count in self.granted.items() if seq >= start},",
        "retries_granted={},",
        "tests/stage/test_plan_identity.py::test_retries_that_were_spent_before_an_interruption_stay_spent",
    ),
    Mutant(
        "an output that cannot be read counts as up to date",
        "stage/freshness.py",
        """            return f"its output {name!r} cannot be read: {error.strerror or error}"\n""",
        """            continue\n""",
        "tests/stage/test_freshness.py::test_an_unreadable_output_is_a_reason_and_not_the_end",
    ),
    Mutant(
        "items are checked although the run does not resume",
        "stage/plan_reader.py",
        "self._is_forced = options.force or not options.resume",
        "self._is_forced = options.force",
        "tests/stage/test_freshness.py::test_without_resume_everything_is_done_again",
    ),
)
