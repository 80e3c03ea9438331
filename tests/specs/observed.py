"""Tables that are not written anywhere in the code: they are seen by driving a kernel into a situation."""

from collections import Counter

from inorder.core.commands import Command, CommitRun, Dispatch, Reclaimed, Stopping
from inorder.core.events import (
    Beat,
    CancelRequested,
    Committed,
    Delivered,
    Envelope,
    Event,
    Finished,
    HandedOver,
    Loss,
    MemorySampled,
    Overran,
    Planned,
    Pulled,
    Returned,
    Tick,
    WorkerLost,
)
from inorder.core.kernel import Kernel
from inorder.core.options import KernelOptions, PressureOptions, RetryOptions, WindowOptions
from inorder.core.pressure import Level
from inorder.core.state import StopKind
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.errors import Category, Failure, InvariantViolation
from tests.specs.pages import code, table

SUCCESS = int(State.TERMINAL_SUCCESS)
FAIL = int(State.TERMINAL_FAIL)
GRACE_MS = 1000
LEASE_MS = 400
AT_DEADLINE = Tick()
FLAKY = Failure(category=Category.IO, message="busy", retryable=True)
HOPELESS = Failure(category=Category.INPUT, message="unreadable")
NO_MONEY = Failure(category=Category.PROVIDER, message="no money", retryable=True, budget="cost_max=1 is reached")


def done(seq: int, attempt: int = 1) -> Envelope:
    return Envelope(seq, attempt, SUCCESS)


def failed(seq: int, failure: Failure) -> Envelope:
    return Envelope(seq, 1, FAIL, failure=failure)


def begun(options: KernelOptions, items: int) -> Kernel:
    """A run whose seq 0 is committed, so that sizes are known and batches are allowed; the cursor waits for seq 1."""
    kernel = Kernel(options)
    for event in (
        Pulled(1),
        Planned([PlanItem()] * items),
        Finished(1, [done(0)]),
        Committed(1),
    ):
        kernel.step(0, event)
    return kernel


# What each level of pressure lets through.


def levels() -> str:
    marks = {Level.NORMAL: 0, Level.SOFT: 150, Level.HARD: 250}
    rows = [(code(level.name.lower()), level.value, *_let_through(memory)) for level, memory in marks.items()]
    return table(("level", "code", "workers served", "items to each", "seqs"), rows)


def _let_through(memory_bytes: int) -> tuple[int, str, str]:
    options = KernelOptions(pressure=PressureOptions(resident_bytes_soft=100, resident_bytes_hard=200))
    kernel = begun(options, items=64)
    kernel.step(0, MemorySampled(memory_bytes))
    commands = [command for worker in (1, 2, 3, 4) for command in kernel.step(0, Pulled(worker, limit=4))]
    batches = [command.seqs for command in commands if isinstance(command, Dispatch)]
    sizes = sorted({len(seqs) for seqs in batches})
    return len(batches), " or ".join(map(str, sizes)), ", ".join(str(seq) for seqs in batches for seq in seqs)


# What becomes of the items of a worker that is gone.


def losses() -> str:
    rows = []
    for label, first, second in (
        ("`WorkerLost`, died", WorkerLost(1, Loss.DIED), WorkerLost(1, Loss.DIED)),
        ("`WorkerLost`, infrastructure", WorkerLost(1, Loss.INFRASTRUCTURE), WorkerLost(1, Loss.INFRASTRUCTURE)),
        ("`WorkerLost`, retired", WorkerLost(1, Loss.RETIRED), WorkerLost(1, Loss.RETIRED)),
        ("lease expired", Tick(), Tick()),
        ("`Overran`", Overran(1, seq=1, attempt=1, limit_ms=10), Overran(1, seq=1, attempt=2, limit_ms=10)),
        ("`Returned`", Returned(1, [1, 2]), Returned(1, [1])),
    ):
        in_batch = _after_loss(_with_a_batch(), first)
        alone = _after_loss(_with_a_suspect(), second)
        rows.append((label, _fate(in_batch, 1), _fate(in_batch, 2), _charge(in_batch), _fate(alone, 1), _charge(alone)))
    return table(("what happened", "item it was on", "item behind it", "charged", "a suspect, alone", "charged"), rows)


def _with_a_batch() -> Kernel:
    """Worker 1 is on seq 1 and has seq 2 behind it; nothing may be charged any more."""
    kernel = begun(KernelOptions(lease_ms=LEASE_MS, infrastructure_budget=0), items=3)
    kernel.step(0, Pulled(1, limit=2))
    return kernel


def _with_a_suspect() -> Kernel:
    """Seq 1 killed a worker, which used up the budget, and runs again by itself in worker 1."""
    kernel = begun(KernelOptions(lease_ms=LEASE_MS, infrastructure_budget=1), items=2)
    for event in (Pulled(9), WorkerLost(9, Loss.DIED), Pulled(1)):
        kernel.step(0, event)
    return kernel


def _after_loss(kernel: Kernel, event: Event) -> list[Command]:
    """The commands that follow; a Tick stands for silence until the lease is over."""
    if isinstance(event, Tick):
        return [command for now_ms in range(0, LEASE_MS + 1, LEASE_MS // 4) for command in kernel.step(now_ms, event)]
    return kernel.step(0, event)


def _fate(commands: list[Command], seq: int) -> str:
    for command in commands:
        match command:
            case Reclaimed(seq=reclaimed, suspected=suspected) if reclaimed == seq:
                return "is requeued as a suspect" if suspected else "is requeued"
            case CommitRun(envelopes=envelopes):
                for envelope in envelopes:
                    if envelope.seq == seq and envelope.failure is not None:
                        return f"fails, {code(envelope.failure.category.value)}"
    return "nothing"


def _charge(commands: list[Command]) -> str:
    """The budgets here are used up: whatever is charged stops the run."""
    return "yes" if any(isinstance(command, Stopping) for command in commands) else "no"


# How each kind of stop begins.


def stop_kinds() -> str:
    rows = []
    for kind in StopKind:
        kernel, event = _before_a_stop(kind)
        commands = kernel.step(0, event)
        [stopping] = [command for command in commands if isinstance(command, Stopping)]
        grace = code("cancel_grace_ms") if stopping.deadline_ms == GRACE_MS else f"{stopping.deadline_ms} ms"
        rows.append((code(kind.value), grace, _kind_in_summary(kernel)))
    return table(("`stop_kind`", "grace period", "`was_cancelled`"), rows)


def _before_a_stop(kind: StopKind) -> tuple[Kernel, Event]:
    options = KernelOptions(cancel_grace_ms=GRACE_MS, error_budget=0, infrastructure_budget=0)
    kernel = begun(options, items=8)
    kernel.step(0, Pulled(1))
    events: dict[StopKind, Event] = {
        StopKind.CANCELLED: CancelRequested("somebody"),
        StopKind.ERROR_BUDGET: Finished(1, [failed(1, HOPELESS)]),
        StopKind.BUDGET: Finished(1, [failed(1, NO_MONEY)]),
        StopKind.INFRASTRUCTURE: WorkerLost(1, Loss.INFRASTRUCTURE),
    }
    return kernel, events[kind]


def _kind_in_summary(kernel: Kernel) -> str:
    _run_out(kernel)
    return str(kernel.summary is not None and kernel.summary.was_cancelled).lower()


# What an event does during a stop.


def stop_effects() -> str:
    rows = []
    for label, in_grace, after in (
        ("`Planned`", Planned([PlanItem()]), Planned([PlanItem()])),
        ("`Pulled`", Pulled(3), Pulled(3)),
        ("`Finished`, success at the cursor", Finished(1, [done(1)]), Finished(1, [done(2)])),
        ("`Finished`, success beyond a gap", Finished(2, [done(3)]), Finished(2, [done(3)])),
        (
            "`Finished`, final failure at the cursor",
            Finished(1, [failed(1, HOPELESS)]),
            Finished(1, [failed(2, HOPELESS)]),
        ),
        (
            "`Finished`, failure to be retried, at the cursor",
            Finished(1, [failed(1, FLAKY)]),
            Finished(1, [failed(2, FLAKY)]),
        ),
        ("`Finished`, by a worker without the lease", Finished(2, [done(1)]), Finished(2, [done(2)])),
        ("`Finished`, second answer of the holder", Finished(1, [done(1), done(1)]), Finished(1, [done(1)])),
        ("`HandedOver`", HandedOver(1, 1, 1, b"half"), HandedOver(1, 2, 1, b"half")),
        ("`Overran`, at the cursor", Overran(1, 1, 1, 10), Overran(1, 2, 1, 10)),
        ("`WorkerLost`, died", WorkerLost(1, Loss.DIED), WorkerLost(1, Loss.DIED)),
        ("`WorkerLost`, retired", WorkerLost(1, Loss.RETIRED), WorkerLost(1, Loss.RETIRED)),
        ("`Returned`, one item", Returned(1, [2]), Returned(1, [2])),
        ("`Beat`", Beat([1, 2]), Beat([1, 2])),
        ("`MemorySampled`, very high", MemorySampled(2**62), MemorySampled(2**62)),
        ("`Committed`, of all that was handed over", Committed(1), Committed(2)),
        ("`Delivered`, of what was not announced", Delivered([1]), Delivered([1])),
        ("`CancelRequested`, no grace period", CancelRequested("again", 0), CancelRequested("again", 0)),
        ("`CancelRequested`, longer grace period", CancelRequested("again", 9000), CancelRequested("again", 9000)),
        ("`Tick`, before the deadline", Tick(), None),
        ("`Tick`, at the deadline", AT_DEADLINE, Tick()),
    ):
        kernel = _stopping()
        effect = _effect(kernel, in_grace)
        rows.append((label, effect, _cut(kernel), _effect(_drained(), after)))
    return table(("event", "in the grace period", "the run is then cut at", "after the leases are revoked"), rows)


def _stopping() -> Kernel:
    """Worker 1 holds seqs 1 and 2, worker 2 holds 3 and 4, the plan owes an answer, the commit lane is free."""
    options = KernelOptions(
        cancel_grace_ms=GRACE_MS, retry=RetryOptions(retries_max=1), windows=WindowOptions(plan_ahead=32)
    )
    kernel = begun(options, items=8)
    for event in (Pulled(1, limit=2), Pulled(2, limit=2), CancelRequested("somebody")):
        kernel.step(0, event)
    return kernel


def _drained() -> Kernel:
    """The same after its grace: seq 1 came in time and is with the commit lane, nothing else did."""
    kernel = _stopping()
    kernel.step(0, Finished(1, [done(1)]))
    kernel.step(GRACE_MS, Tick())
    return kernel


def _effect(kernel: Kernel, event: Event | None) -> str:
    if event is None:
        return "-"
    try:
        commands = kernel.step(GRACE_MS if event is AT_DEADLINE else 0, event)
    except InvariantViolation as violation:
        return f"fatal: {code(type(violation).__name__)}"
    names = Counter(type(command).__name__ for command in commands)
    return ", ".join(code(name) + (f" x {count}" if count > 1 else "") for name, count in names.items()) or "nothing"


def _cut(kernel: Kernel) -> str:
    try:
        _run_out(kernel)
    except InvariantViolation:
        return "-"
    return "-" if kernel.summary is None else f"seq {kernel.summary.stopped_at}"


def _run_out(kernel: Kernel) -> None:
    """Let the grace pass and acknowledge whatever is with the commit lane."""
    while kernel.summary is None:
        snapshot = kernel.snapshot()
        is_committing = snapshot.terminal_count > snapshot.committed_count
        kernel.step(GRACE_MS, Committed(snapshot.terminal_count) if is_committing else Tick())
