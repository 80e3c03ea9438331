"""Every option has a range, and a value outside it is one clear error that names the option."""

import math
from typing import Any

import msgspec
import pytest

from inorder.core.options import KernelOptions, PressureOptions, RetryOptions, WindowOptions, entries_for
from inorder.errors import OperatorError

PARTS: dict[str, type[Any]] = {
    "windows": WindowOptions,
    "pressure": PressureOptions,
    "retry": RetryOptions,
    "": KernelOptions,
}

OUT_OF_RANGE: dict[str, list[Any]] = {
    "windows.entries": [0, 63, 8193],
    "windows.entries_min": [0, -1, 2**20 + 1],
    "windows.entries_max": [0, 63, 2**20 + 1],
    "windows.span_max": [0, 2**24 + 1],
    "windows.cost_max": [0, -1.0, math.nan],
    "windows.bytes_max": [0, 2**62 + 1],
    "windows.lag_entries": [0, 2**24 + 1],
    "windows.plan_ahead": [0, 2**20 + 1],
    "pressure.buffered_bytes_soft": [0, 256 * 2**20 + 1],
    "pressure.buffered_bytes_hard": [0, 2**62 + 1],
    "pressure.window_bytes_soft": [0, 224 * 2**20 + 1],
    "pressure.window_bytes_hard": [0, 2**62 + 1],
    "pressure.prefetch_bytes_max": [0, 2**62 + 1],
    "pressure.commit_lag_soft": [0, 2**21 + 1],
    "pressure.commit_lag_hard": [0, 2**62 + 1],
    "pressure.resident_bytes_soft": [0, 2**61 + 1],
    "pressure.resident_bytes_hard": [0, 2**62 + 1],
    "pressure.release_ratio_percent": [0, 100],
    "retry.retries_max": [-1, 1001],
    "retry.window_retries_max": [-1, 2**30 + 1],
    "retry.backoff_ms": [-1, 30_001],
    "retry.backoff_ms_max": [-1, 86_400_001],
    "retry.seed": [-1, 2**64],
    "schedule": ["lifo", ""],
    "aged_ms": [-1, 2**40 + 1],
    "batch_max": [0, 2**16 + 1],
    "commit_run_max": [0, 2**20 + 1],
    "lease_ms": [3, 2**40 + 1],
    "infrastructure_budget": [-1, 2**30 + 1],
    "outage_ms_max": [-1, 2**40 + 1],
    "error_budget": [-1, 2**62 + 1],
    "on_budget": ["", "wait"],
    "expected_bytes": [-2, 2**40 + 1],
    "cancel_grace_ms": [-1, 2**40 + 1],
}

AT_THE_EDGE: dict[str, list[Any]] = {
    "windows.entries": [64, 8192],
    "windows.entries_min": [1, 1024],
    "windows.entries_max": [1024, 2**20],
    "windows.span_max": [1, 2**24],
    "windows.cost_max": [0.001, math.inf],
    "windows.bytes_max": [1, 2**62],
    "windows.lag_entries": [1, 2**24],
    "windows.plan_ahead": [1, 2**20],
    "pressure.buffered_bytes_soft": [1, 256 * 2**20],
    "pressure.buffered_bytes_hard": [192 * 2**20, 2**62],
    "pressure.release_ratio_percent": [1, 99],
    "retry.retries_max": [0, 1000],
    "retry.window_retries_max": [None, 0, 2**30],
    "retry.backoff_ms": [0, 30_000],
    "retry.seed": [0, 2**64 - 1],
    "schedule": ["fifo", "sjf"],
    "aged_ms": [0, 2**40],
    "batch_max": [1, 2**16],
    "commit_run_max": [1, 2**20],
    "lease_ms": [4, 2**40],
    "infrastructure_budget": [0, 2**30],
    "outage_ms_max": [0, 2**40],
    "error_budget": [None, 0, 2**62],
    "on_budget": ["stop", "drain"],
    "expected_bytes": [-1, 2**40],
    "cancel_grace_ms": [0, 2**40],
}


def pairs(table: dict[str, list[Any]]) -> list[tuple[str, Any]]:
    return [(name, value) for name, values in table.items() for value in values]


def make(name: str, value: object) -> object:
    part, _, field = name.rpartition(".")
    return PARTS[part](**{field: value})


@pytest.mark.parametrize(("name", "value"), pairs(OUT_OF_RANGE))
def test_an_option_out_of_range_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(OperatorError) as caught:
        make(name, value)
    assert str(caught.value).startswith(f"option {name} must be ")
    assert f"got {value!r}" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(("name", "value"), pairs(AT_THE_EDGE))
def test_an_option_at_the_edge_of_its_range_is_taken(name: str, value: object) -> None:
    assert getattr(make(name, value), name.rpartition(".")[2]) == value


@pytest.mark.req("RTY-2", "WIN-6")
def test_a_bound_of_retries_in_windows_that_follow_the_timing_is_refused() -> None:
    adaptive, bounded = WindowOptions(adaptive=True), RetryOptions(window_retries_max=0)
    with pytest.raises(OperatorError, match=r"windows\.adaptive and retry\.window_retries_max cannot be combined"):
        KernelOptions(windows=adaptive, retry=bounded)
    assert KernelOptions(windows=adaptive).windows.adaptive
    assert KernelOptions(retry=bounded).retry.window_retries_max == 0


def test_no_option_goes_without_a_range() -> None:
    named = {
        f"{part}.{field.name}".lstrip(".")
        for part, kind in PARTS.items()
        for field in msgspec.structs.fields(kind)
        if field.type is not bool and field.name not in PARTS
    }
    assert named == OUT_OF_RANGE.keys()


def test_options_are_values() -> None:
    assert KernelOptions() == KernelOptions(windows=WindowOptions(), pressure=PressureOptions(), retry=RetryOptions())
    assert KernelOptions(batch_max=7) != KernelOptions()
    assert "batch_max=7" in repr(KernelOptions(batch_max=7))
    with pytest.raises(AttributeError):
        KernelOptions().batch_max = 3


@pytest.mark.parametrize("value", [100.5, True, "64"])
def test_a_number_that_is_not_whole_is_refused_by_name(value: object) -> None:
    with pytest.raises(OperatorError, match=r"option windows\.entries must be a whole number"):
        WindowOptions(entries=value)  # type: ignore[arg-type]


def test_windows_grow_with_the_workers_up_to_a_limit() -> None:
    assert [entries_for(workers) for workers in (1, 16, 100, 1000, 5000)] == [1024, 1024, 6400, 64_000, 65_536]
