"""Every option that a user can set has an effect, through every door that it has.

The options are read from the code: the fields of `StageOptions` and `RayOptions`, the keys of `--set` (some are flags,
and all are variables of the environment and settings of `inorder.toml`), the parameters of `imap`, and the fields
of `RunOptions`. An option
without a row fails here by its name.

To add a row: write a probe in one of the files `*_rows.py`. A probe gets a `WiredRun`, in which the
option is set to one value through one door. It runs a stage (`run.run_stage(items, worker, **conditions)`), a command
(`run.command(...)`) or `imap` (`run.imap(function, items, **conditions)`), and returns what a user sees at the far end:
which items ran, what is in a file, when something happened by `run.time`; never what a dataclass holds. Then add an
`OptionRow(option, probe, [(value, what is seen), ...])`. The same row serves all doors of the option.

Nothing sleeps. `run.gate` holds a worker inside its item. `run.time.on_quiet` is called once when nothing can happen by
itself; from then on time passes as the kernel asks for it. A stage needs `policy="cpu"` to have worker processes, which
are doubles (`FakeProcess`).
"""

import inspect
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import inorder
from inorder.cli.options import EVERYDAY, SHARED
from inorder.cli.step_options import OWN
from tests.wiring.doors import COMMAND_DOORS, Door, WiredRun
from tests.wiring.imap_rows import IMAP_ROWS
from tests.wiring.own_rows import OWN_ROWS
from tests.wiring.row import OptionRow
from tests.wiring.server_rows import SERVER_ROWS
from tests.wiring.stage_rows import STAGE_ROWS
from tests.wiring.tuning_rows import TUNING_ROWS

pytestmark = pytest.mark.req("REA-1")
FLAG = Door.COMMAND_LINE
"""The door of options that people set every day. All others are set with `--set`."""
STRUCTS = {"ray": inorder.RayOptions, "windows": inorder.Windows, "budgets": inorder.Budgets}
"""Nested options of `StageOptions`."""
BUILTIN_ROWS = OWN_ROWS | SERVER_ROWS


def list_fields() -> Iterator[str]:
    for field in msgspec.structs.fields(inorder.StageOptions):
        nested = STRUCTS.get(field.name)
        if nested is None:
            yield field.name
        else:
            yield from (f"{field.name}.{each.name}" for each in msgspec.structs.fields(nested))


def list_doors() -> list[tuple[str, Door]]:
    """Every option, with every door that it has."""
    own = dict.fromkeys(name for options in OWN.values() for name in options)
    found = [(field, Door.STAGE_OPTIONS) for field in list_fields()]
    found += [
        (name, door) for name in (*SHARED, *own) for door in COMMAND_DOORS if name in EVERYDAY or door is not FLAG
    ]
    parameters = [*inspect.signature(inorder.imap).parameters][2:]
    names = [*parameters[: parameters.index("options")], *inorder.RunOptions.__struct_fields__]
    found += [(name, Door.IMAP) for name in names]
    return found


def find_row(option: str, door: Door) -> OptionRow:
    if door is Door.IMAP:
        rows, key = IMAP_ROWS, option
    elif option in BUILTIN_ROWS:
        rows, key = BUILTIN_ROWS, option
    else:
        is_command = door in COMMAND_DOORS and option != "quiet"
        rows, key = STAGE_ROWS | TUNING_ROWS, SHARED[option].field if is_command and option in SHARED else option
    assert key in rows, f"the option {option} ({door}) has no row in tests/wiring: see how to add one in test_wiring.py"
    return rows[key]


def list_cases() -> list[object]:
    """Every option and door as a case. A command of the pipeline starts processes."""
    process = {True: [pytest.mark.process], False: []}
    return [pytest.param(option, door, marks=process[option in BUILTIN_ROWS]) for option, door in list_doors()]


@pytest.mark.slow
@pytest.mark.parametrize(("option", "door"), list_cases(), ids=str)
def test_the_option_has_an_effect(option: str, door: Door, tmp_path: Path) -> None:
    row = find_row(option, door)
    results = []
    for number, (value, expected) in enumerate(row.seen):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            run = WiredRun(folder, patch, door, option, value)
            try:
                results.append(row.probe(run))
            finally:
                run.close()
        assert results[-1] == expected, f"{option}={value!r} through {door}:\n{run.stderr}"
    assert all(one != other for index, one in enumerate(results) for other in results[:index])


@pytest.mark.parametrize("rows", [STAGE_ROWS, TUNING_ROWS, BUILTIN_ROWS, IMAP_ROWS])
def test_every_row_belongs_to_an_option(rows: dict[str, OptionRow]) -> None:
    known = {option for option, _ in list_doors()} | set(list_fields())
    assert set(rows) <= known
