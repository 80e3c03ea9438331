"""Limits on the cells of a spreadsheet: a small file can have millions, and repeat a long text in each."""

from .package import EnoughError

CELLS_MAX = 2_000_000
"""Cells with a value per workbook: each takes about 400 bytes."""
CHARACTERS_MAX = 64 * 2**20
"""Characters in the cells of a workbook. Cells that share a text count it once each: so they are written."""
SEEN_MAX = 10_000_000
"""Cells per workbook, empty ones included: each takes about two microseconds."""


class CellBudget:
    """Cells and characters that the sheets of a workbook may still have."""

    def __init__(self) -> None:
        self._cells_left = CELLS_MAX
        self._characters_left = CHARACTERS_MAX
        self._seen_left = SEEN_MAX
        self._is_cut = False

    def see(self) -> None:
        """Count a cell that may be empty. Raises EnoughError if there are too many."""
        self._seen_left -= 1
        if self._seen_left < 0:
            self._is_cut = True
            raise EnoughError

    def take(self, characters: int) -> bool:
        """Whether one more cell with so many characters may be kept. If so, it is counted."""
        if self._cells_left < 1 or self._characters_left < characters:
            self._is_cut = True
            return False
        self._cells_left -= 1
        self._characters_left -= characters
        return True

    def take_warning(self) -> str:
        """What to say of a sheet since the last call; empty: it was read as a whole."""
        was_cut, self._is_cut = self._is_cut, False
        limits = f"{CELLS_MAX:,} cells and {CHARACTERS_MAX:,} characters"
        return f"was read only in part: a workbook may have {limits}" if was_cut else ""
