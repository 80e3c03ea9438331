"""`imap(journal=)`: goes on after any end, with the first result that its consumer did not come back from."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from inorder import BusyError, InfrastructureError, IntegrityError, ItemError, OperatorError, RunOptions, imap
from inorder.host.filesystem import SystemFile
from inorder.journal.scan import ScanVerdict, scan
from tests.iteration import resumable
from tests.support.options import for_imap
from tests.support.python_path import prepend_path

ROOT = Path(__file__).parents[2]
SETTINGS: dict[str, Any] = {"where": "inline"}


def double(number: int) -> int:
    return 2 * number


def triple(number: int) -> int:
    return 3 * number


def stumble_at_three(number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return number


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


def positions(path: Path, count: int = 10, function: Callable[[int], int] = double, **settings: Any) -> list[Any]:
    return list(imap(function, range(count), journal=path, **for_imap(**SETTINGS, **settings)))


def take(path: Path, wanted: int, count: int = 10) -> list[Any]:
    """Take so many results and go away; the last of them was not come back from."""
    results: Iterator[Any] = imap(double, range(count), journal=path, **SETTINGS)
    taken = list(islice(results, wanted))
    results.close()  # type: ignore[attr-defined]
    return taken


@pytest.mark.req("JRN-3")
@pytest.mark.parametrize("wanted", range(11))
def test_an_iteration_goes_on_with_the_first_result_that_nobody_came_back_from(path: Path, wanted: int) -> None:
    assert take(path, wanted) == [2 * number for number in range(wanted)]
    results = imap(double, range(10), journal=path, **SETTINGS)
    expected = max(0, wanted - 1)
    assert results.position == expected  # type: ignore[attr-defined]
    assert list(results) == [2 * number for number in range(expected, 10)]
    assert results.position == 10  # type: ignore[attr-defined]


def test_an_iteration_that_came_to_its_end_has_nothing_more_to_give(path: Path) -> None:
    assert len(positions(path)) == 10
    assert positions(path) == []


def test_items_that_were_added_at_the_end_are_done_by_the_next_call(path: Path) -> None:
    positions(path, 10)
    assert positions(path, 13) == [20, 22, 24]


@pytest.mark.req("JRN-3")
def test_items_that_were_committed_do_not_run_again(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    results = imap(resumable.double, range(10), journal=path, **SETTINGS)
    assert list(islice(results, 5)) == [0, 2, 4, 6, 8]
    results.close()  # type: ignore[attr-defined]
    (tmp_path / "calls").unlink()
    assert list(imap(resumable.double, range(10), journal=path, **SETTINGS)) == [8, 10, 12, 14, 16, 18]
    assert [int(line) for line in (tmp_path / "calls").read_text().split()] == list(range(4, 10))


def test_a_failed_item_ends_the_iteration_and_is_tried_again_by_the_next(path: Path) -> None:
    with pytest.raises(ItemError, match="three"):
        positions(path, function=stumble_at_three)
    results = imap(stumble_at_three, range(10), journal=path, **SETTINGS)
    assert results.position == 3  # type: ignore[attr-defined]
    with pytest.raises(ItemError, match="item 3 failed"):
        next(results)


def test_a_failed_item_that_was_yielded_and_come_back_from_is_committed(path: Path) -> None:
    found = positions(path, function=stumble_at_three, errors="yield")
    assert isinstance(found[3], ItemError)
    assert positions(path, function=stumble_at_three, errors="yield") == []


@pytest.mark.req("JRN-3")
def test_other_items_in_the_place_of_committed_ones_are_refused(path: Path) -> None:
    take(path, 5)
    with pytest.raises(OperatorError, match="the plan has changed: its first 4 items differ from those"):
        list(imap(double, [0, 1, 7, 3, 4, 5], journal=path, **SETTINGS))
    assert list(imap(double, range(10), journal=path, **SETTINGS)) == [2 * number for number in range(4, 10)]


@pytest.mark.req("JRN-3")
def test_fewer_items_than_were_committed_are_refused(path: Path) -> None:
    take(path, 5)
    with pytest.raises(OperatorError, match="the input has 2 items, and 4 are committed in the journal"):
        positions(path, 2)


@pytest.mark.req("JRN-3")
@pytest.mark.parametrize("other", [triple, partial(double), partial(pow, 2)])
def test_another_function_is_refused(path: Path, other: Callable[[int], int]) -> None:
    take(path, 5)
    with pytest.raises(
        OperatorError,
        match=r"was not created by imap with the function .*(triple|double\(\)|pow\(2\)); pass the function that",
    ):
        imap(other, range(10), journal=path, **SETTINGS)
    assert positions(path) == [2 * number for number in range(4, 10)]


def test_the_number_of_workers_may_change(path: Path) -> None:
    take(path, 5)
    rest = list(imap(double, range(10), journal=path, workers=3, where="threads"))
    assert rest == [2 * number for number in range(4, 10)]


@pytest.mark.parametrize(
    "items",
    [["a", "b"], [1.5, None], [(1, "x"), (2, "y")], [Path("/x"), Path("/y")], [{"b": 1, "a": 2}, {}], ["\udce9"]],
)
def test_items_of_plain_data_are_recognised(path: Path, items: list[Any]) -> None:
    assert list(imap(repr, items, journal=path, **SETTINGS)) == [repr(item) for item in items]
    assert list(imap(repr, items, journal=path, **SETTINGS)) == []


def test_items_that_cannot_be_recognised_need_a_key(path: Path) -> None:
    things = [object(), object()]
    with pytest.raises(OperatorError, match=r"pass key= to imap"):
        list(imap(id, things, journal=path, **SETTINGS))
    path.unlink()
    names = {id(thing): number for number, thing in enumerate(things)}
    keyed = partial(imap, id, things, journal=path, key=lambda thing: names[id(thing)], **SETTINGS)
    assert list(keyed()) == [id(thing) for thing in things]
    assert list(keyed()) == []


def test_two_iterations_on_one_journal_are_one_too_many(path: Path) -> None:
    first = imap(double, range(10), journal=path, **SETTINGS)
    next(first)
    with pytest.raises(BusyError, match=f"the journal .* is in use by process {os.getpid()}"):
        imap(double, range(10), journal=path, **SETTINGS)
    assert next(first) == 2
    first.close()  # type: ignore[attr-defined]
    assert positions(path) == [2 * number for number in range(1, 10)]


def test_options_of_a_journal_without_one_are_refused() -> None:
    with pytest.raises(OperatorError, match="key needs order='key' or journal=PATH"):
        imap(double, [1], key=str, where="threads")
    with pytest.raises(OperatorError, match="need journal=PATH"):
        imap(double, [1], where="threads", options=RunOptions(fsync="off"))


def test_an_unknown_policy_is_refused(path: Path) -> None:
    with pytest.raises(OperatorError, match="fsync must be one of always, batch, interval, off"):
        imap(double, [1], journal=path, where="threads", options=RunOptions(fsync="sometimes"))  # type: ignore[arg-type]
    assert not path.exists()


def test_a_file_that_is_no_journal_is_left_alone(path: Path) -> None:
    path.write_bytes(b"precious")
    with pytest.raises(IntegrityError, match="is not a journal of inorder"):
        positions(path)
    assert path.read_bytes() == b"precious"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "missing"
    with pytest.raises(OperatorError, match=f"there is no directory {folder} for the journal {folder}/run.journal"):
        imap(double, range(10), journal=folder / "run.journal", **SETTINGS)


def test_a_journal_may_be_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert positions(Path("run.journal"), 3) == [0, 2, 4]


@pytest.mark.parametrize("act", ["append", "sync"])
def test_a_disk_that_fails_stops_the_iteration_and_the_next_one_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    results = imap(double, range(10), journal=path, options=RunOptions(fsync="always"), **SETTINGS)
    assert [next(results) for _ in range(3)] == [0, 2, 4]

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(SystemFile, act, fail)
        with pytest.raises(InfrastructureError, match=r"cannot be written \(No space left on device\).*run again"):
            list(results)
    rest = positions(path, fsync="always")
    assert rest in ([2 * number for number in range(2, 10)], [2 * number for number in range(3, 10)])


def run_until(tmp_path: Path, count: int, where: str, fsync: str, die_at: int) -> int:
    environment = {**os.environ, "CALLS": str(tmp_path / "calls"), "PYTHONPATH": prepend_path(ROOT)}
    arguments = [
        sys.executable,
        "-m",
        "tests.iteration.resumable",
        str(tmp_path),
        str(count),
        where,
        fsync,
        str(die_at),
    ]
    return subprocess.run(arguments, env=environment, cwd=ROOT, timeout=60, check=False).returncode


@pytest.mark.process
@pytest.mark.req("JRN-7")
@pytest.mark.parametrize(("where", "fsync"), [("processes", "batch"), ("threads", "off"), ("inline", "always")])
def test_after_sigkill_only_the_result_that_was_not_come_back_from_is_delivered_again(
    tmp_path: Path, where: str, fsync: str
) -> None:
    count, deaths = 40, [0, 7, 8, 31, 39]
    for die_at in deaths:
        assert run_until(tmp_path, count, where, fsync, die_at) == -signal.SIGKILL
    assert run_until(tmp_path, count, where, fsync, -1) == 0
    results = [int(line) for line in (tmp_path / "results").read_text().split()]
    again = [2 * seq for seq in deaths]
    assert sorted(results) == sorted([*(2 * seq for seq in range(count)), *again])
    assert sorted(set(results)) == [2 * seq for seq in range(count)]
    assert scan((tmp_path / "journal").read_bytes()).verdict is ScanVerdict.CLEAN
