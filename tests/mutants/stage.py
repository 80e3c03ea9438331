"""Bugs in the stage runner."""

from tests.mutants.mutant import Mutant

STAGE_MUTANTS: tuple[Mutant, ...] = (
    # ---- autoscaling
    Mutant(
        "slow items never raise the number of workers",
        "stage/autoscale.py",
        "if sample.is_saturated and not sample.is_failing:",
        "if False:",
        "tests/stage/test_autoscale.py::test_it_rises_for_items_of_half_a_second_and_for_items_of_minutes",
    ),
    Mutant(
        "the number of workers rises while a worker is idle",
        "stage/autoscale.py",
        "if sample.is_saturated and not sample.is_failing:",
        "if not sample.is_failing:",
        "tests/stage/test_autoscale.py::test_it_does_not_rise_for_slow_items_while_a_worker_is_idle_or_failures_are_frequent",
    ),
)
