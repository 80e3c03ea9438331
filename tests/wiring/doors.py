"""The doors through which users set options, and one run of a stage or of `imap` behind such a door.

Runs take place in this process. Time is virtual: when nothing can happen by itself any more, the engine of threads lets
the time pass that the kernel asked it to wait for. A worker process is replaced by a double that runs its items in the
thread that talks to it (`FakeProcess`), a Ray cluster by a record of what it was asked for.
"""

import contextlib
import io
import os
import pickle
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec
import pytest

import inorder
from inorder import iteration
from inorder.cli.option_types import FlagType
from inorder.cli.options import ALL, OptionSpec
from inorder.core.commands import CommitRun
from inorder.core.events import Envelope, Event
from inorder.engines import threads
from inorder.engines.attempt import run_attempt
from inorder.engines.base import PackedTask, Task
from inorder.engines.process import engine as process_engine
from inorder.engines.process.worker_process import ProcessOptions
from inorder.engines.ray import engine as ray_engine
from inorder.errors import InfrastructureError, OperatorError
from inorder.extensions.trust import trust_file
from inorder.runtime import durable_run
from inorder.runtime.commit import ThreadedCommit
from inorder.sim.clock import VirtualClock
from inorder.stage import run as stage_run
from tests.support.command_line import clean_environment
from tests.support.gates import Gate, ManualTime, stop_time
from tests.support.in_process import run_in_process
from tests.support.options import for_imap

MODULE = "wired_stage"
STAGE = "wired"
_PAUSE_S = 0.001


class Door(StrEnum):
    """Where a user sets an option."""

    IMAP = "imap"
    STAGE_OPTIONS = "StageOptions"
    COMMAND_LINE = "command-line"
    SET = "--set"
    ENVIRONMENT = "environment"
    PROFILE = "profile"


COMMAND_DOORS = (Door.COMMAND_LINE, Door.SET, Door.ENVIRONMENT, Door.PROFILE)
STAGE_DOORS = (Door.STAGE_OPTIONS, *COMMAND_DOORS)


class VirtualTime:
    """The clock of the run and of its engine. It moves when the engine is told to wait and no worker can go on."""

    def __init__(self, clock: VirtualClock, engine_time: ManualTime) -> None:
        self.clock = clock
        self._engine_time = engine_time
        self.on_quiet: Callable[[], object] | None = None
        """Called once, the first time that nothing can happen by itself."""

    def now_s(self) -> float:
        return self.clock.now_ms() / 1000

    def advance(self, seconds: float) -> None:
        self.clock.advance_to(self.clock.true_ms + round(seconds * 1000))
        self._engine_time.advance(seconds)

    def pass_quietly(self, seconds: float) -> None:
        """Nothing can happen by itself for so long."""
        call, self.on_quiet = self.on_quiet, None
        if call is not None:
            call()
        else:
            self.advance(seconds)


class CountedCommit(ThreadedCommit):
    """A commit thread that tells whether it has something to do."""

    pending: ClassVar[list[object]]

    def commit(self, run: CommitRun, items: Sequence[Any]) -> None:
        self.pending.append(run)
        super().commit(run, items)

    def _commit_and_report(self, run: CommitRun, items: Sequence[Any]) -> None:
        super()._commit_and_report(run, items)
        self.pending.remove(run)


class VirtualThreads(threads.ThreadEngine):
    """Threads whose waiting takes no time."""

    time: ClassVar[VirtualTime]
    gate: ClassVar[Gate]
    pending_commits: ClassVar[list[object]]

    def poll(self, timeout_s: float | None) -> list[Event]:
        events = self._wait(0.0)
        while not events and (timeout_s is None or timeout_s > 0):
            events = self._wait(_PAUSE_S)
            is_held = self.gate.inside >= len(self._busy) and not self.gate.is_open
            if not events and (is_held or not self._busy) and not self.pending_commits:
                self.time.pass_quietly(5.0 if timeout_s is None else timeout_s)
                return self._wait(0.0)
        return events


class FakeProcess:
    """Stands in for a worker process: runs each item when its result is received."""

    started: ClassVar[list["FakeProcess"]]
    resident_sizes: ClassVar[dict[int, int]]
    """Resident memory by number of items done; 0 if it is not there."""

    tasks_before = 0
    is_reused = False

    def __init__(self, function_pickle: bytes, limits: ProcessOptions) -> None:
        self.memory_bytes_max = limits.memory_bytes_max
        self.tasks_done = 0
        self.pid = 10_000 + len(self.started)
        self.status = self  # what a parent reads of it
        self.is_closed = False
        self._function = pickle.loads(function_pickle)
        self._tasks: list[PackedTask] = []
        self.started.append(self)

    def send(self, tasks: list[PackedTask], bytes_max: int) -> None:
        self._tasks = list(tasks)

    def receive(self) -> tuple[list[Envelope], bool, tuple[int, int, bytes] | None]:
        seq, attempt, packed = self._tasks.pop(0)
        item = pickle.loads(packed) if type(packed) is bytes else packed
        envelope = run_attempt(self._function, Task(seq, attempt, item))
        self.tasks_done += 1
        packed_result = msgspec.structs.replace(envelope, payload=pickle.dumps(envelope.payload))
        return [packed_result], not self._tasks, None

    def resident_bytes(self) -> int:
        return self.resident_sizes.get(self.tasks_done, 0)

    def read(self) -> None:
        return None

    def find_last_beat(self) -> int | None:
        return None

    def read_progress(self, seq: int, attempt: int) -> None:
        return None

    def limit_batch(self, count: int) -> int:
        return 2**30

    def is_alive(self) -> bool:
        return not self.is_closed

    def kill(self) -> None:
        self.is_closed = True

    def close(self) -> None:
        self.is_closed = True


class SilentProcess(FakeProcess):
    """A worker process without a heartbeat; the first one is held at the gate. Every look at it takes half a second."""

    gate: ClassVar[Gate]
    time: ClassVar[VirtualTime]

    def receive(self) -> tuple[list[Envelope], bool, tuple[int, int, bytes] | None]:
        if self is self.started[0]:
            self.gate.hold()
        return super().receive()

    def read(self) -> None:
        self.time.advance(0.5)

    def find_last_beat(self) -> int | None:
        return 1 if self is self.started[0] else None


class WiredRun:
    """A folder in which one option is set to one value through one door, and what is found there after a run."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, door: Door, option: str, value: Any) -> None:
        self.folder = folder
        self.patch = patch
        self.door = door
        self.option = option
        self.value = value
        self.gate = Gate()
        self.time = VirtualTime(VirtualClock(), stop_time(patch))
        self.stderr = ""
        self.code = 0
        self.ray_engines: list[dict[str, Any]] = []
        """What a Ray engine was created with."""
        self.started: list[FakeProcess] = []
        """Worker processes, in the order of their start."""
        self.resident_sizes: dict[int, int] = {}
        self.arguments: tuple[str, ...] = ()
        """Further arguments of the command."""
        self._patch_machine()

    @property
    def data(self) -> Path:
        return self.folder / ".inorder"

    def _patch_machine(self) -> None:
        patch = self.patch
        patch.chdir(self.folder)
        pending: list[object] = []
        engine = type("Threads", (VirtualThreads,), {"time": self.time, "gate": self.gate, "pending_commits": pending})
        patch.setattr(durable_run, "ThreadedCommit", type("Commit", (CountedCommit,), {"pending": pending}))
        process = type("Process", (FakeProcess,), {"started": self.started, "resident_sizes": self.resident_sizes})
        for module in (stage_run, iteration):
            patch.setattr(module, "SystemClock", lambda: self.time.clock)
        patch.setattr(threads, "ThreadEngine", engine)
        patch.setattr(process_engine, "WorkerProcess", process)
        patch.setattr(ray_engine, "RayEngine", self._record_ray_engine)

    def silence_first_process(self, after_s: float) -> None:
        """Have the first worker process give no heartbeat. It goes on after so many seconds."""
        shared = {"started": self.started, "gate": self.gate, "time": self.time}
        self.patch.setattr(process_engine, "WorkerProcess", type("Silent", (SilentProcess,), shared))
        opened_s = self.time.now_s() + after_s
        advance = self.time.advance

        def advance_and_open(seconds: float) -> None:
            advance(seconds)
            if self.time.now_s() >= opened_s:
                self.gate.open()

        self.patch.setattr(self.time, "advance", advance_and_open)

    def _record_ray_engine(self, function: Any, workers: Any, **settings: Any) -> Any:
        self.ray_engines.append({"workers": workers, **settings})
        raise InfrastructureError("there is no cluster")

    # ---- running

    def imap(self, function: Callable[[Any], Any], items: Iterable[Any], **base: Any) -> Any:
        """`imap` with the option; `base` are the conditions under which it shows."""
        given = base | {self.option: self.value}
        return inorder.imap(function, items, **for_imap(**given))

    def run_stage(
        self,
        items: Sequence[inorder.WorkItem] | Iterable[inorder.WorkItem],
        worker: Callable[..., Any],
        hooks: inorder.StageHooks | None = None,
        made_for: Literal["io", "cpu", "gpu"] | None = None,
        **base: Any,
    ) -> inorder.StageOutcome | None:
        """Run a stage with the option; `base` are the conditions under which it shows. Its outcome, None if it has
        none. What it prints is in `stderr`."""
        outcomes: list[inorder.StageOutcome] = []
        hooks = msgspec.structs.replace(hooks or inorder.StageHooks(), after_stage=outcomes.append)
        options = inorder.StageOptions(**({"progress": "none", "fsync": "off", "workers": 1} | base))
        plan = inorder.StagePlan(STAGE, items, policy=made_for)
        if self.door is Door.STAGE_OPTIONS:
            self._run_directly(plan, worker, self._apply_to(options), hooks)
        else:
            self._run_command(plan, worker, options, hooks)
        return outcomes[0] if outcomes else None

    def _apply_to(self, options: inorder.StageOptions) -> inorder.StageOptions:
        part, _, field = self.option.rpartition(".")
        if part:
            nested = msgspec.structs.replace(getattr(options, part), **{field: self.value})
            return msgspec.structs.replace(options, **{part: nested})
        return msgspec.structs.replace(options, **{field: self.value})

    def _run_directly(self, plan: inorder.StagePlan, worker: Any, options: Any, hooks: inorder.StageHooks) -> None:
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            try:
                inorder.run_stage(plan, worker, options, hooks)
            except (InfrastructureError, OperatorError) as error:
                print(error, file=stderr)
        self.stderr = stderr.getvalue()

    def _run_command(self, plan: inorder.StagePlan, worker: Any, options: Any, hooks: inorder.StageHooks) -> None:
        module = types.ModuleType(MODULE)
        module.stage = inorder.Stage(  # type: ignore[attr-defined]
            name=STAGE, plan=lambda sources, data: plan, worker=worker, hooks=hooks, options=options
        )
        self.patch.setitem(sys.modules, MODULE, module)
        self.command("stage", f"{MODULE}:stage", *self.arguments)

    def command(self, *arguments: str, is_set: bool = True, **environment: str) -> str:
        """Run a command with the option set through this door; `is_set=False`: without it. Returns its stdout."""
        spec = ALL.get(self.option)
        if is_set and spec is not None:
            given, variables = self._set(spec)
            arguments, environment = (*arguments, *given), environment | variables
        self.code, out, self.stderr = run_in_process(arguments, self.folder, clean_environment() | environment)
        return out

    def _set(self, spec: OptionSpec) -> tuple[list[str], dict[str, str]]:
        """Arguments and environment that set the option."""
        text = spec.type.format(self.value)
        if self.door is Door.ENVIRONMENT:
            return [], {spec.variable: text}
        if self.door is Door.PROFILE:
            is_plain = isinstance(self.value, int | float) and spec.name != "quiet"
            path = self.folder / "inorder.toml"
            path.write_text(f"[profile.wired]\n{spec.name} = {str(self.value).lower() if is_plain else repr(text)}\n")
            trust_file(str(path), path.read_bytes())
            return ["--profile", "wired"], {}
        if self.door is Door.SET:
            return ["--set", f"{spec.name}={text}"], {}
        if not isinstance(spec.type, FlagType):
            return [spec.flag, text], {}
        positive, _, negative = spec.spellings[0].partition("/")
        flag = positive if self.value else negative
        return [flag] if flag else [], {}

    # ---- what is found afterwards

    def rows(self) -> list[dict[str, Any]]:
        """The rows of items in the manifest."""
        path = self.data / "manifests" / f"{STAGE}.jsonl"
        found = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
        return [row for row in found if row["doc_id"] != "__config__"]

    def lines(self, folder: str) -> list[dict[str, Any]]:
        """All lines of the JSONL files in a folder of DATA; none if there is no such folder."""
        files = sorted((self.data / folder).glob("*.jsonl")) if (self.data / folder).exists() else []
        return [msgspec.json.decode(line) for file in files for line in file.read_bytes().splitlines()]

    def close(self) -> None:
        self.gate.open()


def path_of(descriptor: int) -> str:
    """The path that an open descriptor belongs to."""
    return os.readlink(f"/proc/self/fd/{descriptor}")
