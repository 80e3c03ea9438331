"""The simulator on the command line."""

import pytest

from inorder.core.retry import WindowRetries
from inorder.sim.__main__ import main


def test_a_failing_seed_prints_the_command_that_replays_it_and_a_transcript(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(WindowRetries, "is_exhausted", lambda self, seq: False)
    assert main(["hunt", "--count", "300"]) == 6
    told = capsys.readouterr().out
    assert "broke a promise" in told
    seed = told.split("replay it with: python -m inorder.sim run ")[1].split()[0]
    assert "seqs=[0] attempts=[1]" in told.partition("> Dispatch worker=")[2].partition("\n")[0]

    assert main(["run", seed]) == 6
    again = capsys.readouterr().out
    assert "seqs=[0] attempts=[1]" in again.partition("> Dispatch worker=")[2].partition("\n")[0]
    assert f"seed {seed} broke a promise" in again


def test_a_good_seed_ends_with_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "12"]) == 0
    assert "> Ended summary=Summary(" in capsys.readouterr().out


@pytest.mark.slow
def test_a_soak_says_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["soak", "--seconds", "0"]) == 0
    told = capsys.readouterr().out
    for word in ("schedules", "events", "crashes", "faults", "marks hit"):
        assert word in told


def test_exploring_says_how_many_interleavings_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "--items", "2", "--faults", "1"]) == 0
    assert "interleavings" in capsys.readouterr().out


def test_an_interleaving_that_breaks_a_promise_is_told_choice_by_choice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(WindowRetries, "is_exhausted", lambda self, seq: False)
    assert main(["explore", "--items", "1", "--faults", "2", "--batch-limit", "1"]) == 6
    told = capsys.readouterr().out
    assert "fails" in told
    assert "broke a promise" in told
