"""Bugs in the kernel."""

from tests.mutants.mutant import Mutant

CORE_MUTANTS: tuple[Mutant, ...] = (
    # ---- fencing and leases
    Mutant(
        "a stale result is applied",
        "core/results.py",
        "self._refuse(lease.worker, seq, envelope.attempt)\n                continue",
        "self._state.reorder_buffer.setdefault(seq, envelope)\n                continue",
    ),
    Mutant(
        "the attempt number is not compared",
        "core/results.py",
        "if held.get(seq) != envelope.attempt:",
        "if seq not in held:",
        "tests/core/test_results.py",
    ),
    Mutant(
        "a reclaimed attempt is not fenced",
        "core/ledger.py",
        "self.dispatched_count += 1\n        self.fence(seq)",
        "self.dispatched_count += 1",
    ),
    Mutant(
        "a second answer from the holder is overlooked",
        "core/results.py",
        "check(not is_second, ",
        "check(True, ",
    ),
    Mutant(
        "an overrun is not fenced",
        "core/results.py",
        "window.used_bytes -= lease.share_bytes\n        ledger.fence(seq)",
        "window.used_bytes -= lease.share_bytes",
    ),
    Mutant(
        "an overrun is retried",
        "core/results.py",
        "self.fail_item(lease, event.seq, failure, event.exec_ms, event.began_ms)\n",
        "pass\n",
    ),
    Mutant(
        "a beat does not refresh the lease",
        "core/leases.py",
        "lease.heartbeat_ms = now_ms\n",
        "pass\n",
    ),
    Mutant(
        "leases never expire",
        "core/leases.py",
        "return lease if now_ms - lease.heartbeat_ms >= self._lease_ms else None",
        "return None",
    ),
    Mutant(
        "a jump of the clock is held against the leases",
        "core/kernel.py",
        "watched_ms = min(gap_ms, state.options.lease_ms // 4)",
        "watched_ms = gap_ms",
    ),
    Mutant(
        "a stopped worker may pull again",
        "core/dispatch.py",
        "if worker in state.stopping_workers:\n            return\n",
        "pass\n",
    ),
    # ---- order and commit
    Mutant(
        "a commit passes a hole",
        "core/cursor.py",
        "while frontier < end and frontier in reorder_buffer:",
        "while frontier < end and (frontier in reorder_buffer or frontier + 1 in reorder_buffer):",
    ),
    Mutant(
        "the second window commits",
        "core/cursor.py",
        "end = min(window.frontier, start + state.options.commit_run_max)",
        "end = min(state.windows[-1].frontier if window.frontier == window.end else window.frontier, "
        "start + state.options.commit_run_max)",
    ),
    Mutant(
        "a second run is handed over before the first is acknowledged",
        "core/cursor.py",
        "if self._committing or not state.windows:",
        "if not state.windows:",
    ),
    Mutant(
        "a repeated acknowledgement moves the cursor back",
        "core/cursor.py",
        "if count <= 0:\n            return\n",
        "pass\n",
    ),
    Mutant(
        "runs are handed over one by one",
        "core/cursor.py",
        "end = min(window.frontier, start + state.options.commit_run_max)",
        "end = min(window.frontier, start + 1)",
        "tests/core/test_cursor.py",
    ),
    Mutant(
        "a window closes one seq early",
        "core/cursor.py",
        "state.ledger.next_commit_seq < window.end:",
        "state.ledger.next_commit_seq < window.end - 1:",
    ),
    Mutant(
        "bytes are not freed by the commit",
        "core/cursor.py",
        "state.windows[0].used_bytes -= sum(",
        "state.windows[0].used_bytes -= 0 * sum(",
    ),
    Mutant(
        "the ledger commits what is not terminal",
        "core/ledger.py",
        "if terminal != end - start:",
        "if terminal > end - start:",
        "tests/core/test_ledger.py",
    ),
    Mutant(
        "a retry counts as terminal",
        "core/ledger.py",
        "self.in_flight_count -= 1\n        self.dispatched_count += 1\n",
        "self.in_flight_count -= 1\n        self.dispatched_count += 1\n        self.terminal_count += 1\n",
    ),
    # ---- windows and the plan
    Mutant(
        "three windows are active",
        "core/windows/window.py",
        "ACTIVE_WINDOWS_MAX = 2",
        "ACTIVE_WINDOWS_MAX = 3",
    ),
    Mutant(
        "the cap on cost is not looked at",
        "core/windows/window.py",
        "min(bisect_right(costs_after, limits.cost_max), bisect_right(sizes_after, limits.bytes_max)) - 1",
        "bisect_right(sizes_after, limits.bytes_max) - 1",
    ),
    Mutant(
        "the plan is asked although no window can take more",
        "core/windows/placement.py",
        "if len(windows) == ACTIVE_WINDOWS_MAX and windows[-1].is_sealed:\n            return\n",
        "pass\n",
    ),
    Mutant(
        "adaptive sizing shrinks without end",
        "core/windows/window.py",
        'return max(options.entries_min, target // 2), "shrink: a quarter of the window was retried"',
        'return target // 2, "shrink: a quarter of the window was retried"',
        "tests/core/windows/test_window.py",
    ),
    Mutant(
        "a repeated id is not noticed",
        "core/windows/id_set.py",
        "if found == hash_:\n                return False\n",
        "if found == hash_:\n                return True\n",
        "tests/core/windows/test_id_set.py",
    ),
    Mutant(
        "a repeated id is not noticed after its block is compressed",
        "core/windows/id_set.py",
        "return item_id in self._opened[1]",
        "return False",
        "tests/core/windows/test_id_set.py::test_ids_in_any_order_are_new_exactly_once",
    ),
    Mutant(
        "ids that were compressed are forgotten when a plan turns out to have no order",
        "core/windows/id_set.py",
        "for block in self._blocks:\n            yield from _open_block(block)",
        "return",
        "tests/core/windows/test_id_set.py::test_ids_in_any_order_are_new_exactly_once",
    ),
    # ---- dispatch
    Mutant(
        "the second window is served first",
        "core/dispatch.py",
        "for window in self._choose_windows())",
        "for window in self._choose_windows()[::-1])",
    ),
    Mutant(
        "a batch mixes keys",
        "core/ready_queue.py",
        "taken = self._drain(queue, limit)\n            if not queue:\n                del self._fresh[key]\n"
        "            if taken:\n                return taken\n        return []",
        "taken = self._drain(queue, limit)\n            for other in self._fresh.values():\n"
        "                taken += self._drain(other, limit - len(taken))\n            if taken:\n"
        "                return taken\n        return []",
    ),
    Mutant(
        "all workers prepare for every key",
        "core/ready_queue.py",
        "if counts[key] < counts[best]:",
        "if False:",
        "tests/core/test_dispatch.py::test_workers_spread_over_the_keys_before_they_share_one",
    ),
    Mutant(
        "prefetch is not stopped before the soft mark of a window",
        "core/pressure.py",
        "self._prefetch_mark = min(options.prefetch_bytes_max, options.window_bytes_soft)",
        "self._prefetch_mark = options.window_bytes_soft",
        "tests/core/test_pressure.py::test_prefetch_closes_above_its_own_mark_and_above_that_of_a_window",
    ),
    Mutant(
        "what an item reads does not count in the bytes of a window",
        "core/windows/window.py",
        "return [item.cost for item in items], [item.size_bytes or item.input_bytes for item in items]",
        "return [item.cost for item in items], [item.size_bytes for item in items]",
        "tests/core/windows/test_window.py::test_what_an_item_reads_counts_where_the_size_of_its_result_is_unknown",
    ),
    Mutant(
        "shortest job first is not",
        "core/ready_queue.py",
        '"sjf": _ShortestFirst}',
        '"sjf": _Fifo}',
        "tests/core/test_ready_queue.py",
    ),
    Mutant(
        "a worker gets more than it asked for",
        "core/dispatch.py",
        "return max(1, min(limit, state.options.batch_max,",
        "return max(1, min(limit + 1, state.options.batch_max,",
    ),
    # ---- pressure
    Mutant(
        "dispatch resumes without hysteresis",
        "core/pressure.py",
        "if level < self.level:\n            level, reason = self._apply_hysteresis(values, level, reason)\n",
        "pass\n",
    ),
    Mutant(
        "hard pressure does not pause",
        "core/dispatch.py",
        "if level == Level.HARD or is_crowded:",
        "if is_crowded:",
    ),
    Mutant(
        "soft pressure does not slow",
        "core/dispatch.py",
        "limit = 1 if is_slowed else state.idle[worker]",
        "limit = state.idle[worker]",
    ),
    Mutant(
        "soft pressure keeps every worker busy",
        "core/dispatch.py",
        "is_crowded = is_slowed and",
        "is_crowded = False and",
    ),
    Mutant(
        "the item that the cursor waits for is held back",
        "core/dispatch.py",
        "if seq not in window.ready:",
        "if True:",
    ),
    Mutant(
        "an item goes out against the pressure although the cursor waits for the commit lane",
        "core/dispatch.py",
        "seq = self._state.ledger.next_commit_seq\n",
        "seq = window.frontier\n",
    ),
    Mutant(
        "computing ahead never stops",
        "core/pressure.py",
        "self.is_prefetch_open = window_bytes <= self._prefetch_mark",
        "self.is_prefetch_open = True",
    ),
    Mutant(
        "a batch may overfill the budget",
        "core/dispatch.py",
        "state.options.batch_max, room // state.share_bytes, fair",
        "state.options.batch_max, fair",
    ),
    # ---- failure and retry
    Mutant(
        "a lost worker spends the item's retries",
        "core/results.py",
        "state.counters.reclaims += 1\n",
        "state.counters.reclaims += 1\n            window.retries.grant(seq)\n",
    ),
    Mutant(
        "one retry too many",
        "core/retry.py",
        "return self.by_seq.get(seq, 0) >= self._retries_max",
        "return self.by_seq.get(seq, 0) > self._retries_max",
    ),
    Mutant(
        "a non-retryable failure is retried",
        "./errors.py",
        "return self.retryable and self.category not in NON_RETRYABLE",
        "return self.retryable",
    ),
    Mutant(
        "a window's last retry goes to the item that fails first",
        "core/retry.py",
        "if not is_frontier:\n            return RetryDecision.WAIT\n",
        "pass\n",
    ),
    Mutant(
        "retries do not wait",
        "core/results.py",
        "due_ms = state.now_ms + max(failure.wait_ms, backoff_ms(state.options.retry, seq, number))",
        "due_ms = state.now_ms",
    ),
    Mutant(
        "the wait that a server asked for is ignored",
        "core/results.py",
        "max(failure.wait_ms, backoff_ms(state.options.retry, seq, number))",
        "backoff_ms(state.options.retry, seq, number)",
        "tests/core/test_retry.py",
    ),
    Mutant(
        "the jitter depends on the moment",
        "core/retry.py",
        'identity = b"%d.%d.%d" % (options.seed, seq, attempt)',
        'identity = b"%d.%d.%d" % (options.seed, seq, id(options))',
        "tests/core/test_retry.py",
    ),
    Mutant(
        "an item fails as poison after its first death",
        "core/lost_workers.py",
        "if lease.isolated:\n",
        "if True:\n",
    ),
    Mutant(
        "a suspect runs together with others",
        "core/results.py",
        "if seq in window.suspects:\n                window.ready.add_suspect(seq)\n            else:\n"
        "                window.ready.requeue(seq)",
        "window.ready.requeue(seq)",
    ),
    Mutant(
        "an infrastructure loss makes a suspect",
        "core/lost_workers.py",
        "if lease is not None and event.cause is Loss.DIED:",
        "if lease is not None:",
    ),
    Mutant(
        "the infrastructure budget is never refilled",
        "core/cursor.py",
        "state.infrastructure_spent = 0\n",
        "pass\n",
        "tests/core/test_lost_workers.py",
    ),
    Mutant(
        "the infrastructure budget is never used up",
        "core/lost_workers.py",
        "if state.infrastructure_spent > state.options.infrastructure_budget:",
        "if False:",
    ),
    # ---- stopping
    Mutant(
        "one failure more than the error budget",
        "core/cursor.py",
        "while self.failed <= self.limit:",
        "while self.failed <= self.limit and position < len(outcomes) - 2:",
    ),
    Mutant(
        "what was computed beyond the error budget is committed",
        "core/cursor.py",
        "end = min(end, state.stop.limit_seq)",
        "end = min(end, state.stop.limit_seq + 1)",
    ),
    Mutant(
        "dispatch goes on after a stop",
        "core/kernel.py",
        "if self._state.stop is None:\n            self._dispatcher.run()\n            self._planner.request_items()",
        "self._dispatcher.run()",
    ),
    Mutant(
        "leases survive a cancel",
        "core/stopping.py",
        "for lease in state.leases.drain():",
        "for lease in ():",
    ),
    Mutant(
        "a cancel gives no grace",
        "core/stopping.py",
        "if len(state.leases) and state.now_ms < stop.deadline_ms:\n            return\n",
        "pass\n",
        "tests/core/test_stopping.py",
    ),
    Mutant(
        "the stop of a run never ends",
        "core/kernel.py",
        "return min(wake_ms, state.stop.deadline_ms)",
        "return wake_ms",
        "tests/core/test_kernel.py",
    ),
    Mutant(
        "the loop is woken for nothing",
        "core/kernel.py",
        "wake_ms = state.now_ms + state.options.lease_ms // 4",
        "wake_ms = state.now_ms",
    ),
)
