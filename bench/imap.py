"""`inorder.imap` beside what else maps a function over items on two processes, in one run.

    python bench/imap.py [--quick] [--json] [--only inorder joblib] [--figures noop straggler]

Every figure of every tool is taken in a fresh program, tool after tool in each round, and the median of the rounds is
printed, then the best. Absolute times are noise on a machine that others use too: read the ratios, which come from the
same minutes, and where others were busy the ratio of the best.

* `noop`: microseconds per item, for items that do nothing; 5x means that a tool needs five times what inorder needs
* `millisecond`: items that compute for 1 ms, against a static split of the list over two processes
* `running-noop`, `running-millisecond`: the same two, of inorder and the split alone, from the moment at which both
  processes run an item; the processor time of the driver beside the first, which others on the machine change less
* `pareto`: items whose lengths are very uneven, against the bound that no schedule beats
* `straggler`: how far the parent's memory peak rises over its start, while 2000 results of 200 kB wait behind a first
  item of 3 s; inorder has a budget of 64 MB, the others have no such option
* `first`: seconds from the call to the first result
* `async`: coroutines that wait for one second, all at once, against `asyncio.gather`, and processor time per item
* `import`: milliseconds of `import inorder`, the best of five

`noop`, `millisecond` and `pareto` run from the moment the first item begins in any worker to the moment the consumer
has the last result, so starting the first worker is not in them.
"""

import argparse
import asyncio
import functools
import importlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from bounded import run_bounded
from peers import LOCAL, TOOLS, WORKERS, connect_to_ray, installed

PROGRAM_S_MAX = 180.0
RESULT_BYTES = 200_000
STRAGGLER_S = 3.0
BUDGET_BYTES = 64_000_000
SPLIT = "static split"
GATHER = "asyncio.gather"
PARETO_SHAPE, PARETO_MS_MIN, PARETO_MS_MAX = 1.3, 1.0, 250.0


class Span(NamedTuple):
    """When an item ran, on the clock that all processes share."""

    began_s: float
    ended_s: float


class Gate(NamedTuple):
    """An item that ends when every worker runs one."""

    folder: str

    def wait(self) -> float:
        """Wait for the other workers; return the time."""
        until_s = time.monotonic() + PROGRAM_S_MAX
        with open(os.path.join(self.folder, str(os.getpid())), "w", encoding="ascii"):
            pass
        while len(os.listdir(self.folder)) < WORKERS and time.monotonic() < until_s:
            time.sleep(0.0005)
        return time.monotonic()


# What the workers run


def running_noop(item: Any) -> float:
    """Do nothing; return the time."""
    return item.wait() if type(item) is Gate else time.monotonic()


def running_compute(item: Any) -> float:
    """Use the processor for this long; return the time."""
    return item.wait() if type(item) is Gate else compute(item).ended_s


def noop(_: int) -> float:
    """Do nothing; return the time."""
    return time.monotonic()


def compute(seconds: float) -> Span:
    """Use the processor for this long, however long the machine takes to give it."""
    began_s = time.monotonic()
    until_s = time.thread_time() + seconds
    while time.thread_time() < until_s:
        pass
    return Span(began_s, time.monotonic())


def occupy(seconds: float) -> Span:
    """Be busy until this long from now."""
    began_s = time.monotonic()
    while (now_s := time.monotonic()) < began_s + seconds:
        pass
    return Span(began_s, now_s)


def weigh(number: int) -> bytes:
    """A large result; the first one late."""
    if number == 0:
        time.sleep(STRAGGLER_S)
    return bytes(RESULT_BYTES)


# What a program measures


def measure_noop(tool: str, count: int) -> dict[str, float]:
    """Microseconds per item."""
    found = list(TOOLS[tool].results(noop, range(count)))
    ended_s = time.monotonic()
    _check(len(found) == count, f"{tool} delivered {len(found)} of {count}")
    return {"us": (ended_s - min(found)) / count * 1e6}


def measure_millisecond(tool: str, count: int) -> dict[str, float]:
    """Wall seconds."""
    spans = list(TOOLS[tool].results(compute, [0.001] * count))
    ended_s = time.monotonic()
    _check(len(spans) == count, f"{tool} delivered {len(spans)} of {count}")
    return {"s": ended_s - min(span.began_s for span in spans)}


def measure_running_noop(tool: str, count: int) -> dict[str, float]:
    """Microseconds per item."""
    seconds, driver_s = _time_running(tool, running_noop, list(range(count)))
    return {"us": seconds / count * 1e6, "driver_us": driver_s / count * 1e6}


def measure_running_millisecond(tool: str, count: int) -> dict[str, float]:
    """Wall seconds."""
    seconds, _ = _time_running(tool, running_compute, [0.001] * count)
    return {"s": seconds}


def _time_running(tool: str, function: Callable[[Any], float], items: list[Any]) -> tuple[float, float]:
    """Wall seconds from the moment at which every worker runs to the last result, and the driver's processor time."""
    with tempfile.TemporaryDirectory() as folder:
        gates: list[Any] = [Gate(folder)] * WORKERS
        if tool == SPLIT:
            half = len(items) // WORKERS
            arranged = [gates[0], *items[:half], gates[1], *items[half:]]
        else:
            arranged = gates + items
        results = iter(TOOLS[tool].results(function, arranged))
        found = [next(results) for _ in range(WORKERS)]
        driver_s = time.process_time()
        found.extend(results)
        ended_s = time.monotonic()
        driver_s = time.process_time() - driver_s
    _check(len(found) == len(arranged), f"{tool} delivered {len(found)} of {len(arranged)}")
    opened = [found[0], found[half + 1]] if tool == SPLIT else found[:WORKERS]
    return ended_s - max(opened), driver_s


def measure_pareto(tool: str, count: int) -> dict[str, float]:
    """Wall seconds over the bound: half of the time that the items really took, or the longest of them."""
    draw = random.Random(7)
    lengths_s = [min(PARETO_MS_MIN * draw.paretovariate(PARETO_SHAPE), PARETO_MS_MAX) / 1000 for _ in range(count)]
    spans = list(TOOLS[tool].results(occupy, lengths_s))
    wall_s = time.monotonic() - min(span.began_s for span in spans)
    _check(len(spans) == count, f"{tool} delivered {len(spans)} of {count}")
    took_s = [span.ended_s - span.began_s for span in spans]
    return {"ratio": wall_s / max(sum(took_s) / WORKERS, *took_s), "s": wall_s}


def measure_straggler(tool: str, count: int) -> dict[str, float]:
    """Megabytes of the parent's peak over its start."""
    results = TOOLS[tool].results
    if tool.startswith("inorder"):
        results = functools.partial(results, buffered_bytes_max=BUDGET_BYTES)
    before = _peak_bytes()
    delivered = sum(len(value) == RESULT_BYTES for value in results(weigh, range(count)))
    _check(delivered == count, f"{tool} delivered {delivered} of {count}")
    return {"mb": (_peak_bytes() - before) / 1e6}


def measure_waiting(tool: str, count: int) -> dict[str, float]:
    """Megabytes that everything not yet consumed takes at most: the parent's own memory, and memory that processes
    share, wherever results wait in it."""
    tools = TOOLS[tool]
    if tools.is_on_ray:
        connect_to_ray()
    results = functools.partial(tools.results, buffered_bytes_max=BUDGET_BYTES) if "inorder" in tool else tools.results
    is_over = threading.Event()
    before = peak = _waiting_bytes()

    def watch() -> None:
        nonlocal peak
        while not is_over.wait(0.01):
            peak = max(peak, _waiting_bytes())

    watching = threading.Thread(target=watch)
    watching.start()
    delivered = sum(len(value) == RESULT_BYTES for value in results(weigh, range(count)))
    is_over.set()
    watching.join()
    _check(delivered == count, f"{tool} delivered {delivered} of {count}")
    return {"mb": (peak - before) / 1e6}


def _waiting_bytes() -> int:
    return _kilobytes("/proc/self/status", "RssAnon:") * 1024 + _kilobytes("/proc/meminfo", "Shmem:") * 1024


def _kilobytes(path: str, name: str) -> int:
    with open(path, encoding="ascii") as file:
        return int(next(line for line in file if line.startswith(name)).split()[1])


def measure_first(tool: str, count: int) -> dict[str, float]:
    """Seconds to the first result."""
    called_s = time.monotonic()
    found = iter(TOOLS[tool].results(noop, range(count)))
    next(found)
    seconds = time.monotonic() - called_s
    for _ in found:
        pass
    return {"s": seconds}


def measure_async(tool: str, count: int) -> dict[str, float]:
    """Wall seconds for so many coroutines that wait one second at once, and processor time per item."""

    async def wait(number: int) -> int:
        await asyncio.sleep(1.0)
        return number

    async def run() -> int:
        if tool == GATHER:
            return len(await asyncio.gather(*[wait(number) for number in range(count)]))
        order: Any = "none" if "unordered" in tool else "input"
        results = inorder.imap(wait, range(count), workers=count, order=order)
        return sum([1 async for _ in results])

    import inorder

    began_s, processor_s = time.monotonic(), time.process_time()
    delivered = asyncio.run(run())
    found = {"s": time.monotonic() - began_s, "driver_us": (time.process_time() - processor_s) / count * 1e6}
    _check(delivered == count, f"{tool} delivered {delivered} of {count}")
    return found


def _peak_bytes() -> int:
    return _kilobytes("/proc/self/status", "VmHWM:") * 1024


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise SystemExit(message)


class Figure(NamedTuple):
    """One table."""

    measure: Callable[[str, int], dict[str, float]]
    unit: str
    count: int
    quick: int
    rounds: int
    has_split: bool = False
    is_running: bool = False
    """Whether it is taken of inorder and the split alone."""


FIGURES = {
    "noop": Figure(measure_noop, "us", 20_000, 4_000, 3, has_split=True),
    "millisecond": Figure(measure_millisecond, "s", 4_000, 600, 3, has_split=True),
    "running-noop": Figure(measure_running_noop, "us", 100_000, 10_000, 5, has_split=True, is_running=True),
    "running-millisecond": Figure(measure_running_millisecond, "s", 4_000, 600, 5, has_split=True, is_running=True),
    "pareto": Figure(measure_pareto, "ratio", 1_000, 250, 3, has_split=True),
    "straggler": Figure(measure_straggler, "mb", 2_000, 800, 1),
    "waiting": Figure(measure_waiting, "mb", 2_000, 800, 1),
    "first": Figure(measure_first, "s", 100, 100, 5),
    "async": Figure(measure_async, "s", 10_000, 2_000, 5),
}


# Around the programs


def take(name: str, tool: str, count: int) -> dict[str, Any]:
    """One figure of one tool, in a program of its own."""
    if tool != GATHER and not installed(tool):
        return {"failed": "not installed"}
    with tempfile.TemporaryDirectory() as folder:
        arguments = [os.path.abspath(__file__), "--program", name, tool, str(count)]
        ended = run_bounded(arguments, PROGRAM_S_MAX, folder)
    if ended.has_hung:
        return {"failed": "hung"}
    if ended.status != 0:
        return {"failed": ended.errors.strip().split("\n")[-1]}
    found: dict[str, Any] = json.loads(ended.output)
    return found


def take_rounds(name: str, tools: list[str], *, quick: bool) -> dict[str, dict[str, Any]]:
    """The median of each tool; the tools take turns, so that whatever disturbs one disturbs the others."""
    figure = FIGURES[name]
    if name == "async":
        tools = [*(tool for tool in tools if tool in ("inorder", "inorder unordered")), GATHER]
    elif not figure.has_split:
        tools = [tool for tool in tools if tool != SPLIT]
    if figure.is_running:
        tools = [tool for tool in tools if tool.startswith("inorder") or tool == SPLIT]
    taken: dict[str, list[dict[str, Any]]] = {tool: [] for tool in tools}
    for _ in range(1 if quick else figure.rounds):
        for tool in tools:
            if not any("failed" in one for one in taken[tool]):
                taken[tool].append(take(name, tool, figure.quick if quick else figure.count))
    return {tool: _middle(rounds, figure.unit) for tool, rounds in taken.items()}


def _middle(rounds: list[dict[str, Any]], unit: str) -> dict[str, Any]:
    failed = next((one for one in rounds if "failed" in one), None)
    if failed is not None:
        return failed
    values = [one[unit] for one in rounds]
    found = {unit: statistics.median(values), "best": min(values), "rounds": values}
    if "driver_us" in rounds[0]:
        found["driver_us"] = statistics.median(one["driver_us"] for one in rounds)
    return found


def import_ms(count: int = 5) -> float:
    """The best of some fresh interpreters."""
    program = "import time; t = time.perf_counter(); import inorder; print(time.perf_counter() - t)"
    taken = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60).stdout
        for _ in range(count)
    ]
    return min(map(float, taken)) * 1000


def ratios(found: dict[str, dict[str, Any]], unit: str, against: str) -> dict[str, float]:
    """Each tool's figure over that of one of them."""
    base = found.get(against, {}).get(unit)
    return {tool: one[unit] / base for tool, one in found.items() if base and unit in one}


USUAL = [name for name in FIGURES if name != "waiting"]
LABELS = {
    "noop": ("no-op items, µs per item", "inorder"),
    "millisecond": ("items of 1 ms, wall s", SPLIT),
    "running-noop": ("no-op items in running processes, µs per item", "inorder"),
    "running-millisecond": ("items of 1 ms in running processes, wall s", SPLIT),
    "pareto": ("Pareto lengths, wall over the ideal bound", None),
    "straggler": ("results behind a straggler, MB over the start", None),
    "waiting": ("results behind a straggler, MB of the parent and of shared memory", None),
    "first": ("first result, s from the call", None),
    "async": ("coroutines that wait 1 s, all at once, wall s", GATHER),
}


def table(found: dict[str, dict[str, dict[str, Any]]], tools: list[str], against: str | None = None) -> str:
    """Markdown, one column per tool; ratios over each figure's usual rival, or over one for all."""
    lines = ["| | " + " | ".join(tools) + " |", "|---" * (len(tools) + 1) + "|"]
    for name, row in found.items():
        title, usual = LABELS[name]
        rival = against or usual
        if rival:
            title += f" (and over {rival})"
        kinds = [(FIGURES[name].unit, title), ("best", "- the best round")]
        if any("driver_us" in one for one in row.values()):
            kinds.append(("driver_us", "- processor time of the driver"))
        for key, what in kinds:
            over = ratios(row, key, rival) if rival else {}
            lines.append(f"| {what} | " + " | ".join(_cell(row, name, tool, key, over) for tool in tools) + " |")
    return "\n".join(lines)


def _cell(row: dict[str, dict[str, Any]], name: str, tool: str, key: str, over: dict[str, float]) -> str:
    if tool not in row:
        return ""
    if "failed" in row[tool]:
        return str(row[tool]["failed"])
    value = row[tool][key]
    shown = f"{value:.1f}" if FIGURES[name].unit in ("us", "mb") else f"{value:.3f}"
    return f"{shown} ({over[tool]:.2f}x)" if tool in over else shown


def main() -> None:
    """Take every figure and print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer items, one round")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", nargs="+", choices=TOOLS, default=LOCAL, metavar="TOOL")
    parser.add_argument("--figures", nargs="+", choices=FIGURES, default=USUAL, metavar="FIGURE")
    parser.add_argument("--program", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program:
        name, tool, count = options.program
        if tool != GATHER:
            importlib.import_module(TOOLS[tool].module)
        print(json.dumps(FIGURES[name].measure(tool, int(count))))
        return
    found = {}
    for name in options.figures:
        found[name] = take_rounds(name, options.only, quick=options.quick)
        print(f"{name}: done", file=sys.stderr)
    imported_ms = import_ms()
    if options.json:
        print(json.dumps({**found, "import_ms": imported_ms, "load": os.getloadavg()}))
        return
    print(table(found, [*options.only, *([GATHER] if "async" in found else [])]))
    print(f"\n`import inorder`: {imported_ms:.0f} ms, the best of five")
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}: absolute times are noise, read the ratios")


if __name__ == "__main__":
    main()
