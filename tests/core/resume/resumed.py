"""Runs that go on from somewhere, for tests of the kernel."""

from typing import Any

from inorder.core.commands import Summary
from inorder.core.resume_point import ResumePoint, ResumeWindow
from tests.core.driver import Driver, options


def windows(*starts: int, entries: int = 4) -> tuple[ResumeWindow, ...]:
    """Open windows of four, each with the number that its place gives it."""
    return tuple(ResumeWindow(start // entries, start, entries) for start in starts)


def done_up_to(end: int, **known: Any) -> ResumePoint:
    """Everything below `end` has succeeded, unless told otherwise."""
    fields: dict[str, Any] = {"end": end, "succeeded": end, "windows": windows(end - end % 4)}
    return ResumePoint(**(fields | known))


def resumed(resume_point: ResumePoint, count: int, *, ended: bool = True, **limits: Any) -> Driver:
    """A driver that goes on from there, with its plan of `count` plain items planned."""
    driver = Driver(options(**limits), total=count if ended else None, resume_point=resume_point)
    driver.plan(count, ended=ended)
    return driver


def summary_of(driver: Driver) -> Summary:
    """How the run ended."""
    assert driver.kernel.summary is not None
    return driver.kernel.summary
