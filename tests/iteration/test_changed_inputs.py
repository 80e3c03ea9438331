"""`imap(journal=, key=)` over an input that changes between two runs, and a journal whose function was edited."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder import OperatorError, imap
from inorder.host.filesystem import SystemFilesystem
from inorder.journal.records import Header
from inorder.runtime.recovery import replace_header, resume_journal
from tests.support.python_path import prepend_path

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("KILLS", "5"))
"""How often a program is killed; `make kills` sets more."""
pytestmark = pytest.mark.req("API-2")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


def shout(name: str) -> str:
    return name.upper()


def take(path: Path, items: list[Any], wanted: int | None = None, key: Any = str, **options: Any) -> list[Any]:
    """Take so many results and commit them; None: all."""
    with imap(shout, items, where="inline", journal=path, key=key, **options) as results:
        taken = []
        for result in results:
            if len(taken) == wanted:
                break
            taken.append(result)
        return taken


def test_items_that_were_inserted_come_and_items_that_were_removed_do_not(path: Path) -> None:
    assert take(path, ["b", "d", "f", "h"], 2) == ["B", "D"]
    assert take(path, ["a", "b", "c", "f", "g"], 2) == ["A", "C"]
    assert take(path, ["g", "z", "f", "b", "d"]) == ["G", "Z", "F"]


def test_an_item_that_comes_twice_is_delivered_twice(path: Path) -> None:
    assert take(path, ["a", "b", "a", "c"], 2) == ["A", "B"]
    assert take(path, ["c", "a", "b", "a"]) == ["C", "A"]


def test_the_position_counts_the_results_of_all_runs(path: Path) -> None:
    take(path, ["a", "b", "c"], 2)
    with imap(shout, ["x", "a", "b", "c"], where="inline", journal=path, key=str) as results:
        assert results.position == 2
        assert next(results) == "X"
        assert results.position == 3


def test_an_exception_of_key_names_its_item(path: Path) -> None:
    with pytest.raises(KeyError) as caught:
        take(path, ["a", "b", "c"], key={"a": 1, "b": 2}.__getitem__)
    assert caught.value.__notes__ == ["key raised this for the item 'c'"]


def test_a_failed_item_that_was_yielded_is_committed_and_names_its_place(path: Path) -> None:
    def fail_at_b(name: str) -> str:
        return str({"a": 1, "c": 3}[name])

    options: dict[str, Any] = {"where": "inline", "journal": path, "key": str, "errors": "yield"}
    with imap(fail_at_b, ["a", "b"], **options) as results:
        found = list(results)
    assert isinstance(found[1], inorder.ItemError)
    assert found[1].seq == 1
    assert [str(each) for each in imap(fail_at_b, ["b", "c", "a"], **options)] == ["3"]


def test_a_complete_journal_says_that_it_is_complete(path: Path) -> None:
    assert take(path, ["a", "b"]) == ["A", "B"]
    with pytest.warns(RuntimeWarning, match=r"run.journal is complete: every result was delivered; remove it to"):
        assert take(path, ["b", "a"]) == []
    assert take(path, ["a", "c", "b"]) == ["C"]


def test_a_complete_journal_without_keys_says_so_too(path: Path) -> None:
    options: dict[str, Any] = {"where": "inline", "journal": path}
    assert list(imap(shout, "ab", **options)) == ["A", "B"]
    with pytest.warns(RuntimeWarning, match="is complete") as warned:
        assert list(imap(shout, "ab", **options)) == []
    assert [each.filename for each in warned] == [__file__]


def test_without_keys_a_changed_input_is_one_line_that_says_what_to_do(path: Path) -> None:
    with imap(shout, "abcd", where="inline", journal=path) as results:
        assert [next(results) for _ in range(3)] == ["A", "B", "C"]
    with pytest.raises(OperatorError) as caught:
        list(imap(shout, "xabcd", where="inline", journal=path))
    assert str(caught.value) == (
        "the plan has changed: its first 2 items differ from those committed in the journal; resume with the same "
        "items, or start over with another journal, and with key= if items come and go"
    )


def test_an_input_that_is_shorter_now_is_one_line_that_says_what_to_do(path: Path) -> None:
    assert list(imap(shout, "abcd", where="inline", journal=path)) == ["A", "B", "C", "D"]
    for items in ("ab", ""):
        with pytest.raises(OperatorError) as caught:
            list(imap(shout, items, where="inline", journal=path))
        assert str(caught.value) == (
            f"the input has {len(items)} items, and 4 are committed in the journal; resume with the same items, or "
            "start over with another journal, and with key= if items come and go"
        )


def test_what_an_input_raises_before_the_items_end_that_are_committed_is_raised(path: Path) -> None:
    def read() -> Iterator[str]:
        yield "a"
        raise ConnectionError("no database")

    assert list(imap(shout, "abc", where="inline", journal=path)) == ["A", "B", "C"]
    with pytest.raises(ConnectionError, match="no database"):
        list(imap(shout, read(), where="inline", journal=path))


def test_a_journal_without_keys_cannot_have_them_later(path: Path) -> None:
    with imap(shout, "abcd", where="inline", journal=path) as results:
        assert [next(results) for _ in range(3)] == ["A", "B", "C"]
    with pytest.raises(OperatorError, match="was created without key=, and has no keys of what was delivered; leave"):
        imap(shout, "abcd", where="inline", journal=path, key=str)
    assert list(imap(shout, "abcd", where="inline", journal=path)) == ["C", "D"]


def test_a_journal_of_version_0_2_goes_on_with_its_key(path: Path) -> None:
    with imap(shout, "abcd", where="inline", journal=path) as results:
        assert [next(results) for _ in range(3)] == ["A", "B", "C"]
    filesystem = SystemFilesystem()
    opened = resume_journal(filesystem, str(path), None, ())
    header = opened.writer.state.header
    assert header is not None
    replace_header(filesystem, str(path), opened.writer, Header(header.run_id, "", header.plan_hash))
    opened.writer.close()
    assert list(imap(shout, "abcd", where="inline", journal=path, key=str)) == ["C", "D"]


def test_a_journal_with_keys_needs_them(path: Path) -> None:
    take(path, ["a", "b"], 1)
    with pytest.raises(OperatorError, match="was created with key=; pass the same key, or another journal"):
        list(imap(shout, ["a", "b"], where="inline", journal=path))


def test_a_key_that_changes_is_one_line(path: Path) -> None:
    def forget(item: list[int]) -> int:
        return item.pop()

    with pytest.raises(OperatorError, match=r"key returned another value than before for the item \[1\]"):
        list(imap(forget, [[1, 2], [3, 4]], where="inline", journal=path, key=len))


def test_a_key_that_is_no_plain_data_is_one_line(path: Path) -> None:
    with pytest.raises(OperatorError, match="a journal cannot identify the item 'a' after a restart: object is not"):
        list(imap(shout, ["a"], where="inline", journal=path, key=lambda item: object()))


def test_keys_that_were_damaged_are_found(path: Path) -> None:
    take(path, ["a", "b", "c", "d"], 3)
    keys = path.with_name("run.journal.keys")
    data = bytearray(keys.read_bytes())
    assert len(data) == 3 * 16
    data[20] ^= 1
    keys.write_bytes(data)
    with pytest.raises(inorder.IntegrityError, match=r"keys, which says what was delivered, was damaged or cut; rest"):
        take(path, ["a", "b", "c", "d"])


def test_keys_that_were_cut_are_found(path: Path) -> None:
    take(path, ["a", "b", "c", "d"], 3)
    os.truncate(f"{path}.keys", 16)
    with pytest.raises(inorder.IntegrityError, match=r"keys, which says what was delivered, was damaged or cut; rest"):
        take(path, ["a", "b", "c", "d"])


def test_keys_that_are_missing_are_found(path: Path) -> None:
    take(path, ["a", "b", "c", "d"], 3)
    os.unlink(f"{path}.keys")
    for _ in range(2):
        with pytest.raises(inorder.IntegrityError, match=r"run.journal.keys is missing, which says what was delivered"):
            take(path, ["a", "b", "c", "d"])


def test_the_end_of_the_keys_that_a_power_failure_took_is_named_and_delivered_again(path: Path, tmp_path: Path) -> None:
    results = imap(shout, ["a", "b", "c", "d"], where="inline", journal=path, key=str)
    assert [next(results) for _ in range(4)] == ["A", "B", "C", "D"]
    copy = tmp_path / "copy.journal"  # as it is before the first checkpoint
    copy.write_bytes(path.read_bytes())
    Path(f"{copy}.keys").write_bytes(Path(f"{path}.keys").read_bytes()[:20])
    results.close()
    with pytest.warns(
        RuntimeWarning, match=r"the end of .*copy.journal.keys was lost: 2 results are delivered again"
    ) as warned:
        assert take(copy, ["a", "b", "c", "d"]) == ["B", "C", "D"]
    assert [each.filename for each in warned] == [__file__]


def test_another_key_function_is_refused(path: Path) -> None:
    take(path, ["a", "b", "c"], 2)
    with pytest.raises(OperatorError) as caught:
        take(path, ["a", "b", "c"], key=lambda item: (item, 1))
    assert str(caught.value) == (
        f"the code of key= has changed since the journal {path} was created, and items whose keys are others now would "
        "be delivered again; pass the key that it was created with, or another journal to start over; if the keys are "
        "the same, pass version=, a text of your choice"
    )
    with pytest.raises(OperatorError, match="the code of key= has changed"):
        take(path, ["a", "b", "c"], key=repr)
    assert take(path, ["a", "b", "c"]) == ["C"]


def test_another_key_function_with_a_version_is_a_warning(path: Path) -> None:
    take(path, ["a", "b", "c", "d"], 2)
    with pytest.warns(RuntimeWarning, match="the code of key= has changed .*; items whose keys are") as warned:
        assert take(path, ["a", "b", "c", "d"], 1, key=lambda item: f"{item}", version="1") == ["C"]
    assert [each.filename for each in warned] == [__file__]
    assert take(path, ["a", "b", "c", "d"], key=lambda item: f"{item}", version="1") == ["D"]


@pytest.mark.parametrize("indexes", [(0, 1), (1, 0)])
def test_another_field_as_the_key_is_refused(path: Path, indexes: tuple[int, int]) -> None:
    before, after = (itemgetter(index) for index in indexes)
    rows = [("a", "x"), ("b", "y")]
    with imap(repr, rows, where="inline", journal=path, key=before) as results:
        next(results)
    with pytest.raises(OperatorError, match="the code of key= has changed"):
        imap(repr, rows, where="inline", journal=path, key=after)


# ---- An edited function


def edit(path: Path, before: Callable[..., Any], after: Callable[..., Any], **options: Any) -> list[Any]:
    """Begin with one function, and go on with the other."""
    for function in (before, after):
        function.__qualname__ = "work"
    with imap(before, [1, 2, 3], where="inline", journal=path, **options) as results:
        next(results)
        next(results)
    return list(imap(after, [1, 2, 3], where="inline", journal=path, **options))


def helper_of(factor: int) -> Callable[[int], int]:
    return lambda item: item * factor


def test_an_edited_function_is_one_line_that_names_the_choice(path: Path) -> None:
    with pytest.raises(OperatorError) as caught:
        edit(path, lambda item: item * 2, lambda item: item * 100)
    assert str(caught.value) == (
        "the code of tests.iteration.test_changed_inputs.work, or a constant that it uses, has changed since the "
        f"journal {path} was created; to go on with the results that it has, pass version=, a text of your choice; to "
        "start over, pass another journal"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda item, by=2: item * by, lambda item, by=3: item * by),
        (helper_of(2), helper_of(3)),
        (lambda item: (lambda: item + 1)(), lambda item: (lambda: item + 2)()),
        (lambda item: abs(item), lambda item: hash(item)),
    ],
    ids=["default", "closure", "inner function", "name"],
)
def test_every_part_of_the_code_counts(path: Path, before: Any, after: Any) -> None:
    with pytest.raises(OperatorError, match=r"the code of .*, or a constant that it uses, has changed"):
        edit(path, before, after)


@pytest.mark.process
def test_a_function_of_the_module_that_it_uses_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
import sys, inorder
def helper(item): return item {}
def work(item): return helper(item)
for result in inorder.imap(work, [1, 2, 3], where="inline", journal="journal"):
    print(result)
    if "stop" in sys.argv: break
"""

    def run(edited: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "program.py").write_text(program.format(edited))
        command = [sys.executable, "program.py", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run("* 2", "stop").stdout == "2\n"
    assert run("* 2  # a comment", "stop").stdout == "2\n"
    assert "the code of __main__.work, or a constant that it uses, has changed" in run("* 100").stderr
    assert run("* 2").stdout.split() == ["2", "4", "6"]


def test_with_a_version_the_code_may_change_and_the_version_may_not(path: Path) -> None:
    assert edit(path, lambda item: item * 2, lambda item: item * 100, version="1") == [200, 300]


@pytest.mark.parametrize("key", [None, str], ids=["without keys", "with keys"])
def test_the_version_of_a_journal_is_needed_from_then_on(path: Path, key: Any) -> None:
    def take_one(**options: Any) -> str:
        with imap(shout, "abcdef", where="inline", journal=path, key=key, **options) as results:
            found = next(results)
            next(results)
        return found

    assert take_one() == "A"
    assert take_one(version="1") == "B"
    for other in ({}, {"version": "2"}):
        with pytest.raises(OperatorError) as caught:
            take_one(**other)
        assert str(caught.value) == (
            f"the journal {path} belongs to version='1' of tests.iteration.test_changed_inputs.shout; "
            "pass that version to go on with its results, or another journal to start over"
        )
    assert take_one(version="1") == "C"


def test_a_mutable_value_that_a_function_closes_over_is_no_part_of_it(path: Path) -> None:
    seen: list[int] = []

    def note(item: int) -> int:
        seen.append(item)
        return item

    assert edit(path, note, note) == [2, 3]


def test_a_partial_and_an_object_have_code_too(path: Path) -> None:
    class Scale:
        def __call__(self, item: int) -> int:
            return item * 2

    with imap(partial(round, ndigits=1), [1.25, 2.5], where="inline", journal=path) as results:
        next(results)
    assert list(imap(partial(round, ndigits=1), [1.25, 2.5], where="inline", journal=path)) == [1.2, 2.5]
    assert list(imap(Scale(), [1, 2], where="inline", journal=path.with_name("other"))) == [2, 4]


# ---- Kills


def live(folder: Path, die_after: int, where: str) -> int:
    environment = {**os.environ, "PYTHONPATH": prepend_path(ROOT)}
    command = [sys.executable, "-m", "tests.iteration.changing", str(folder), str(die_after), where]
    return subprocess.run(command, env=environment, cwd=ROOT, timeout=60, check=False).returncode


@pytest.mark.process
@pytest.mark.timeout(60 + 10 * KILLS)
@pytest.mark.parametrize("where", ["inline", "processes"])
def test_killed_again_and_again_while_items_come_and_go_none_is_lost_and_one_is_repeated_per_kill(
    tmp_path: Path, where: str
) -> None:
    rng = random.Random(f"changed inputs, {where}")
    names = {f"item{number}" for number in range(40)}
    ever = set(names)
    removed: set[str] = set()
    kills = 0
    for number in range(KILLS):
        (tmp_path / "items").write_text("\n".join(sorted(names, key=lambda _: rng.random())))
        kills += live(tmp_path, rng.randrange(0, 6), where) == -signal.SIGKILL
        inserted = {f"new{number}-{each}" for each in range(6)}
        gone = set(rng.sample(sorted(names), 3))
        names = (names | inserted) - gone
        ever |= inserted
        removed |= gone
    (tmp_path / "items").write_text("\n".join(sorted(names)))
    assert live(tmp_path, -1, where) == 0
    found = Counter((tmp_path / "results").read_text().split())
    assert kills == KILLS
    assert {name.upper() for name in names} <= found.keys() <= {name.upper() for name in ever}
    assert sum(count - 1 for count in found.values()) <= kills
