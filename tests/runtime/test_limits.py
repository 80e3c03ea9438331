"""What `Windows` and `Budgets` refuse, and what follows from the limits that a user gives."""

from typing import Any

import pytest

from inorder import Budgets, OperatorError, StageOptions, Windows

MIB = 2**20


@pytest.mark.parametrize(
    ("kind", "options", "complaint"),
    [
        (Windows, {"entries": 0}, "windows.entries must be between 1 and 65536, got 0"),
        (Windows, {"entries": 1.5}, "windows.entries must be an integer, got 1.5"),
        (Windows, {"entries": 4, "entries_min": 5}, "windows.entries_min must not be above windows.entries"),
        (Windows, {"entries": 4, "entries_max": 3}, "windows.entries must not be above windows.entries_max"),
        (Windows, {"entries_min": 9, "entries_max": 8}, "windows.entries_min must not be above windows.entries_max"),
        (Windows, {"cost_max": 0}, "windows.cost_max must be a number greater than 0, got 0"),
        (Windows, {"cost_max": float("inf")}, "windows.cost_max must be a number greater than 0, got inf"),
        (Windows, {"adaptive": True, "retries_max": 1}, "windows.adaptive and windows.retries_max cannot be combined"),
        (Budgets, {"window_bytes_soft": 0}, "budgets.window_bytes_soft must be between 1 and"),
        (Budgets, {"release_percent": 100}, "budgets.release_percent must be between 1 and 99, got 100"),
        (Budgets, {"commit_lag_soft": 2, "commit_lag_hard": 1}, "budgets.commit_lag_soft must not be above"),
        (StageOptions, {"windows": Budgets()}, "windows must be a Windows, got Budgets"),
        (StageOptions, {"budgets": {}}, "budgets must be a Budgets, got dict"),
        (
            StageOptions,
            {"budgets": Budgets(buffered_bytes_soft=11), "buffered_bytes_max": 10},
            "budgets.buffered_bytes_soft must not be above buffered_bytes_max, got 11 and 10",
        ),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_by_its_name(kind: Any, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(OperatorError) as error:
        kind(**options)
    assert str(error.value).startswith(complaint)


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        (Windows(), (1024, 64, 8192)),
        (Windows(entries=10), (10, 10, 8192)),
        (Windows(entries=20_000), (20_000, 64, 20_000)),
        (Windows(entries_min=2000), (2000, 2000, 8192)),
        (Windows(entries_max=100), (100, 64, 100)),
        (Windows(entries_max=10), (10, 10, 10)),
        (Windows(entries_min=9000), (9000, 9000, 9000)),
    ],
)
def test_the_bounds_of_adaptive_windows_follow_their_size(windows: Windows, expected: tuple[int, int, int]) -> None:
    made = windows.to_window_options(1024, 64)
    assert (made.entries, made.entries_min, made.entries_max) == expected


def test_marks_that_are_not_given_follow_the_budget_and_the_hard_marks() -> None:
    plain = Budgets().to_pressure_options(256 * MIB)
    assert (plain.buffered_bytes_soft, plain.buffered_bytes_hard) == (192 * MIB, 256 * MIB)
    assert (plain.window_bytes_soft, plain.window_bytes_hard) == (192 * MIB, 256 * MIB)
    assert plain.prefetch_bytes_max == 128 * MIB
    assert min(plain.commit_lag_soft, plain.resident_bytes_soft) == 2**62
    given = Budgets(window_bytes_soft=300 * MIB, commit_lag_soft=7, resident_bytes_hard=4000)
    marks = given.to_pressure_options(256 * MIB)
    assert (marks.window_bytes_soft, marks.window_bytes_hard) == (300 * MIB, 300 * MIB)
    assert (marks.commit_lag_soft, marks.commit_lag_hard) == (7, 2**62)
    assert (marks.resident_bytes_soft, marks.resident_bytes_hard) == (3000, 4000)
    tiny = Budgets().to_pressure_options(1)
    assert (tiny.buffered_bytes_soft, tiny.window_bytes_soft, tiny.prefetch_bytes_max) == (1, 1, 1)
