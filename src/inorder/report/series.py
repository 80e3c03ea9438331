"""Series over time and over seqs whose size is bounded, whatever they are made of."""

from .model import POINTS_MAX, HeatMap, Series

COLUMNS_MAX = 160
ROWS_MAX = 80
_MOST = ("buffered_bytes", "resident_bytes", "active_workers")
"""Values of which an interval keeps the largest; of the others, the last."""
_VALUES = ("committed", "computed", *_MOST)


class SeriesBuilder:
    """Collects measurements. When there are too many, two neighbours become one."""

    def __init__(self, points_max: int = POINTS_MAX) -> None:
        self._points_max = points_max
        self._times: list[int] = []
        self._values: dict[str, list[int]] = {name: [] for name in _VALUES}
        self._group = 1
        self._pending = 0
        self.seen = 0

    def add(self, at_ms: int, **values: int | None) -> None:
        """Add a measurement. Times must not decrease."""
        self.seen += 1
        is_new = self._pending == 0 or not self._times
        self._pending = (self._pending + 1) % self._group
        if is_new:
            self._times.append(at_ms)
        else:
            self._times[-1] = at_ms
        for name, column in self._values.items():
            value = values.get(name)
            last = column[-1] if column else 0
            value = last if value is None else value
            if is_new:
                column.append(value)
            else:
                column[-1] = max(last, value) if name in _MOST else value
        if len(self._times) > self._points_max:
            self._merge()

    def _merge(self) -> None:
        count = len(self._times)
        self._times = [self._times[min(place + 1, count - 1)] for place in range(0, count, 2)]
        for name, column in self._values.items():
            pairs = ((column[place], column[min(place + 1, count - 1)]) for place in range(0, count, 2))
            self._values[name] = [max(pair) if name in _MOST else pair[1] for pair in pairs]
        self._group *= 2
        self._pending = 0

    def build(self) -> Series:
        """Return the series."""
        return Series(at_ms=self._times, seen=self.seen, **self._values)


class HeatMapBuilder:
    """Counts computed items by time and seq, in cells that grow with the run."""

    def __init__(self) -> None:
        self._column_ms = 20
        self._row_seqs = 1
        self._cells: dict[tuple[int, int], int] = {}

    def add(self, at_ms: int, seq: int, count: int) -> None:
        """Add items that were computed near this time and seq."""
        while at_ms // self._column_ms >= COLUMNS_MAX:
            self._column_ms *= 2
            self._fold(2, 1)
        while seq // self._row_seqs >= ROWS_MAX:
            self._row_seqs *= 2
            self._fold(1, 2)
        cell = at_ms // self._column_ms, seq // self._row_seqs
        self._cells[cell] = self._cells.get(cell, 0) + count

    def _fold(self, by_time: int, by_seq: int) -> None:
        folded: dict[tuple[int, int], int] = {}
        for (column, row), count in self._cells.items():
            cell = column // by_time, row // by_seq
            folded[cell] = folded.get(cell, 0) + count
        self._cells = folded

    def build(self) -> HeatMap:
        """Return the map."""
        cells = [(column, row, count) for (column, row), count in sorted(self._cells.items())]
        return HeatMap(
            column_ms=self._column_ms,
            row_seqs=self._row_seqs,
            columns=max((column for column, _, _ in cells), default=-1) + 1,
            rows=max((row for _, row, _ in cells), default=-1) + 1,
            cells=cells,
        )
