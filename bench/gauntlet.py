"""One item out of two hundred misbehaves: what becomes of the others, and does anybody say which it was?

    python bench/gauntlet.py [--rows crash hang] [--only inorder] [--json] [--guard 20]

Two hundred items of 10 ms on two workers; number 77 does what the row says. Each cell is a program of its own, ended
with everything it started after `--guard` seconds, and says what that program delivered:

* `199 + named`: every other item in order, and an error in the place of number 77
* `N results, then E`: N good results before the first error E, and none after it
* `N results, M x E`: N good results, with errors E in the places of others too
* `hung`: the guard had to end it

Where a tool can bound the time of an item, or of the wait for it, the bound is 2 s, and 6 s for the large result.

For inorder each row is a promise: all others in order, the item and the reason named, no later than 4 s after the item
first began; the exit status is 1 where one is broken. A result of 500 MB is no misbehaviour, only large: there the
promise is 200 results. The seconds in the table are those of the whole row; they hold starting the workers, and what
else the machine was doing.
"""

import argparse
import ctypes
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from bounded import Ended, run_bounded
from peers import TOOLS, Limits, installed

COUNT = 200
BAD = 77
UNORDERED = ("inorder unordered", "inorder by key")
"""Their outcomes are put in order before they are judged: by the item that failed, or by the result."""
ITEM_S = 0.010
LIMIT_S = 2.0
LARGE_LIMIT_S = 6.0
"""Some tools count the journey of a result as time of its item; a slow machine should not decide that row."""
PROMISE_S = LIMIT_S + 2.0
LARGE_BYTES = 500_000_000
MEMORY_BYTES = 2 * 2**30
FOREVER_S = 3600
FOLDER = "GAUNTLET_FOLDER"
"""Environment variable: where a cell writes what came, and an item the process it left behind."""


class CannotBePickled(Exception):
    """Holds something that does not travel."""

    def __init__(self) -> None:
        super().__init__("cannot be pickled")
        self.held = lambda: None


class CannotBeUnpickled(Exception):
    """Travels, and cannot be put together again: its arguments are not the ones that it was made with."""

    def __init__(self, code: int, detail: str) -> None:
        super().__init__(f"{code}: {detail}")


def killed() -> None:
    """The kernel's answer to a machine out of memory looks like this."""
    os.kill(os.getpid(), signal.SIGKILL)


def crash() -> None:
    """A null pointer, really read."""
    ctypes.string_at(0)


def leave() -> None:
    """No exception, no clean-up."""
    os._exit(3)


def hang() -> NoReturn:
    """In Python, where signals are handled."""
    while True:
        time.sleep(0.1)


def hang_with_lock() -> None:
    """In C, with the interpreter's lock: no other thread of the worker can run."""
    ctypes.PyDLL(None).sleep(FOREVER_S)


def hang_deaf() -> None:
    """Deaf to the polite signal."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    hang()


def gluttony() -> None:
    """More memory than the worker may have."""
    held = []
    while True:
        held.append(bytes(64 * 2**20))


def raise_unpicklable() -> NoReturn:
    """An exception that cannot be sent."""
    raise CannotBePickled


def raise_unreadable() -> NoReturn:
    """An exception that can be sent and not received."""
    raise CannotBeUnpickled(7, "two arguments in, one out")


def return_unpicklable() -> Any:
    """A value that cannot be sent."""
    return lambda: None


def return_large() -> bytes:
    """A value that is merely large."""
    return bytes(LARGE_BYTES)


def close_stdout() -> None:
    """In this row every item prints, so the next item in the same worker notices a closed stream."""
    sys.stdout.close()


def orphan() -> None:
    """Start a process and do not wait for it."""
    process = subprocess.Popen(["sleep", str(FOREVER_S)], stdin=subprocess.DEVNULL)
    _note("orphans", str(process.pid))


class Row(NamedTuple):
    """One misbehaviour."""

    title: str
    misbehave: Any
    results: int = COUNT - 1
    """What inorder promises to deliver."""
    limit_s: float = LIMIT_S
    """Of the item, or where a tool has no such limit, of the wait for it."""
    memory_bytes: int | None = None


ROWS = {
    "killed": Row("SIGKILLs its worker", killed),
    "crash": Row("segfault", crash),
    "exit": Row("`os._exit`", leave),
    "hang": Row("hangs in Python", hang),
    "hang-lock": Row("hangs in C, holds the GIL", hang_with_lock),
    "hang-deaf": Row("ignores SIGTERM and hangs", hang_deaf),
    "memory": Row("exceeds the worker's memory limit", gluttony, memory_bytes=MEMORY_BYTES),
    "raise-unpicklable": Row("raises an exception that cannot be pickled", raise_unpicklable),
    "raise-unreadable": Row("raises an exception that cannot be unpickled", raise_unreadable),
    "return-unpicklable": Row("returns a value that cannot be pickled", return_unpicklable),
    "return-large": Row("returns 500 MB", return_large, COUNT, limit_s=LARGE_LIMIT_S),
    "close-stdout": Row("prints and closes stdout", close_stdout),
    "orphan": Row("leaves a child process behind", orphan),
}


def item(name: str, number: int) -> Any:
    """What the workers run."""
    time.sleep(ITEM_S)
    if name == "close-stdout":
        print(number)
    if number != BAD:
        return number
    _note("begins", str(time.monotonic()))
    returned = ROWS[name].misbehave()
    return number if returned is None else returned


def _note(name: str, line: str) -> None:
    with open(Path(os.environ[FOLDER]) / name, "a", encoding="ascii") as file:
        file.write(f"{line}\n")


# Inside a cell


def run_cell(tool: str, name: str) -> None:
    """Note each outcome as it comes, so that it is known even if no other follows."""
    limits = Limits(ROWS[name].limit_s, ROWS[name].memory_bytes)
    outcomes = TOOLS[tool].outcomes
    if outcomes is None:
        raise SystemExit(f"{tool} does not take part")
    with open(Path(os.environ[FOLDER]) / "notes", "a", buffering=1, encoding="utf-8") as notes:
        notes.write(json.dumps({"called": True, "at_s": time.monotonic()}) + "\n")
        for value, error, failed in outcomes(functools.partial(item, name), range(COUNT), limits):
            got = BAD if isinstance(value, bytes) and len(value) == LARGE_BYTES else value
            note = {"value": got, "error": error, "at_s": time.monotonic()}
            if tool in UNORDERED:
                note["number"] = got if failed is None else failed
            notes.write(json.dumps(note) + "\n")
        notes.write(json.dumps({"ended": True, "at_s": time.monotonic()}) + "\n")


# Around the cells


class Cell(NamedTuple):
    """What a cell's program delivered."""

    text: str
    reason: str
    delivered: int
    seconds: float
    """From the call to the end of the iteration; where that never came, to the last outcome."""
    item_seconds: float | None
    """From the first beginning of item 77 to its outcome."""
    keeps_promise: bool
    errors: dict[int, str]
    """Of every item that had one, by position."""


def measure(tool: str, name: str, guard_s: float) -> Cell:
    """Run one cell and judge what it noted."""
    if not installed(tool):
        return Cell("not installed", "", 0, 0.0, None, False, {})
    with tempfile.TemporaryDirectory() as folder:
        arguments = [os.path.abspath(__file__), "--cell", tool, name]
        ended = run_bounded(arguments, guard_s, folder, {FOLDER: folder}, watch=Path(folder) / "orphans")
        notes = [json.loads(line) for line in _lines(Path(folder) / "notes") if line.endswith("}")]
        begins = [float(line) for line in _lines(Path(folder) / "begins")]
    return judge(ROWS[name], notes, begins, ended)


def _lines(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [line for line in text.split("\n") if line]


def judge(row: Row, notes: list[dict[str, Any]], begins: list[float], ended: Ended) -> Cell:
    """From outcomes to a few words."""
    seconds = notes[-1]["at_s"] - notes[0]["at_s"] if notes else ended.seconds
    has_ended = bool(notes) and "ended" in notes[-1]
    outcomes = sorted((note for note in notes if "value" in note), key=lambda note: note.get("number", 0))
    item_s = outcomes[BAD]["at_s"] - begins[0] if begins and len(outcomes) > BAD else None
    good = [note["value"] for note in outcomes if not note["error"]]
    errors = {position: note["error"] for position, note in enumerate(outcomes) if note["error"]}
    text = _words(good, errors)
    if not has_ended and not ended.has_hung:
        text += f", then {_last_error(ended)}"
    if ended.has_hung:
        text += ", then hung at exit" if has_ended else ", then hung"
    if ended.orphans:
        text += ", child left running"
    expected = [number for number in range(COUNT) if number != BAD or row.results == COUNT]
    named = row.results == COUNT or (list(errors) == [BAD] and f"item {BAD} " in errors[BAD])
    is_clean = has_ended and not ended.has_hung and not ended.orphans and ended.status == 0
    keeps = good == expected and named and is_clean and item_s is not None and item_s <= PROMISE_S
    return Cell(text, errors.get(BAD, ""), len(good), seconds, item_s, keeps, errors)


def _words(good: list[Any], errors: dict[int, str]) -> str:
    if any(type(value) is not int for value in good) or sorted(good) != good:
        return "wrong order"
    if not errors:
        return f"{len(good)} results"
    if list(errors) == [BAD] and len(good) == COUNT - 1:
        return "199 + named"
    kind = next(iter(errors.values())).partition(":")[0]
    first = min(errors)
    if not good:
        return f"all lost ({kind})"
    if len(good) == first:
        return f"{len(good)} results, then {kind}"
    return f"{len(good)} results, {len(errors)} x {kind}"


def _last_error(ended: Ended) -> str:
    lines = ended.errors.strip().split("\n")
    return lines[-1].partition(":")[0] or f"exit status {ended.status}"


def table(cells: dict[str, dict[str, Cell]], tools: list[str]) -> str:
    """Markdown: the words, and the seconds."""
    lines = ["| item 77 | " + " | ".join(tools) + " |", "|---" * (len(tools) + 1) + "|"]
    for name, row in cells.items():
        words = [f"{cell.text} ({cell.seconds:.1f} s)" if cell.seconds else cell.text for cell in row.values()]
        lines.append(f"| {ROWS[name].title} | " + " | ".join(words) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run every cell, one after the other."""
    contestants = [tool for tool, how in TOOLS.items() if how.outcomes is not None]
    local = [tool for tool in contestants if not TOOLS[tool].is_on_ray]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS), metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--only", nargs="+", choices=contestants, default=local, metavar="TOOL")
    parser.add_argument("--guard", type=float, default=20.0, help="seconds after which a cell is ended")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        run_cell(*options.cell)
        return
    cells: dict[str, dict[str, Cell]] = {}
    for name in options.rows:
        cells[name] = {tool: measure(tool, name, options.guard) for tool in options.only}
        print(f"{name}: done", file=sys.stderr)
    if options.json:
        print(json.dumps({name: {tool: cell._asdict() for tool, cell in row.items()} for name, row in cells.items()}))
    else:
        print(table(cells, options.only))
    broken = []
    for tool in (tool for tool in options.only if tool.startswith("inorder")):
        broken += [f"{tool} {name}" for name, row in cells.items() if not row[tool].keeps_promise]
        if not options.json:
            print(f"\nWhat {tool} says of item 77, and how long after it first began:\n")
        for name, cell in ((name, row[tool]) for name, row in cells.items() if not options.json):
            print(f"- {ROWS[name].title}: {cell.reason or 'nothing, it succeeded'} ({cell.item_seconds or 0:.2f} s)")
    if broken:
        raise SystemExit(f"a promise is broken: {', '.join(broken)}")


if __name__ == "__main__":
    main()
