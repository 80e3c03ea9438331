"""Bugs in engines and lanes."""

from tests.mutants.mutant import Mutant

_POOL = "engines/pool.py"
_MAIN = "engines/process/worker_main.py"
_STATUS = "engines/process/shared_status.py"
_SILENCE = "tests/engines/test_silence.py"
_HEARTBEAT = "tests/engines/process/test_heartbeat.py"
_PLAIN = "tests/engines/process/test_plain_values.py"
_WATCHING = "tests/engines/test_watching.py::test_"
_PROMISES = "tests/engines/process/test_worker_promises.py::test_"
_PROCESS = "tests/engines/process/test_engine.py::test_"

ENGINES_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a thread goes on past the bytes of its batch",
        "engines/threads.py",
        "            if bytes_left < 0:\n                break\n",
        "",
        f"{_WATCHING}a_thread_returns_the_rest_of_a_batch_whose_results_are_larger_than_expected",
    ),
    Mutant(
        "a process goes on past the bytes of its batch",
        _MAIN,
        "if bytes_left < 0 or not self._status.may_start(index, group_end):",
        "if not self._status.may_start(index, group_end):",
        f"{_PROMISES}a_process_leaves_the_rest_of_a_batch_whose_results_are_larger_than_expected",
    ),
    Mutant(
        "a process that is too large goes on with its batch",
        _MAIN,
        "read_resident_bytes() > self._resident_bytes_max:\n                    break\n",
        "read_resident_bytes() > self._resident_bytes_max:\n                    pass\n",
        f"{_PROMISES}a_process_that_is_too_large_leaves_the_rest_of_its_batch",
    ),
    Mutant(
        "only the worker is killed and not what it started",
        "engines/process/worker_process.py",
        "            os.killpg(self.pid, signal.SIGKILL)\n",
        "            pass\n",
        f"{_PROCESS}what_an_item_has_started_dies_with_its_worker",
    ),
    Mutant(
        "the start time of an item is read once",
        _STATUS,
        "if began_ns == _NONE or words[_BEGAN] != began_ns else snapshot",
        "if began_ns == _NONE else snapshot",
        f"{_PROMISES}a_reader_that_is_overtaken_by_the_next_item_sees_none",
    ),
    Mutant(
        "a worker reads its limit before it announces the start",
        _STATUS,
        "        self._words[_STARTED] = max(index + 1, reserved)\n        return index < self._words[_LIMIT]\n",
        "        is_allowed = index < self._words[_LIMIT]\n"
        "        self._words[_STARTED] = max(index + 1, reserved)\n"
        "        return is_allowed\n",
        f"{_PROMISES}an_item_that_the_parent_takes_back_at_its_start_is_not_started",
    ),
    Mutant(
        "an overrun that is not wanted goes on",
        _POOL,
        "        if self._reported.get(number) == running:\n            self.stop_worker(",
        "        if self._reported.get(number) == running:\n            str(",
        f"{_WATCHING}a_worker_whose_overrun_is_not_wanted_any_more_is_replaced",
    ),
    Mutant(
        "an overrun is reported again and again",
        _POOL,
        "        self._reported[number] = running\n",
        "",
        f"{_WATCHING}a_worker_whose_overrun_is_not_wanted_any_more_is_replaced",
    ),
    Mutant(
        "an attempt on a replaced worker counts as lost",
        _POOL,
        "WorkerLost(worker, Loss.RETIRED, reason=reason)",
        "WorkerLost(worker, Loss.DIED, reason=reason)",
        f"{_WATCHING}a_worker_whose_overrun_is_not_wanted_any_more_is_replaced",
    ),
    Mutant(
        "leaving workers are forgotten when the number grows",
        _POOL,
        "for _ in range(count - len(self._workers) + len(self._retiring)):",
        "for _ in range(count - len(self._workers)):",
        f"{_WATCHING}a_number_of_workers_that_falls_and_rises_again_is_the_number_wanted",
    ),
    Mutant(
        "a worker that was about to leave leaves although the number grew",
        _POOL,
        "                self._retiring.pop()\n",
        "                self._add_worker()\n",
        f"{_WATCHING}a_number_of_workers_that_falls_and_rises_again_is_the_number_wanted",
    ),
    Mutant(
        "a worker that leaves is blamed for its item",
        _POOL,
        'WorkerLost(event.worker, Loss.RETIRED, reason="the number of workers was reduced")',
        'WorkerLost(event.worker, Loss.DIED, reason="the number of workers was reduced")',
        f"{_WATCHING}a_worker_that_leaves_is_lost_without_blame",
    ),
    Mutant(
        "a dead worker gives heartbeats",
        _POOL,
        "for number, worker in self._workers.items() if worker.is_alive()]",
        "for number, worker in self._workers.items()]",
        f"{_WATCHING}a_dead_worker_gives_no_heartbeat",
    ),
    Mutant(
        "the watching thread vouches for the running item",
        _MAIN,
        "self._results.confirm_before(running)",
        "self._results.confirm()",
        f"{_PROMISES}the_result_of_an_item_is_not_sent_before_the_process_was_checked_after_it",
    ),
    Mutant(
        "an isolated item gets a process of an earlier engine",
        "engines/process/idle.py",
        "if not (is_unused and process.tasks_done)",
        "if True",
        "tests/engines/process/test_idle.py::test_an_isolated_item_gets_a_process_that_has_run_nothing",
    ),
    Mutant(
        "an idle process keeps the stores of its last stage open",
        "stage/store/compression.py",
        'log files of a store stay while a process has it open."""\n        close_readers()',
        'log files of a store stay while a process has it open."""',
        "tests/cli/test_visits.py::test_no_log_files_of_stores_are_left",
    ),
    Mutant(
        "an idle process is not told to close what it has open",
        "engines/process/engine.py",
        "if not process.release():",
        "if False:",
        "tests/engines/process/test_idle.py::test_a_function_closes_what_it_has_open_before_its_engine_is_closed",
    ),
    Mutant(
        "a process keeps its limits for a stage with others",
        "engines/process/idle.py",
        "if process.limits == limits)",
        "if process.limits is not None)",
        "tests/engines/process/test_idle.py::test_other_limits_need_another_process",
    ),
    Mutant(
        "a start that was killed by a signal is fatal",
        "engines/process/engine.py",
        "elif error.signal_name is not None:",
        "elif False:",
        f"{_PROMISES}a_start_that_is_killed_is_repeated_and_one_that_fails_by_itself_is_fatal",
    ),
    Mutant(
        "a start that failed by itself is repeated",
        "engines/process/engine.py",
        "elif error.signal_name is not None:",
        "elif True:",
        f"{_PROMISES}a_start_that_is_killed_is_repeated_and_one_that_fails_by_itself_is_fatal",
    ),
    Mutant(
        "the memory limit is one that an item can raise",
        _MAIN,
        "resource.setrlimit(resource.RLIMIT_AS, (size, size))",
        "resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))",
        f"{_PROMISES}the_limit_of_memory_is_one_that_an_item_cannot_raise",
    ),
    Mutant(
        "items of a group are taken back from the worker that reads them",
        _STATUS,
        "max(index + 1, reserved)",
        "index + 1",
        "tests/engines/process/test_transfer.py::test_what_the_worker_has_reserved_is_not_taken_back_from_it",
    ),
    Mutant(
        "a group that cannot be read fails its items",
        "engines/process/lookahead.py",
        "        with contextlib.suppress(Exception):\n            self._function.read(items)\n",
        "        self._function.read(items)\n",
        "tests/stage/run/test_groups.py::test_items_are_processed_alone_if_their_group_cannot_be_read[count_five-fail]",
    ),
    Mutant(
        "the time to load a model makes the next batch small",
        "engines/process/engine.py",
        "        if not (is_first and self._has_groups):\n            self._sizer",
        "        if True:\n            self._sizer",
        "tests/stage/run/test_groups.py::test_the_second_batch_is_large_whatever_time_the_first_took",
    ),
    Mutant(
        "windows are too small for the groups of all workers",
        "stage/engine.py",
        "    elif has_groups:\n",
        "    elif has_groups and False:\n",
        "tests/stage/run/test_groups.py::test_windows_have_room_for_the_groups_of_all_workers[True-16384]",
    ),
    Mutant(
        "a reply that was not read is taken for the next one",
        "documents/embed/shared/client.py",
        "                self._drop()  # the pending",
        "                pass  # the pending",
        "tests/documents/embed/test_portions.py"
        "::test_after_a_failure_no_reply_is_taken_for_that_of_another_request[tokenizer]",
    ),
    Mutant(
        "a worker hears Ctrl-C",
        "engines/process/lifeline.py",
        "    signal.signal(signal.SIGINT, signal.SIG_IGN)\n",
        "",
        "tests/engines/test_interrupt.py::"
        "test_items_and_the_processes_they_start_have_interrupts_ignored_and_not_blocked",
    ),
    Mutant(
        "the worker that has been idle for longest is woken",
        "lanes/workers.py",
        "self._parked.pop().wakeup.release",
        "self._parked.pop(0).wakeup.release",
        "tests/lanes/test_parking.py::test_the_worker_that_became_idle_last_gets_the_next_task",
    ),
    Mutant(
        "a process is not replaced when it has grown",
        "engines/process/engine.py",
        "return size is not None and process.resident_bytes() > size",
        "return False",
        "tests/wiring/test_wiring.py::test_the_option_has_an_effect[recycle_resident_bytes-StageOptions]",
    ),
    Mutant(
        "a batch is longer than the items a process may still run",
        "engines/process/engine.py",
        "return min(self._sizer.limit, left if left > 0 else tasks)",
        "return self._sizer.limit",
        "tests/wiring/test_wiring.py::test_the_option_has_an_effect[recycle_tasks-StageOptions]",
    ),
    Mutant(
        "the results of a long batch are sent when it has ended",
        _MAIN,
        "is_early = index == early_index and",
        "is_early = False and",
        f"{_PROMISES}most_results_of_a_long_batch_are_sent_before_it_ends",
    ),
    # ---- plain items and results
    Mutant(
        "an integer is sent that a message cannot hold",
        "engines/process/transfer.py",
        "return bool(-_INTEGER_LIMIT <= value < _INTEGER_LIMIT)",
        "return True",
        f"{_PLAIN}::test_what_a_message_cannot_hold_and_what_can_be_changed_is_no_plain_result",
    ),
    Mutant(
        "bytes are sent as they are and loaded as a pickle",
        "engines/process/transfer.py",
        "frozenset((bool, int, float, str, type(None)))",
        "frozenset((bool, int, float, str, bytes, type(None)))",
        f"{_PLAIN}::test_an_item_is_packed_to_bytes_only_as_a_pickle",
    ),
    # ---- heartbeats and progress
    Mutant(
        "a silent worker process is never replaced",
        _POOL,
        "self._watch_s - seen_s >= self._lease_s",
        "False",
        f"{_SILENCE}::test_a_worker_without_a_heartbeat_is_replaced_after_the_lease_time",
    ),
    Mutant(
        "a worker is replaced although it gives heartbeats",
        _POOL,
        "            if latest != beat:\n",
        "            if latest is None:\n",
        f"{_SILENCE}::test_a_worker_with_a_heartbeat_may_take_as_long_as_it_likes",
    ),
    Mutant(
        "silence is counted while the machine is suspended",
        _POOL,
        "self._watch_s += min(elapsed_s, 2 * interval_s)",
        "self._watch_s += elapsed_s",
        f"{_SILENCE}::test_no_worker_seems_silent_after_the_whole_machine_was_suspended",
    ),
    Mutant(
        "the lease time cuts the time limit of an item",
        _POOL,
        " and (self._timeout_s is None or running is None)",
        "",
        f"{_SILENCE}::test_the_time_limit_of_an_item_decides_alone",
    ),
    Mutant(
        "a batch for a worker that fell silent is lost",
        _POOL,
        'self._outbox.put(WorkerLost(batch.worker, Loss.RETIRED, reason="the worker ended before it got a batch"))',
        "pass",
        f"{_SILENCE}::test_a_batch_for_a_worker_that_fell_silent_comes_back",
    ),
    Mutant(
        "a worker process gives no heartbeat",
        "engines/process/worker_main.py",
        "            status.beat()\n",
        "            pass\n",
        "tests/engines/process/test_heartbeat.py::test_a_process_that_computes_in_python_gives_heartbeats",
    ),
    Mutant(
        "progress of another attempt is shown",
        _STATUS,
        "(found_seq, found_attempt) != (seq, attempt)",
        "found_seq != seq",
        f"{_HEARTBEAT}::test_progress_is_read_whole_and_only_for_the_attempt_that_reported_it",
    ),
    Mutant(
        "progress is no heartbeat",
        _STATUS,
        "        words[_VERSION] += 1\n        words[_BEAT] = now_ns\n",
        "        words[_VERSION] += 1\n",
        f"{_HEARTBEAT}::test_progress_is_read_whole_and_only_for_the_attempt_that_reported_it",
    ),
    Mutant(
        "progress is read while it is written",
        _STATUS,
        "if version % 2 == 0 and ",
        "if ",
        f"{_HEARTBEAT}::test_progress_that_is_being_written_is_not_read",
    ),
    Mutant(
        "a traceback of any length is kept",
        "engines/attempt.py",
        "    if left_out <= 0:\n",
        "    if True:\n",
        "tests/engines/test_attempt.py::test_of_a_long_traceback_the_beginning_and_the_end_are_kept",
    ),
    Mutant(
        "a traceback begins in the engine",
        "engines/attempt.py",
        "return trace if found is None else found",
        "return trace",
        "tests/engines/test_attempt.py::test_a_traceback_begins_with_the_code_of_the_user_and_has_no_values",
    ),
)
