"""Options of a stage: `StageOptions`, the command line, the environment and profiles."""

import os
import signal
import threading
from typing import Any

import pytest

import inorder
from inorder.engines.process.worker_process import StartupError
from inorder.stage.worker import StageTask
from tests.support.command_line import DATA
from tests.support.gates import GUARD_S
from tests.wiring.doors import STAGE, Door, FakeProcess, WiredRun, path_of
from tests.wiring.row import OptionRow, index_rows
from tests.wiring.workers import do_nothing, fail, items, lose_server, write_output

BIG = 64 * 1024
MANIFESTS = f"{DATA}/manifests"


# ---- output


def find_manifest(run: WiredRun) -> list[str]:
    run.run_stage(items(1), do_nothing)
    return sorted(path.parts[-3] for path in run.folder.glob(f"*/manifests/{STAGE}.jsonl"))


def count_syncs(run: WiredRun) -> int:
    """How often the journal is synced in a run of one item."""
    real, synced = os.fsync, []

    def sync(descriptor: int) -> None:
        synced.append(path_of(descriptor))
        real(descriptor)

    run.patch.setattr(os, "fsync", sync)
    run.run_stage(items(1), do_nothing, fsync="interval" if run.value != "interval" else "batch")
    return sum(path.endswith(".journal") for path in synced)


def has_lines(folder: str) -> Any:
    def probe(run: WiredRun) -> bool:
        run.run_stage(items(1), do_nothing)
        return bool(run.lines(folder))

    return probe


def names_telemetry(run: WiredRun) -> list[str]:
    """The folders with telemetry."""
    run.run_stage(items(1), do_nothing)
    return sorted({str(path.parent.relative_to(run.folder)) for path in run.folder.rglob("*.jsonl")} - {MANIFESTS})


def read_metrics_files(run: WiredRun) -> list[str]:
    """The files with metrics of the run."""
    run.run_stage(items(1), do_nothing)
    found = [path for path in run.folder.rglob("*.prom") if "inorder_run_successful" in path.read_text()]
    return [path.relative_to(run.folder).as_posix() for path in found]


def is_committed_elsewhere(run: WiredRun) -> bool:
    """Whether items are committed on another thread than the one that runs the stage."""
    seen: list[threading.Thread] = []
    hooks = inorder.StageHooks(after_item=lambda *_: seen.append(threading.current_thread()))
    run.run_stage(items(1), do_nothing, hooks)
    return seen[0] is not threading.current_thread()


# ---- execution


def count_workers_inside(run: WiredRun) -> int:
    """How many items run at the same time."""
    run.time.on_quiet = run.gate.open
    run.run_stage(items(12), run.gate.hold_item, workers=8)
    return run.gate.inside_max


def list_starts(run: WiredRun) -> list[str]:
    """The order in which items start."""
    started: list[str] = []
    plan = [inorder.WorkItem(item_id=str(cost), cost_hint=cost) for cost in (3, 1, 2)]
    run.run_stage(plan, lambda item: started.append(item.item_id))
    return started


def count_read_ahead(run: WiredRun) -> int:
    """How many items of the plan are read while the first one runs."""
    taken, seen = [], []

    def read_plan() -> Any:
        for item in items(200):
            taken.append(item)
            yield item

    def look() -> None:
        seen.append(len(taken))
        run.gate.open()

    run.time.on_quiet = look
    run.run_stage(read_plan(), run.gate.hold_item)
    return seen[0]


def count_ran_beside_the_head(run: WiredRun) -> int:
    """How many large results are computed while the first item is not done."""
    ended: list[str] = []

    def work(item: inorder.WorkItem) -> dict[str, str]:
        if item.item_id == "item-0":
            run.gate.hold()
        ended.append(item.item_id)
        return {"text": "x" * BIG}

    seen: list[int] = []
    run.time.on_quiet = lambda: (seen.append(len(ended)), run.gate.open())
    run.run_stage(items(20), work, workers=2)
    return seen[0]


def name_worker_kind(run: WiredRun) -> str:
    run.run_stage(items(1), do_nothing, i_know_what_im_doing=True)
    return "process" if run.started else "thread"


def get_memory_limit(run: WiredRun) -> Any:
    run.run_stage(items(1), do_nothing, policy="cpu")
    return run.started[0].memory_bytes_max


def count_processes(run: WiredRun) -> int:
    """How many processes one worker uses for six items, in batches of one, two and three. Each item leaks 100 bytes."""
    run.resident_sizes.update({count: 100 * count for count in range(7)})
    run.run_stage(items(6), do_nothing, policy="cpu")
    return len(run.started)


def is_refused(run: WiredRun) -> bool:
    """Whether a stage made for a GPU is refused in processes."""
    run.arguments = ("--policy", "cpu")
    run.run_stage(items(1), do_nothing, made_for="gpu", policy="cpu" if run.door is Door.STAGE_OPTIONS else "gpu")
    return "needs policy gpu" in run.stderr


def run_twice(run: WiredRun, **changes: Any) -> str:
    """The status of an item in a second run, which changes some of its fields."""
    fields: dict[str, Any] = {"outputs": {"out": "out.txt"}, "cfg_hash": "1"}
    inorder.run_stage(
        inorder.StagePlan(STAGE, items(1, **fields)), write_output, inorder.StageOptions(data=run.data, progress="none")
    )
    run.run_stage(items(1, **(fields | changes)), write_output)
    return str(run.rows()[-1]["status"])


# ---- failures


def name_failure_after_10_s(run: WiredRun) -> str:
    """How an item ends that takes ten seconds."""

    def wait() -> None:
        run.time.advance(10)
        run.time.on_quiet = run.gate.open

    run.time.on_quiet = wait
    run.run_stage(items(1), run.gate.hold_item)
    row = run.rows()[0]
    return str(row["error"]["category"]) if row["error"] else str(row["status"])


def count_attempts(run: WiredRun) -> int:
    run.run_stage(items(1), fail)
    return int(run.rows()[0]["attempts"])


def measure_backoff(run: WiredRun) -> float:
    """The wait before the only retry, in units of the option, at least half of it and at most all of it."""
    began: list[float] = []

    def work(item: Any) -> None:
        began.append(run.time.now_s())
        fail(item)

    run.run_stage(items(1), work, retries=1)
    wait_s = began[1] - began[0]
    assert run.value / 2 <= wait_s <= run.value
    return run.value


def name_category(run: WiredRun) -> str:
    run.run_stage(items(1), fail)
    return str(run.rows()[0]["error"]["category"])


def count_failed(run: WiredRun) -> int:
    """How many of ten failing items are run."""
    outcome = run.run_stage(items(10), fail)
    assert outcome is not None
    return outcome.failed


def outlasts_the_grace(run: WiredRun) -> bool:
    """Whether an item that takes 50 seconds ends after the error budget is exceeded, with a grace of three."""
    ended: list[str] = []

    def pass_a_second() -> None:
        run.time.advance(1)
        if run.time.now_s() >= 50:
            run.gate.open()
        else:
            run.time.on_quiet = pass_a_second

    def work(item: inorder.WorkItem) -> None:
        if item.item_id == "item-0":
            run.gate.await_arrivals()
            fail(item)
        run.gate.hold()
        ended.append(item.item_id)

    run.time.on_quiet = pass_a_second
    run.run_stage(items(2), work, workers=2, error_budget=0, cancel_grace_s=3.0)
    return run.time.now_s() >= 50 and bool(ended)


def count_lost_workers(run: WiredRun) -> int:
    """How many workers are lost in a run in which all of them are killed at their start."""

    def die(process: FakeProcess) -> None:
        raise StartupError("killed", "SIGKILL")

    run.patch.setattr(FakeProcess, "receive", die)
    outcome = run.run_stage(items(1), do_nothing, policy="cpu")
    assert outcome is not None
    assert outcome.stop_kind == "infrastructure"
    return len(run.started)


def count_tries_at_a_server(run: WiredRun) -> int:
    """How many attempts are made at a server that is down until the run stops."""
    tried: list[int] = []

    def work(item: Any) -> None:
        tried.append(1)
        lose_server(item)

    outcome = run.run_stage(items(1), work)
    assert outcome is not None
    assert (outcome.stop_kind, outcome.failed) == ("infrastructure", 0)
    return len(tried)


def measure_grace(run: WiredRun) -> float:
    """How many seconds a running item has after SIGINT."""
    interrupted: list[float] = []

    def interrupt() -> None:
        interrupted.append(run.time.now_s())
        os.kill(os.getpid(), signal.SIGINT)

    run.time.on_quiet = interrupt
    run.run_stage(items(1), run.gate.hold_item)
    return run.time.now_s() - interrupted[0]


def count_processes_for_20_silent_s(run: WiredRun) -> int:
    """How many worker processes one item takes if the first is silent for 20 s."""
    run.silence_first_process(20.0)
    run.run_stage(items(1), do_nothing, policy="cpu")
    return len(run.started)


# ---- display


def has_stall_in_a_minute(run: WiredRun) -> bool:
    """Whether a stall is noticed in a minute without a commit."""
    minute = _MonitorMinute(run.patch)
    run.run_stage(items(1), lambda item: minute.wait_until_over())
    return any(line["event"] == "stalled" for line in run.lines("telemetry"))


def count_snapshots(run: WiredRun) -> int:
    """Snapshots in the telemetry of a minute, without the last one."""
    minute = _MonitorMinute(run.patch)
    run.run_stage(items(1), lambda item: minute.wait_until_over())
    return len([line for line in run.lines("telemetry") if line["event"] == "snapshot"]) - 1


class _MonitorMinute:
    """Time as the thread of the monitor sees it: its waits take no time until a minute is over."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._now_s = 0.0
        self._over = threading.Event()
        self._wait = threading.Event.wait
        import time
        from types import SimpleNamespace

        from inorder.stage.monitor import monitor

        still = SimpleNamespace(monotonic=lambda: self._now_s, time=time.time)
        patch.setattr(monitor, "time", still)
        patch.setattr(threading.Event, "wait", lambda event, timeout=None: self._wait_as_monitor(event, timeout))

    def _wait_as_monitor(self, event: threading.Event, timeout: float | None) -> bool:
        if threading.current_thread().name != "inorder-monitor" or timeout is None:
            return self._wait(event, timeout)
        if self._now_s + timeout > 60:
            self._over.set()
            return self._wait(event, None)
        self._now_s += timeout
        return event.is_set()

    def wait_until_over(self) -> None:
        assert self._wait(self._over, GUARD_S), "the monitor does not wait"


def shows(text: str, **base: Any) -> Any:
    def probe(run: WiredRun) -> bool:
        run.run_stage(items(2), do_nothing, **base)
        return text in run.stderr

    return probe


# ---- Ray


def get_of_ray(field: str) -> Any:
    def probe(run: WiredRun) -> Any:
        run.run_stage(items(1), do_nothing, engine="ray")
        return getattr(run.ray_engines[0]["options"], field)

    return probe


def is_sent(run: WiredRun) -> bool:
    """Whether an item with 2,000 bytes of files is sent to a node that does not see them."""
    path = run.folder / "input"
    path.write_bytes(bytes(2000))
    [item] = items(1, inputs={"file": str(path)})
    run.run_stage([item], do_nothing, engine="ray")
    return run.ray_engines[0]["files"].pack_item(StageTask(item), sees_files=False) is not None


def is_on_ray(run: WiredRun) -> bool:
    run.run_stage(items(1), do_nothing)
    return bool(run.ray_engines)


STAGE_ROWS = index_rows(
    OptionRow("data", find_manifest, [("here", ["here"]), ("there", ["there"])]),
    OptionRow("fsync", count_syncs, [("always", 3), ("batch", 2), ("interval", 1), ("off", 0)]),
    OptionRow("attempts_log", has_lines("attempts"), [(True, True), (False, False)]),
    OptionRow("telemetry", has_lines("telemetry"), [(True, True), (False, False)]),
    OptionRow(
        "telemetry_dir", names_telemetry, [("metrics", ["metrics"]), (None, [f"{DATA}/telemetry"]), ("a/b", ["a/b"])]
    ),
    OptionRow("metrics_file", read_metrics_files, [("a.prom", ["a.prom"]), (None, []), ("b/c.prom", ["b/c.prom"])]),
    OptionRow("commit_thread", is_committed_elsewhere, [(True, True), (False, False)]),
    OptionRow("recycle_tasks", count_processes, [(None, 1), (2, 3)]),
    OptionRow("recycle_resident_bytes", count_processes, [(None, 1), (150, 2)]),
    OptionRow("infrastructure_budget", count_lost_workers, [(0, 1), (3, 4)]),
    OptionRow("outage_s_max", count_tries_at_a_server, [(9.0, 1), (21.0, 3)]),
    OptionRow("workers", count_workers_inside, [(2, 2), (5, 5)]),
    OptionRow("adaptive", count_workers_inside, [(False, 8), (True, 4)]),
    OptionRow("schedule", list_starts, [("fifo", ["3", "1", "2"]), ("sjf", ["1", "2", "3"])]),
    OptionRow("max_queue", count_read_ahead, [(4, 4), (32, 32)]),
    OptionRow("buffered_bytes_max", count_ran_beside_the_head, [(4 * BIG, 3), (2**30, 19)]),
    OptionRow("policy", name_worker_kind, [("io", "thread"), ("cpu", "process")]),
    OptionRow("memory_bytes_max", get_memory_limit, [(None, None), (3 * 2**30, 3 * 2**30)]),
    OptionRow("i_know_what_im_doing", is_refused, [(False, True), (True, False)]),
    OptionRow("resume", run_twice, [(True, "skip"), (False, "success")]),
    OptionRow("force", run_twice, [(False, "skip"), (True, "success")]),
    OptionRow("fingerprinting", lambda run: run_twice(run, cfg_hash="2"), [(True, "success"), (False, "skip")]),
    OptionRow("timeout_s", name_failure_after_10_s, [(9.0, "timeout"), (11.0, "success")]),
    OptionRow("retries", count_attempts, [(0, 1), (3, 4)]),
    OptionRow("retry_backoff_s", measure_backoff, [(1.0, 1.0), (20.0, 20.0)]),
    OptionRow("classify", name_category, [(None, "provider"), (lambda error: ("input", False), "input")]),
    OptionRow("error_budget", count_failed, [(None, 10), (2, 3)]),
    OptionRow("on_budget", outlasts_the_grace, [("stop", False), ("drain", True)]),
    OptionRow("cancel_grace_s", measure_grace, [(3.0, 3.0), (40.0, 40.0)]),
    OptionRow("lease_s", count_processes_for_20_silent_s, [(10.0, 2), (40.0, 1)]),
    OptionRow(
        "stall_warning_s",
        has_stall_in_a_minute,
        [
            (0.0, False),
            (10.0, True),
        ],
    ),
    OptionRow("diagnostics_interval_s", count_snapshots, [(2.0, 30), (20.0, 3)]),
    OptionRow("progress", shows(f"[{STAGE}] 2/2"), [("lines", True), ("none", False)]),
    OptionRow("quiet", shows(f"{STAGE}: 2 succeeded"), [(False, True), (True, False)]),
    OptionRow("verbose", shows("slowest:", progress="lines"), [(False, False), (True, True)]),
    OptionRow("engine", is_on_ray, [("local", False), ("ray", True)]),
    OptionRow("ray.address", get_of_ray("address"), [("auto", "auto"), ("10.0.0.5:6379", "10.0.0.5:6379")]),
    OptionRow("ray.cpus", get_of_ray("cpus"), [(0.5, 0.5), (2.0, 2.0)]),
    OptionRow("ray.gpus", get_of_ray("gpus"), [(0.5, 0.5), (2.0, 2.0)]),
    OptionRow("ray.resources", get_of_ray("resources"), [({}, {}), ({"disk": 1.0}, {"disk": 1.0})]),
    OptionRow("ray.files", get_of_ray("files"), [("shared", "shared"), ("send", "send")]),
    OptionRow("ray.send_bytes_max", is_sent, [(1999, False), (2000, True)]),
    OptionRow("ray.start_timeout_s", get_of_ray("start_timeout_s"), [(7.0, 7.0), (8.0, 8.0)]),
)
"""Every option of a stage, by field of `StageOptions`, and `quiet`, which only commands have."""
