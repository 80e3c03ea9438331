"""Bugs in the stage runner."""

from tests.mutants.mutant import Mutant

_STALL = "tests/stage/monitor/test_stall.py"

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
        "        warnings += self._watchdog.describe_longest(time.monotonic())\n",
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
)
