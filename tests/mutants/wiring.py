"""Options that are parsed and then ignored, or taken for something else."""

from tests.mutants.mutant import Mutant

_ENGINE = "stage/engine.py"
_RUN = "stage/run.py"
_LIMITS = "runtime/limits.py"
_TABLE = "tests/wiring/test_wiring.py::test_the_option_has_an_effect"
_REPORTS = "tests/wiring/test_reports.py"


def _cut(option: str, file: str, old: str, new: str, door: str = "StageOptions") -> Mutant:
    """An option that has no effect."""
    return Mutant(f"{option} is ignored ({door})", file, old, new, f"{_TABLE}[{option}-{door}]")


WIRING_MUTANTS: tuple[Mutant, ...] = (
    _cut("retry_backoff_s", _ENGINE, "options.retry_backoff_s,", "0.1,"),
    _cut("fsync", _RUN, "JournalOptions(fsync=self._options.fsync)", "JournalOptions()"),
    _cut("cancel_grace_s", _ENGINE, "        cancel_grace_ms=int(options.cancel_grace_s * 1000),\n", ""),
    Mutant(
        "the grace is taken for milliseconds",
        _ENGINE,
        "int(options.cancel_grace_s * 1000)",
        "int(options.cancel_grace_s)",
        f"{_TABLE}[cancel_grace_s-StageOptions]",
    ),
    _cut(
        "buffered_bytes_max",
        _ENGINE,
        "to_pressure_options(options.buffered_bytes_max)",
        "to_pressure_options(256 * 2**20)",
    ),
    _cut("memory_bytes_max", _ENGINE, "        memory_bytes_max=options.memory_bytes_max,\n", ""),
    _cut("timeout_s", _ENGINE, "        timeout_s=options.timeout_s or None,\n", ""),
    _cut("classify", _ENGINE, "        classify=options.classify,\n", ""),
    _cut("schedule", _ENGINE, "        schedule=options.schedule,\n", ""),
    _cut("error_budget", _ENGINE, "        error_budget=options.error_budget,\n", ""),
    _cut("retries", _ENGINE, "make_retry_options(options.retries,", "make_retry_options(0,"),
    _cut("max_queue", _ENGINE, "entries, ahead = 1024, options.max_queue", "entries, ahead = 1024, 1024"),
    _cut("workers", _ENGINE, "if is_shared else options.workers,", "if is_shared else None,"),
    _cut("policy", _ENGINE, "if is_shared else options.policy,", "if is_shared else 'io',"),
    _cut("infrastructure_budget", _ENGINE, "        infrastructure_budget=options.infrastructure_budget,\n", ""),
    _cut("recycle_tasks", _ENGINE, "        recycle_tasks=options.recycle_tasks,\n", ""),
    _cut(
        "recycle_resident_bytes",
        "engines/factory.py",
        "        recycle_resident_bytes=spec.recycle_resident_bytes,\n",
        "",
    ),
    _cut("commit_thread", _RUN, "commit_thread=self._options.commit_thread,", "commit_thread=True,"),
    _cut("on_budget", _ENGINE, "        on_budget=options.on_budget,\n", ""),
    _cut(
        "telemetry_dir",
        "stage/monitor/monitor.py",
        "layout.telemetry_path(run_id, options.telemetry_dir)",
        "layout.telemetry_path(run_id)",
    ),
    _cut("cancel_grace_s", "iteration.py", "        cancel_grace_ms=int(cancel_grace_s * 1000),\n", "", "imap"),
    _cut("ray.send_bytes_max", _ENGINE, "options.ray.send_bytes_max", "2**20"),
    _cut(
        "diagnostics_interval_s",
        "stage/monitor/monitor.py",
        "(options.diagnostics_interval_s, self._record)",
        "(5.0, self._record)",
    ),
    _cut("lease_s", _ENGINE, "        lease_s=options.lease_s,\n", ""),
    _cut("stall_warning_s", "iteration.py", "StallNotice(stall_warning_s, clock)", "StallNotice(0, clock)", "imap"),
    _cut("lease_s", "iteration.py", "        lease_s=lease_s,\n", "", "imap"),
    _cut(
        "stall_warning_s",
        "stage/monitor/monitor.py",
        "StallWatchdog(options.stall_warning_s, ",
        "StallWatchdog(30.0, ",
    ),
    _cut("telemetry", "stage/monitor/monitor.py", " if options.telemetry else None", ""),
    _cut("force", "stage/plan_reader.py", "options.force or not options.resume", "not options.resume"),
    _cut(
        "fingerprinting", "stage/plan_reader.py", "_fingerprinting = options.fingerprinting", "_fingerprinting = True"
    ),
    Mutant(
        "the batch key is ignored", "stage/plan_reader.py", "item.batch_key, input_bytes", "'', input_bytes", _REPORTS
    ),
    Mutant(
        "a wrong percentile is reported",
        "stage/monitor/monitor.py",
        "exec_p95_ms=self._exec_ms.quantile(0.95)",
        "exec_p95_ms=self._exec_ms.quantile(0.9)",
        _REPORTS,
    ),
    Mutant(
        "the telemetry has the 95th percentile for the 99th",
        "stage/monitor/histograms.py",
        "self.quantile(0.99)",
        "self.quantile(0.95)",
        _REPORTS,
    ),
    _cut("retries", "iteration.py", "make_retry_options(retries,", "make_retry_options(0,", "imap"),
    _cut(
        "memory_bytes_max",
        "iteration.py",
        "        memory_bytes_max=memory_bytes_max,\n        rec",
        "        rec",
        "imap",
    ),
    _cut("fsync", "runtime/delivery.py", "JournalOptions(fsync=fsync)", "JournalOptions()", "imap"),
    _cut(
        "buffered_bytes_max",
        "iteration.py",
        "to_pressure_options(buffered_bytes_max)",
        "to_pressure_options(256 * 2**20)",
        "imap",
    ),
    _cut(
        "workers",
        "cli/settings.py",
        "values | self._environment | self._command_line",
        "values | self._command_line",
        "environment",
    ),
    _cut(
        "tokens_min",
        "documents/chunk/settings.py",
        "if self.tokens_min is None else self.tokens_min",
        "",
        "command-line",
    ),
    _cut(
        "server_rate_per_s",
        "documents/embed/shared/opening.py",
        "open_dense(spec, self._limits)",
        "open_dense(spec)",
        "command-line",
    ),
    Mutant(
        "the process of the providers ignores the limits of servers",
        "documents/embed/shared/opening.py",
        "for family in self.shared}, self._limits)",
        "for family in self.shared}, ServerLimits())",
        "tests/documents/embed/test_shared.py::test_requests_to_a_server_have_the_chunks_of_many_documents",
    ),
    _cut(
        "server_tokens_per_minute",
        "documents/embed/providers/server/calls.py",
        "            self._wait(turn_s)\n",
        "",
        "command-line",
    ),
    Mutant(
        "a retry is not charged for its tokens",
        "documents/embed/providers/server/calls.py",
        "self._pacer.reserve(call.tokens, self._clock())",
        "self._pacer.reserve(0 if call.attempts else call.tokens, self._clock())",
        "tests/documents/embed/test_server.py::test_a_retry_is_charged_for_its_tokens_again",
    ),
    Mutant(
        "waiting for tokens counts against the deadline",
        "documents/embed/providers/server/calls.py",
        "            call.deadline_at_s += turn_s\n",
        "",
        "tests/documents/embed/test_server.py::"
        "test_requests_are_spread_by_their_tokens_and_the_wait_is_not_charged_to_the_deadline",
    ),
    # ---- windows and budgets
    _cut("windows.adaptive", _LIMITS, "            adaptive=self.adaptive,\n", ""),
    _cut("windows.cost_max", _LIMITS, "if self.cost_max is None else float(self.cost_max)", ""),
    _cut("windows.bytes_max", _LIMITS, "if self.bytes_max is None else self.bytes_max", ""),
    _cut("windows.retries_max", _ENGINE, "options.windows.retries_max", "None"),
    _cut("budgets.prefetch_bytes_max", _LIMITS, "self.prefetch_bytes_max or max(1, buffered_bytes_max // 2)", "2**40"),
    _cut("budgets.window_bytes_soft", _LIMITS, "self.window_bytes_soft or _three_quarters", "_three_quarters"),
    _cut("budgets.resident_bytes_hard", _LIMITS, "            resident_bytes_hard=resident_hard,\n", ""),
    _cut("budgets.release_percent", _LIMITS, "release_ratio_percent=self.release_percent", "release_ratio_percent=80"),
    Mutant(
        "nothing samples the memory of a run",
        "runtime/loop.py",
        "self._inbox.append(MemorySampled(self._memory.read()))",
        "pass",
        f"{_TABLE}[budgets.resident_bytes_hard-StageOptions]",
    ),
    Mutant(
        "the memory of worker processes is not counted",
        "runtime/memory_probe.py",
        "engine.process_ids() if isinstance(engine, HasProcesses) else []",
        "[]",
        "tests/runtime/test_memory_probe.py::test_worker_processes_count_and_those_that_are_gone_do_not",
    ),
    Mutant(
        "a run that waits samples no memory",
        "runtime/loop.py",
        "times = [] if self._memory is None else [self._sample_due_ms]",
        "times: list[int] = []",
        "tests/runtime/test_memory_probe.py"
        "::test_a_run_samples_at_its_start_and_after_every_interval_also_while_it_waits",
    ),
    Mutant(
        "inputs have no size",
        "stage/plan_reader.py",
        "return os.stat(source).st_size",
        "return 0",
        "tests/stage/run/test_windows.py::test_an_item_weighs_what_its_inputs_are_large",
    ),
)
"""Every option's wiring is cut somewhere."""
