"""Every order on every engine, with items that are slow, fail, crash, hang and lose workers: a property test.

A story is drawn: what each item does, its key, and how many results the consumer takes. Whatever the order, each result
is delivered at most once, those that must be in order are, and an item fails for its own reason alone.
"""

import asyncio
import os
import signal
import threading
import time
from collections import defaultdict
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import inorder
from tests.support.gates import GUARD_S

pytestmark = [pytest.mark.usefixtures("no_leaks"), pytest.mark.req("API-1")]

BIG = 20_000
BUDGET = 100_000
SLOW = 10_000_000
"""Bytes that a slow item computes a hash of, many times as long as the others take."""
TIMEOUT_S = 3
FAILS_AS = {"raise": "runtime", "hang": "timeout", "crash": "runtime", "flaky twice": "provider"}
"""The category of what fails. Everything else succeeds."""
DEEDS = {
    "inline": ("work", "slow", "raise", "flaky", "flaky twice"),
    "threads": ("work", "slow", "raise", "flaky", "flaky twice", "hang"),
    "coroutines": ("work", "slow", "raise", "flaky", "flaky twice", "hang"),
    "processes": ("work", "slow", "raise", "flaky", "flaky twice", "hang", "crash", "crash once", "lose"),
}
"""What items do, by engine. One that loses a worker is given up by it once, and runs again."""


class Job(NamedTuple):
    """An item."""

    number: int
    deed: str
    key: int
    folder: str
    """Where an attempt leaves its mark."""


class Lost(Exception):
    """A failure that may pass."""

    category = "provider"
    retryable = True


def count_attempts(job: Job) -> int:
    """Leave a mark; return which attempt this is."""
    for number in range(1, 100):
        with suppress(FileExistsError):
            os.close(os.open(Path(job.folder, f"{job.number}-{number}"), os.O_CREAT | os.O_EXCL))
            return number
    raise AssertionError("too many attempts")


def begin(job: Job) -> bytes:
    """Do what the item does before it hangs; return its result."""
    match job.deed:
        case "slow":  # the others go on meanwhile
            blake2b(bytes(SLOW)).digest()
        case "raise":
            raise ValueError(job.number)
        case "flaky twice":
            raise Lost
        case "flaky" if count_attempts(job) == 1:
            raise Lost
        case "crash":
            os._exit(3)
        case "crash once" if count_attempts(job) == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        case "lose" if count_attempts(job) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    return b"%d " % job.number + bytes(BIG)


held = threading.Event()


def work(job: Job) -> bytes:
    """In processes and threads."""
    if job.deed == "hang":
        held.wait(GUARD_S) if threading.current_thread() is not threading.main_thread() else time.sleep(GUARD_S)
    return begin(job)


async def work_async(job: Job) -> bytes:
    """As a coroutine."""
    if job.deed == "hang":
        await asyncio.sleep(GUARD_S)
    for _ in range(20 if job.deed == "slow" else 0):
        await asyncio.sleep(0)
    return begin(job)


@st.composite
def stories(draw: st.DrawFn, where: str) -> tuple[list[tuple[str, int]], int | None]:
    """What each item does, with its key, and how many results are taken; None: all. One item hangs at most."""
    deeds = draw(st.lists(st.sampled_from(("work", "work", *DEEDS[where])), min_size=1, max_size=30))
    first = deeds.index("hang") if "hang" in deeds else None
    deeds = ["work" if deed == "hang" and number != first else deed for number, deed in enumerate(deeds)]
    keys = [draw(st.integers(0, 3)) for _ in deeds]
    return list(zip(deeds, keys, strict=True)), draw(st.none() | st.integers(0, len(deeds)))


def iterate(jobs: list[Job], where: str, order: Any, taken: int | None) -> list[Any]:
    """Take so many results, and watch the bytes that wait."""
    options = inorder.RunOptions(buffered_bytes_max=BUDGET, retry_backoff_s=0, cancel_grace_s=GUARD_S)
    limits: dict[str, Any] = {} if where == "inline" else {"timeout_s": TIMEOUT_S, "workers": 2}
    results = inorder.imap(
        work_async if where == "coroutines" else work,  # type: ignore[arg-type]
        jobs,
        where=None if where == "coroutines" else where,
        order=order,
        key=(lambda job: job.key) if order == "key" else None,
        retries=1,
        errors="yield",
        options=options,
        **limits,
    )
    found: list[Any] = []
    most = len(jobs) + 1 if taken is None else taken

    def note(result: Any) -> None:
        found.append(result)
        assert results._require_runtime().kernel.snapshot().buffered_bytes <= BUDGET + 3 * (BIG + 100)

    async def take() -> None:
        async with results:
            while len(found) < most and (result := await anext(results, None)) is not None:
                note(result)

    if where == "coroutines":
        asyncio.run(take())
        return found
    with results:
        while len(found) < most and (result := next(results, None)) is not None:
            note(result)
        held.set()
    return found


def get_number(result: Any) -> int:
    return result.item.number if isinstance(result, inorder.ItemError) else int(result.split(b" ")[0])


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.filterwarnings("ignore:still running:RuntimeWarning")
@pytest.mark.parametrize("order", ["input", "none", "key"])
@pytest.mark.parametrize("where", list(DEEDS))
def test_nothing_is_lost_repeated_or_out_of_its_order_whatever_items_do(
    where: str, order: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    everything = [*DEEDS[where], "work", *(deed for deed in DEEDS[where] if deed != "hang")]

    @example(([(deed, number % 3) for number, deed in enumerate(everything)], None))
    @settings(max_examples=6 if where == "processes" else 25, suppress_health_check=list(HealthCheck))
    @given(stories(where))
    def check(story: tuple[list[tuple[str, int]], int | None]) -> None:
        lines, taken = story
        folder = str(tmp_path_factory.mktemp("marks"))
        jobs = [Job(number, deed, key, folder) for number, (deed, key) in enumerate(lines)]
        held.clear()
        found = iterate(jobs, where, order, taken)
        numbers = [get_number(result) for result in found]
        assert len(set(numbers)) == len(numbers) == (len(jobs) if taken is None else min(taken, len(jobs)))
        by_key = defaultdict(list)
        for number in numbers:
            by_key[jobs[number].key].append(number)
        for key, own in by_key.items() if order == "key" else ():
            assert own == [job.number for job in jobs if job.key == key][: len(own)]
        if order == "input":
            assert numbers == list(range(len(numbers)))
        for result in found:
            failed = isinstance(result, inorder.ItemError)
            deed = jobs[get_number(result)].deed
            assert (str(result.category) if failed else None) == FAILS_AS.get(deed), (deed, result)

    check()
