"""The tools that are compared, each used the way its documentation shows, with the start method it picks by itself.

`results` is for measuring: the ordered iteration that a user would write. `outcomes` is for the gauntlet: one outcome
an item, through whatever each tool offers to go on after a failed item and to bound the time of one.

Nothing is imported before its tool is used: what one of them loads must not count as another's memory or time.
"""

import functools
import importlib
import itertools
import logging
import os
import resource
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
if sys.path[0] == HERE:  # `import ray` means the library, and not the benchmark of that name beside this file
    sys.path.append(sys.path.pop(0))

WORKERS = 2
Function = Callable[[Any], Any]


class Outcome(NamedTuple):
    """What came for one item: a value, or why there is none."""

    value: Any
    error: str = ""
    item: Any = None
    """Which item failed, if the tool says so."""


class Limits(NamedTuple):
    """What an item may use."""

    item_s: float
    memory_bytes: int | None


def limit_memory(size: int | None) -> None:
    """For an initializer of a worker."""
    if size is not None:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def installed(tool: str) -> bool:
    """Whether the tool can be imported."""
    try:
        importlib.import_module(TOOLS[tool].module)
    except ImportError:
        return False
    return True


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _each(take: Callable[[], Any], *, goes_on: bool) -> Iterator[Outcome]:
    """Outcomes of an iteration that raises at a failed item and then goes on, or does not."""
    while True:
        try:
            value = take()
        except StopIteration:
            return
        except Exception as error:
            yield Outcome(None, _said(error))
            if not goes_on:
                return
        else:
            yield Outcome(value)


# inorder


def inorder_results(
    function: Function,
    items: Iterable[Any],
    buffered_bytes_max: int | None = None,
    where: Any = None,
    order: Any = "input",
) -> Iterator[Any]:
    """Results in an order; the others have no budget, so they are not given one."""
    import inorder

    options = None if buffered_bytes_max is None else inorder.RunOptions(buffered_bytes_max=buffered_bytes_max)
    key = choose_key if order == "key" else None
    return inorder.imap(function, items, workers=WORKERS, where=where, order=order, key=key, options=options)


def choose_key(item: Any) -> int:
    """One of a thousand keys."""
    return item % 1000 if type(item) is int else 0


def inorder_outcomes(
    function: Function, items: Sequence[Any], limits: Limits, where: Any = None, order: Any = "input"
) -> Iterator[Outcome]:
    """`imap` with its limits; everything else is as by default."""
    import inorder

    found = inorder.imap(
        function,
        items,
        where=where,
        order=order,
        key=choose_key if order == "key" else None,
        timeout_s=limits.item_s,
        errors="yield",
        options=inorder.RunOptions(memory_bytes_max=limits.memory_bytes),
    )
    for value in found:
        is_error = isinstance(value, inorder.ItemError)
        yield Outcome(None, str(value), value.item) if is_error else Outcome(value)


# concurrent.futures


def executor_results(function: Function, items: Iterable[Any]) -> Iterator[Any]:
    """`map` with its chunk size of one."""
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(WORKERS) as executor:
        yield from executor.map(function, items)


def executor_outcomes(function: Function, items: Sequence[Any], limits: Limits) -> Iterator[Outcome]:
    """One future per item, because `map` ends at the first failure."""
    from concurrent.futures import ProcessPoolExecutor

    executor = ProcessPoolExecutor(WORKERS, initializer=limit_memory, initargs=(limits.memory_bytes,))
    futures = [executor.submit(function, item) for item in items]
    waits = iter(futures)
    yield from _each(lambda: next(waits).result(limits.item_s), goes_on=True)
    executor.shutdown(wait=True, cancel_futures=True)


# multiprocessing


def pool_results(function: Function, items: Iterable[Any]) -> Iterator[Any]:
    """`imap` with its chunk size of one."""
    import multiprocessing

    with multiprocessing.Pool(WORKERS) as pool:
        yield from pool.imap(function, items)


def pool_outcomes(function: Function, items: Sequence[Any], limits: Limits) -> Iterator[Outcome]:
    """It goes on after an exception, but after a timeout it asks for the same item again: that is the end."""
    import multiprocessing

    with multiprocessing.Pool(WORKERS, initializer=limit_memory, initargs=(limits.memory_bytes,)) as pool:
        found = pool.imap(function, items)
        for outcome in _each(lambda: found.next(timeout=limits.item_s), goes_on=True):
            yield outcome
            if outcome.error.startswith("TimeoutError"):
                return


# joblib


def joblib_results(function: Function, items: Iterable[Any]) -> Iterator[Any]:
    """An ordered generator."""
    from joblib import Parallel, delayed

    call = delayed(function)
    yield from Parallel(n_jobs=WORKERS, return_as="generator")(call(item) for item in items)


def joblib_outcomes(function: Function, items: Sequence[Any], limits: Limits) -> Iterator[Outcome]:
    """A generator that ends at the first failure: there is no other way."""
    from joblib import Parallel, delayed

    call = delayed(function)
    extra = {"initializer": limit_memory, "initargs": (limits.memory_bytes,)}
    Parallel(n_jobs=WORKERS, **extra)(delayed(abs)(number) for number in range(4))  # a slow start is no timeout
    parallel = Parallel(n_jobs=WORKERS, return_as="generator", timeout=limits.item_s, **extra)
    found = parallel(call(item) for item in items)
    yield from _each(lambda: next(found), goes_on=False)


# mpire


def mpire_results(function: Function, items: Iterable[Any]) -> Iterator[Any]:
    """`imap` with the chunks it picks."""
    from mpire import WorkerPool

    with WorkerPool(n_jobs=WORKERS) as pool:
        yield from pool.imap(function, items)


def mpire_outcomes(function: Function, items: Sequence[Any], limits: Limits) -> Iterator[Outcome]:
    """One result object per item, because `imap` ends at the first failure."""
    from mpire import WorkerPool

    prepare = functools.partial(limit_memory, limits.memory_bytes)
    with WorkerPool(n_jobs=WORKERS) as pool:
        asked = [pool.apply_async(function, (item,), task_timeout=limits.item_s, worker_init=prepare) for item in items]
        waits = iter(asked)
        yield from _each(lambda: next(waits).get(), goes_on=True)


# pebble


def pebble_results(function: Function, items: Iterable[Any]) -> Iterator[Any]:
    """`map` with its chunk size of one."""
    from pebble import ProcessPool

    with ProcessPool(max_workers=WORKERS) as pool:
        yield from pool.map(function, items).result()


def pebble_outcomes(function: Function, items: Sequence[Any], limits: Limits) -> Iterator[Outcome]:
    """`map` with a timeout; its iterator goes on after a failed item."""
    from pebble import ProcessPool

    with ProcessPool(max_workers=WORKERS, initializer=limit_memory, initargs=(limits.memory_bytes,)) as pool:
        found = pool.map(function, items, timeout=limits.item_s).result()
        yield from _each(lambda: next(found), goes_on=True)


# Ray


def connect_to_ray() -> Any:
    """A cluster of this machine, with as many processors as everybody has workers; the same for all who use Ray."""
    import ray

    if not ray.is_initialized():
        ray.init(
            "local",
            num_cpus=WORKERS,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _system_config={"free_objects_period_milliseconds": 100},
        )
    return ray


def ray_task_results(function: Function, items: Iterable[Any], batch: int = 1) -> Iterator[Any]:
    """A task per item, or a batch of them, with some thousands under way, as the documentation advises; taken in the
    order of the items."""
    ray = connect_to_ray()
    task = ray.remote(_each_of)
    under_way: deque[Any] = deque()
    remaining = iter(items)
    while True:
        while len(under_way) < 2000 and (some := list(itertools.islice(remaining, batch))):
            under_way.append(task.remote(function, some))
        if not under_way:
            return
        yield from ray.get(under_way.popleft())


def _each_of(function: Function, items: list[Any]) -> list[Any]:
    return [function(item) for item in items]


def ray_data_results(function: Function, items: Iterable[Any]) -> Iterator[Any]:
    """A dataset that keeps its order."""
    connect_to_ray()
    import cloudpickle
    import ray.data

    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    dataset = ray.data.from_items(list(items)).map(functools.partial(_row, function))
    for row in dataset.iter_rows():
        yield cloudpickle.loads(row["value"])


def _row(function: Function, row: dict[str, Any]) -> dict[str, Any]:
    import cloudpickle

    return {"value": cloudpickle.dumps(function(row["item"]))}


# No tool at all


def split_results(function: Function, items: Iterable[Any]) -> Iterator[Any]:
    """Half of the items for each of two processes, all results at the end: what no scheduling at all costs."""
    import multiprocessing

    whole = list(items)
    share = -(-len(whole) // WORKERS)
    halves = [whole[start : start + share] for start in range(0, len(whole), share)]
    pipes = [multiprocessing.Pipe(duplex=False) for _ in halves]
    processes = [
        multiprocessing.Process(target=_send_half, args=(theirs, function, half))
        for (_, theirs), half in zip(pipes, halves, strict=True)
    ]
    for process in processes:
        process.start()
    found = [ours.recv() for ours, _ in pipes]
    for process in processes:
        process.join()
    return itertools.chain.from_iterable(found)


def _send_half(connection: Any, function: Function, half: list[Any]) -> None:
    connection.send([function(item) for item in half])


class Tool(NamedTuple):
    """One column."""

    module: str
    results: Callable[..., Iterator[Any]]
    outcomes: Callable[[Function, Sequence[Any], Limits], Iterator[Outcome]] | None
    is_on_ray: bool = False


TOOLS = {
    "inorder": Tool("inorder", inorder_results, inorder_outcomes),
    "inorder unordered": Tool(
        "inorder",
        functools.partial(inorder_results, order="none"),
        functools.partial(inorder_outcomes, order="none"),
    ),
    "inorder by key": Tool(
        "inorder",
        functools.partial(inorder_results, order="key"),
        functools.partial(inorder_outcomes, order="key"),
    ),
    "ProcessPoolExecutor": Tool("concurrent.futures.process", executor_results, executor_outcomes),
    "Pool.imap": Tool("multiprocessing.pool", pool_results, pool_outcomes),
    "joblib": Tool("joblib", joblib_results, joblib_outcomes),
    "mpire": Tool("mpire", mpire_results, mpire_outcomes),
    "pebble": Tool("pebble", pebble_results, pebble_outcomes),
    "static split": Tool("multiprocessing", split_results, None),
    "inorder-ray": Tool(
        "ray",
        functools.partial(inorder_results, where="ray"),
        functools.partial(inorder_outcomes, where="ray"),
        is_on_ray=True,
    ),
    "ray-tasks": Tool("ray", ray_task_results, None, is_on_ray=True),
    "ray-batches": Tool("ray", functools.partial(ray_task_results, batch=100), None, is_on_ray=True),
    "ray-data": Tool("ray.data", ray_data_results, None, is_on_ray=True),
}
LOCAL = [name for name, tool in TOOLS.items() if not tool.is_on_ray]
