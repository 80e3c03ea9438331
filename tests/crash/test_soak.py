"""Crash seeds on the command line and as part of a soak, and the soak of real runs."""

from pathlib import Path

import pytest

from inorder.sim.__main__ import main
from inorder.sim.crash.runs import crash_seed
from inorder.sinks.outputs import OutputsSink
from tests.pipeline.runs import Library, write
from tools.soak import find_difference
from tools.soak import main as soak

FOUND_BY = 40
"""Seeds within which a mistake that loses files is found."""


def forget_to_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Published files are called safe, and are not."""
    monkeypatch.setattr(OutputsSink, "_sync_file", lambda self, path: None)


def test_a_crash_seed_always_ends_in_the_same_way() -> None:
    once, again = crash_seed(7), crash_seed(7)
    counts = [(each.case, each.broken_promise, each.losses, each.deaths, each.failures) for each in (once, again)]
    assert counts[0] == counts[1]


def test_a_soak_crashes_runs_too_and_says_how_often(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["soak", "--seconds", "0", "--first", "3"]) == 0
    told = capsys.readouterr().out
    assert "crash cases    1 (crash seeds 3 to 3)" in told
    [recovered] = [line for line in told.splitlines() if line.startswith("recovered ")]
    losses, deaths, failures = (int(word) for word in recovered.split() if word.isdigit())
    assert min(losses, deaths, failures) > 0


def test_a_soak_that_finds_something_ends_with_the_command_that_replays_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forget_to_sync(monkeypatch)
    assert any(main(["soak", "--seconds", "0", "--first", str(first)]) for first in range(FOUND_BY))
    told = capsys.readouterr().out
    assert "broke a promise: at first, before operation" in told
    seed = told.split("replay it with: python -m inorder.sim crash ")[1].split()[0]

    assert main(["crash", seed]) == 6
    again = capsys.readouterr().out
    assert f"crash seed {seed} broke a promise" in again
    assert "workers, JournalOptions(" in again


def test_a_good_crash_seed_says_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crash", "12"]) == 0
    told = capsys.readouterr().out
    assert "crash seed 12: " in told
    assert "power losses" in told


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["kill", "limit file sizes"])
def test_a_turn_of_real_runs_that_are_disturbed_says_what_it_did(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert soak(["--turns", "1", "--first", "7", "--disturbances", "3", "--only", kind]) == 0, capsys.readouterr().out
    told = capsys.readouterr().out
    assert "real runs: 1 turns (seeds 7 to 7), 0 findings" in told
    assert sum(int(line.split()[0]) for line in told.splitlines() if f"  {kind}, " in line) == 3


@pytest.mark.process
@pytest.mark.slow
def test_a_file_that_one_of_two_libraries_lacks_is_a_difference(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    write(docs, **{f"{name}.md": f"# {name}\n\nThe lamp of {name}." for name in ("ash", "elm")})
    folders = [tmp_path / name for name in ("one", "other", "less")]
    for folder in folders:
        if folder.name == "less":
            (docs / "elm.md").unlink()
        Library(folder / "data").run(docs)
    one, other, less = folders
    assert find_difference(one, other) == ""
    assert find_difference(one, less) == "content_hash"
