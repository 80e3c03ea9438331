"""The picture of order in the README: workers finish in any order, results are committed in order.

The schedule is computed, not drawn by hand: three workers pull ten items, and item 4 kills its worker once.
"""

from typing import NamedTuple

from tools.svg import Drawing, Theme

LENGTHS = (2.0, 5.0, 1.5, 2.0, 1.5, 3.5, 1.5, 3.5, 1.5, 1.2)
KILLED, KILLED_AFTER = 4, 1.0
WORKERS = 3

LEFT, UNIT, WIDTH = 168, 68, 868
ROW, BAR = 38, 28
WORKERS_TOP = 52
BUFFER_TOP = WORKERS_TOP + WORKERS * ROW + 20
LANE, LANES = 24, 3
COMMIT_TOP = BUFFER_TOP + LANES * LANE + 26
CELL = 31
HEIGHT = COMMIT_TOP + 76


class Attempt(NamedTuple):
    """One attempt at an item on one worker."""

    item: int
    worker: int
    start: float
    end: float
    was_killed: bool


def schedule() -> list[Attempt]:
    """Idle workers pull the next item; an item whose worker was killed goes first."""
    waiting = list(range(len(LENGTHS)))
    idle_at = [0.0] * WORKERS
    attempts: list[Attempt] = []
    while waiting:
        item = waiting.pop(0)
        worker = min(range(WORKERS), key=lambda number: (idle_at[number], number))
        was_killed = item == KILLED and not any(attempt.item == item for attempt in attempts)
        start = idle_at[worker]
        end = start + (KILLED_AFTER if was_killed else LENGTHS[item])
        idle_at[worker] = end
        attempts.append(Attempt(item, worker, start, end, was_killed))
        if was_killed:
            waiting.insert(0, item)
    return attempts


def commit_runs(finished: dict[int, float]) -> list[tuple[float, list[int]]]:
    """At which time which run of items is committed: an item waits for every lower one."""
    runs: list[tuple[float, list[int]]] = []
    latest = 0.0
    for item in sorted(finished):
        latest = max(latest, finished[item])
        if runs and runs[-1][0] == latest:
            runs[-1][1].append(item)
        else:
            runs.append((latest, [item]))
    return runs


def draw(theme: Theme) -> str:
    attempts = schedule()
    finished = {attempt.item: attempt.end for attempt in attempts if not attempt.was_killed}
    runs = commit_runs(finished)
    drawing = Drawing(WIDTH, HEIGHT, "Items are computed out of order and committed in order", theme)
    _grid(drawing, [time for time, _ in runs])
    _workers(drawing, attempts)
    _buffer(drawing, finished, runs)
    _commits(drawing, runs)
    return drawing.render()


def _x(time: float) -> float:
    return LEFT + time * UNIT


def _heading(drawing: Drawing, y: float, title: str, note: str) -> None:
    drawing.text(20, y, title, bold=True, size=14)
    drawing.text(20, y + 18, note, fill=drawing.colours.muted, size=11.5)


def _grid(drawing: Drawing, times: list[float]) -> None:
    for time in times:
        drawing.line(_x(time), WORKERS_TOP - 8, _x(time), COMMIT_TOP, stroke=drawing.colours.muted, dashes="2 4")
    drawing.text(WIDTH - 34, 30, "time", fill=drawing.colours.muted, size=11.5, anchor="end")
    drawing.line(LEFT, 26, WIDTH - 70, 26, stroke=drawing.colours.muted)
    drawing.polygon([(WIDTH - 70, 22), (WIDTH - 62, 26), (WIDTH - 70, 30)], fill=drawing.colours.muted)


def _workers(drawing: Drawing, attempts: list[Attempt]) -> None:
    colours = drawing.colours
    _heading(drawing, WORKERS_TOP + 18, "Compute", "out of order")
    for worker in range(WORKERS):
        middle = WORKERS_TOP + worker * ROW + BAR / 2 + 4
        drawing.text(LEFT - 10, middle, f"worker {worker + 1}", fill=colours.muted, size=11.5, anchor="end")
    for attempt in attempts:
        top = WORKERS_TOP + attempt.worker * ROW
        width = (attempt.end - attempt.start) * UNIT - 3
        fill, ink = (colours.bad, colours.on_bad) if attempt.was_killed else (colours.quiet, colours.on_quiet)
        drawing.box(_x(attempt.start), top, width, BAR, fill=fill)
        label = f"{attempt.item} killed" if attempt.was_killed else str(attempt.item)
        drawing.text(_x(attempt.start) + width / 2, top + BAR / 2 + 5, label, fill=ink, anchor="middle", bold=True)


def _buffer(drawing: Drawing, finished: dict[int, float], runs: list[tuple[float, list[int]]]) -> None:
    colours = drawing.colours
    _heading(drawing, BUFFER_TOP + 28, "Reorder buffer", "bounded in bytes")
    committed = {item: time for time, items in runs for item in items}
    free_at = [0.0] * LANES
    for item in sorted(finished, key=lambda number: (finished[number], number)):
        start, end = finished[item], committed[item]
        if end == start:
            continue
        lane = next(number for number in range(LANES) if free_at[number] <= start)
        free_at[lane] = end
        top = BUFFER_TOP + lane * LANE
        width = max((end - start) * UNIT - 3, 20)
        drawing.box(_x(end) - 3 - width, top, width, LANE - 6, fill=colours.grid, stroke=colours.border)
        drawing.text(_x(end) - 3 - width / 2, top + 13.5, str(item), fill=colours.muted, size=11.5, anchor="middle")


def _commits(drawing: Drawing, runs: list[tuple[float, list[int]]]) -> None:
    colours = drawing.colours
    _heading(drawing, COMMIT_TOP + 18, "Commit", "in order, exactly once")
    for time, items in runs:
        for place, item in enumerate(items):
            left = _x(time) + place * (CELL + 2)
            drawing.box(left, COMMIT_TOP, CELL, CELL, fill=colours.accent)
            middle = left + CELL / 2
            drawing.text(middle, COMMIT_TOP + 21, str(item), fill=colours.on_accent, anchor="middle", bold=True)
    y = COMMIT_TOP + CELL + 24
    note = (
        "Item 1 is slow, so 2, 3 and 4 wait for it. Item 4 lost its worker and ran again; no other item was affected."
    )
    drawing.text(LEFT, y, note, fill=colours.muted, size=11.5)
