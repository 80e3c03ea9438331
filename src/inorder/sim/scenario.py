"""Scenarios: the items, options and faults of a simulation, drawn from a seed.

Each seed switches on a few kinds of fault. With all faults at once, a run would never get far enough to reach the
interesting states.
"""

from enum import StrEnum
from random import Random

import msgspec

from inorder.core.options import KernelOptions, PressureOptions, RetryOptions, WindowOptions


class Fate(StrEnum):
    """How an item ends after its retryable failures."""

    OK = "ok"
    SKIP = "skip"
    FAIL = "fail"
    """Fails, and a retry cannot succeed."""
    HOSTILE = "hostile"
    """Kills every worker that runs it."""
    HANG = "hang"
    """Never returns. With a time limit it fails; without one its worker stops sending heartbeats."""


class SimItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item and how it behaves."""

    item_id: str
    fate: Fate = Fate.OK
    failures: int = 0
    """Retryable failures before it ends with its fate."""
    duration_ms: int = 10
    result_bytes: int = 100
    size_hint: int = 0
    cost: float = 1.0
    batch_key: str = ""
    hand_overs: int = 0
    """Partial results that every attempt hands over, one after the other."""


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """Probability of each fault, in percent."""

    delay: int = 0
    """A delivery arrives late."""
    shuffle: int = 0
    """The envelopes of one delivery arrive in another order."""
    hoard: int = 0
    """A worker keeps its envelopes until its batch is done."""
    duplicate: int = 0
    """A delivery arrives twice."""
    zombie: int = 0
    """A stopped worker continues and delivers its results."""
    silent: int = 0
    """A worker stops sending heartbeats during an item, and delivers after its lease has expired."""
    die: int = 0
    """A worker dies during an item that did not cause it. The kernel cannot tell the difference."""
    machine_loss: int = 0
    """A worker is lost with its machine."""
    retire: int = 0
    """A worker is recycled in the middle of a batch."""
    give_back: int = 0
    """A worker returns the tasks that it has not started."""
    unknown: int = 0
    """It is unknown which item a lost worker was running."""
    slow_commit: int = 0
    """The commit lane is slow, and acknowledges in parts."""
    spent: int = 0
    """An attempt would exceed a limit on tokens or money."""


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that determines a simulation."""

    seed: int
    items: tuple[SimItem, ...]
    options: KernelOptions
    faults: Faults = msgspec.field(default_factory=Faults)
    workers: int = 2
    batch_limit: int = 4
    timeout_ms: int | None = None
    announces_total: bool = True
    cancel_at_ms: int | None = None
    cancel_grace_ms: int | None = None
    clock_jumps: tuple[tuple[int, int], ...] = ()
    """(true time in ms, jump in ms)."""
    memory_samples: tuple[tuple[int, int], ...] = ()
    """(true time in ms, bytes)."""


def draw_scenario(seed: int) -> Scenario:
    """Draw the scenario of a seed."""
    rng = Random(seed)
    timeout_ms = rng.choice((None, None, 60))
    items = _draw_items(rng, hand_over_random(seed))
    options = _draw_options(rng, items)
    if timeout_ms is None and any(item.fate is Fate.HANG for item in items):
        # Nothing but the infrastructure budget ends a silent hang without a time limit.
        options = msgspec.structs.replace(options, infrastructure_budget=rng.choice((0, 2, 5)))
    announces = Random(f"announcements of {seed}").random() < 0.25
    options = msgspec.structs.replace(options, announces=announces)
    is_hurried = rng.random() < 0.2
    return Scenario(
        seed=seed,
        items=items,
        options=options,
        faults=_draw_faults(rng, seed),
        workers=rng.choice((1, 1, 2, 2, 3, 4, 8)),
        batch_limit=rng.choice((1, 2, 4, 16, 16)),
        timeout_ms=timeout_ms,
        announces_total=rng.random() < 0.7,
        cancel_at_ms=rng.randrange(0, 600) if is_hurried else None,
        cancel_grace_ms=rng.choice((None, 0, 5, 100)),
        clock_jumps=_draw_moments(rng, 0.15, 600, (-300, 50, 5_000, 10_000_000)),
        memory_samples=_draw_moments(rng, 0.15, 400, (10, 80, 200)),
    )


def _draw_moments(rng: Random, chance: float, until_ms: int, values: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    if rng.random() >= chance:
        return ()
    return tuple((rng.randrange(until_ms), rng.choice(values)) for _ in range(rng.randrange(1, 3)))


def hand_over_random(seed: int) -> Random:
    """Return the random numbers that hand-overs are drawn from. All else that a seed draws is the same without them."""
    return Random(f"hand-overs of {seed}")


def _draw_items(rng: Random, hand_over_rng: Random) -> tuple[SimItem, ...]:
    count = rng.choice((0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 55))
    weights = {
        Fate.OK: 60,
        Fate.SKIP: rng.choice((0, 10)),
        Fate.FAIL: rng.choice((0, 0, 10)),
        Fate.HOSTILE: rng.choice((0, 0, 0, 8)),
        Fate.HANG: rng.choice((0, 0, 0, 8)),
    }
    fates = rng.choices(list(weights), list(weights.values()), k=count)
    flaky = rng.choice((0.0, 0.0, 0.2, 0.6))
    durations = rng.choice(((1,), (5, 10), (1, 1, 1, 200), (1, 20, 50)))
    sizes = rng.choice(((0,), (100,), (10, 10, 10, 2000), (1, 50, 300)))
    keys = rng.choice((("",), ("",), ("a", "b"), ("", "x", "y", "z")))
    is_hinted = rng.random() < 0.3
    hand_overs = hand_over_rng.choice(((0,), (0,), (0, 1, 2)))
    items = []
    for number, fate in enumerate(fates):
        size = rng.choice(sizes)
        duration_ms = rng.choice(durations)
        items.append(
            SimItem(
                item_id=f"item-{number}",
                fate=fate,
                failures=rng.randrange(1, 4) if rng.random() < flaky else 0,
                duration_ms=duration_ms,
                result_bytes=size,
                size_hint=size if is_hinted else 0,
                cost=float(duration_ms),
                batch_key=rng.choice(keys),
                hand_overs=hand_over_rng.choice(hand_overs),
            )
        )
    return tuple(items)


def _draw_options(rng: Random, items: tuple[SimItem, ...]) -> KernelOptions:
    largest = max((item.result_bytes for item in items), default=1)
    is_roomy = rng.random() < 0.4
    hard = 10**9 if is_roomy else rng.choice((10**9, largest * 8 + 8, largest * 2 + 2, max(1, largest // 2), 1))
    soft = max(1, hard * rng.choice((50, 75, 100)) // 100)
    is_bounded = rng.random() < 0.25
    adaptive = not is_bounded and rng.random() < 0.4
    entries = rng.choice((16, 32)) if is_roomy else rng.choice((1, 2, 4, 8, 32, 32))
    lag_soft, lag_hard = (10**6, 10**6) if is_roomy else rng.choice(((10**6, 10**6), (3, 10**6), (3, 6)))
    return KernelOptions(
        windows=WindowOptions(
            entries=entries,
            entries_min=1,
            entries_max=64,
            span_max=64 if is_roomy else rng.choice((3, 64)),
            cost_max=float("inf") if is_roomy else rng.choice((float("inf"), 60.0)),
            bytes_max=10**9 if is_roomy else rng.choice((10**9, 500)),
            adaptive=adaptive,
            lag_entries=4,
            plan_ahead=64 if is_roomy else rng.choice((1, 4, 64, 64)),
            plan_by_demand=not is_roomy and rng.random() < 0.3,
        ),
        pressure=PressureOptions(
            buffered_bytes_soft=soft,
            buffered_bytes_hard=hard,
            window_bytes_soft=max(1, soft * rng.choice((50, 100)) // 100),
            window_bytes_hard=hard,
            prefetch_bytes_max=max(1, soft * 3 // 8),
            commit_lag_soft=lag_soft,
            commit_lag_hard=lag_hard,
            resident_bytes_soft=50,
            resident_bytes_hard=100,
            release_ratio_percent=rng.choice((50, 80, 99)),
        ),
        retry=RetryOptions(
            retries_max=rng.choice((0, 1, 2, 3)),
            window_retries_max=rng.randrange(0, 6) if is_bounded else None,
            backoff_ms=rng.choice((0, 10, 50)),
            backoff_ms_max=100,
            seed=rng.randrange(100),
        ),
        schedule=rng.choice(("fifo", "fifo", "sjf")),
        aged_ms=rng.choice((0, 50, 10_000)),
        batch_max=rng.choice((1, 3, 64, 64)),
        commit_run_max=rng.choice((1, 3, 64)),
        lease_ms=400,
        infrastructure_budget=rng.choice((0, 2, 1000, 1000, 1000)),
        error_budget=rng.choice((None, None, None, 0, 1, 5)),
        cancel_grace_ms=rng.choice((0, 20, 300)),
    )


_FAULT_CHANCES = {
    "delay": (20, 50),
    "shuffle": (50,),
    "hoard": (50,),
    "duplicate": (3,),
    "zombie": (50, 100),
    "silent": (5,),
    "die": (5, 20),
    "machine_loss": (5, 20),
    "retire": (10,),
    "give_back": (20,),
    "unknown": (50, 100),
    "slow_commit": (50, 100),
}


def _draw_faults(rng: Random, seed: int) -> Faults:
    chosen = {}
    for name, chances in _FAULT_CHANCES.items():
        likelihood = 0.06 if name == "duplicate" else 0.3
        if rng.random() < likelihood:
            chosen[name] = rng.choice(chances)
    if (spent := Random(f"limits of {seed}")).random() < 0.05:  # all else that a seed draws is the same without it
        chosen["spent"] = spent.choice((2, 20))
    return Faults(**chosen)
