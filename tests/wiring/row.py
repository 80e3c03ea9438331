"""One row of the table of options."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tests.wiring.doors import WiredRun

Probe = Callable[[WiredRun], Any]
"""Runs something with the option set, and returns what a user would see."""


class OptionRow(NamedTuple):
    """An option, what it is set to, and what is then seen at the far end."""

    option: str
    """The field of `StageOptions` (`ray.cpus` for a nested one), the option of the command line, or the parameter of
    `imap`."""
    probe: Probe
    seen: Sequence[tuple[Any, Any]]
    """Values and what the probe must return for each. No two of these results may be equal."""


def index_rows(*rows: OptionRow) -> dict[str, OptionRow]:
    """Rows by option."""
    found = {row.option: row for row in rows}
    assert len(found) == len(rows), "an option has two rows"
    return found
