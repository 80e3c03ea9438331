"""Tables of the page on lanes: options and words as the code declares them, outcomes as lanes are seen to give them."""

import ast
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest

from inorder.lanes import CancelToken, Lane, LaneConfig, Outcome
from inorder.lanes import config as config_module
from inorder.lanes import lane as lane_module
from inorder.lanes import outcomes as outcomes_module
from inorder.lanes import statistics as statistics_module
from inorder.lanes.waiters import ThreadWaker
from tests.specs.declared import fields_of
from tests.specs.pages import code, table

GUARD_S = 60.0
STRATEGIES = config_module.STRATEGIES


def options() -> str:
    fields = list(fields_of(config_module, "LaneConfig"))
    rows = [(code(field.name), code(field.default) if field.default else "required", field.meaning) for field in fields]
    return table(("option", "default", "reason"), rows)


def statistics() -> str:
    fields = fields_of(statistics_module, "LaneStatistics")
    return table(("field", "meaning"), [(code(field.name), field.meaning) for field in fields])


def reasons() -> str:
    return table(("reason", "meaning"), [(value, meaning) for value, meaning in _members(outcomes_module, "Reason")])


def states() -> str:
    return table(
        ("state", "meaning"), [(code(value), meaning) for value, meaning in _members(outcomes_module, "TaskState")]
    )


def _members(module: ModuleType, class_name: str) -> Iterator[tuple[str, str]]:
    """The members of an enumeration with the docstring under each."""
    tree = ast.parse(inspect.getsource(module))
    [found] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name]
    for node, after in zip(found.body, [*found.body[1:], None], strict=True):
        match node, after:
            case ast.Assign(value=ast.Constant(str() as value)), ast.Expr(ast.Constant(str() as text)):
                yield value, " ".join(text.split())
            case ast.Assign(value=ast.Constant(str() as value)), _:
                yield value, ""


# What lanes do


class WouldWait(Exception):
    """The submission came to wait."""


class RefusesToWait(ThreadWaker):
    """Stands in for a caller's gate: nobody waits here, it is only noted that one would."""

    def wait(self, timeout_s: float) -> None:
        raise WouldWait


@contextmanager
def standing_still() -> Iterator[tuple[list[Lane], threading.Event]]:
    """Lanes whose callers are seen to wait instead of waiting, on a clock that stands still; all closed at the end."""
    made: list[Lane] = []
    release = threading.Event()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lane_module, "ThreadWaker", RefusesToWait)
        try:
            yield made, release
        finally:
            release.set()
            for lane in made:
                lane.close(drain=False)


def _make(made: list[Lane], release: threading.Event, *, taken: bool, tokens: int = 0, **settings: Any) -> Lane:
    """A lane of one slot, taken or not, with so many tokens left (0: not limited)."""
    if tokens:
        settings = {"rate_per_s": 0.001, "burst": tokens, **settings}
    config = LaneConfig(**{"name": "lane", "max_concurrency": 1, "capacity": 0, **settings})
    lane = Lane(config, lambda: 0.0, find=lambda name: {lane.name: lane for lane in made}.get(name))
    made.append(lane)
    if taken:
        lane.submit(release.wait, GUARD_S)
    return lane


def _said(submit: Callable[[], Any]) -> str:
    try:
        ticket = submit()
    except WouldWait:
        return "waits"
    return code(ticket.outcome) if ticket.reason is None else f"{code(ticket.outcome)} ({ticket.reason})"


def outcome_rules() -> str:
    cancelled = CancelToken()
    cancelled.set()
    limited = {"taken": False, "spent": True}
    situations: list[tuple[str, dict[str, Any], Callable[[Lane], Any]]] = [
        ("a slot, and a token where one is needed", {"taken": False}, lambda lane: lane.submit(int)),
        ("no slot", {}, lambda lane: lane.submit(int)),
        ("no slot, deadline passed", {}, lambda lane: lane.submit(int, deadline_s=0)),
        ("no slot, `try_submit`", {}, lambda lane: lane.try_submit(int)),
        ("no token, `when_limited` is `wait`", limited, lambda lane: lane.submit(int)),
        ("no token, deadline passed", limited, lambda lane: lane.submit(int, deadline_s=0)),
        ("no token, `try_submit`", limited, lambda lane: lane.try_submit(int)),
        (
            "no token, `when_limited` is `reject`",
            {**limited, "when_limited": "reject"},
            lambda lane: lane.submit(int),
        ),
        ("no slot and no token", {"spent": True}, lambda lane: lane.submit(int)),
        ("cancelled by the caller", {"taken": False}, lambda lane: lane.submit(int, cancel=cancelled)),
        ("closed", {"taken": False, "closed": True}, lambda lane: lane.submit(int)),
        ("`waiting_max` reached, no slot", {"waiting_max": 0}, lambda lane: lane.submit(int)),
    ]
    rows = [
        (label, *(_in_situation(strategy, dict(settings), act) for strategy in STRATEGIES))
        for label, settings, act in situations
    ]
    return table(("the lane has", *(code(strategy) for strategy in STRATEGIES)), rows)


def _in_situation(strategy: str, settings: dict[str, Any], act: Callable[[Lane], Any]) -> str:
    taken, spent = settings.pop("taken", True), settings.pop("spent", False)
    closed = settings.pop("closed", False)
    with standing_still() as (made, release):
        _make(made, release, taken=False, name="other")
        if strategy == "redirect":
            settings["redirect_to"] = "other"
        lane = _make(made, release, taken=taken, tokens=int(spent), strategy=strategy, **settings)
        if spent and not taken:
            lane.submit(int).result(GUARD_S)
        if closed:
            lane.close()
        return _said(lambda: act(lane))


def redirect_rules() -> str:
    cancelled = CancelToken()
    situations: list[tuple[str, dict[str, Any] | None, Callable[[Lane], Any]]] = [
        ("has a slot", {"taken": False}, lambda lane: lane.submit(int)),
        ("is full, `drop`", {"strategy": "drop"}, lambda lane: lane.submit(int)),
        ("is full, `reject`", {"strategy": "reject"}, lambda lane: lane.submit(int)),
        ("is full, `block`, `try_submit`", {}, lambda lane: lane.try_submit(int)),
        ("is full, `block`, and the caller cancels", {}, lambda lane: _cancelled_there(lane, cancelled)),
        ("is full, `block`, and the deadline passes", {}, lambda lane: lane.submit(int, deadline_s=0)),
        (
            "has no token and rejects",
            {"taken": False, "tokens": 1, "when_limited": "reject"},
            lambda lane: lane.submit(int),
        ),
        ("is closed", {"taken": False, "closed": True}, lambda lane: lane.submit(int)),
        ("is not registered any more", None, lambda lane: lane.submit(int)),
        ("is full and redirects back", {"strategy": "redirect", "redirect_to": "lane"}, lambda lane: lane.submit(int)),
    ]
    rows = []
    for label, settings, act in situations:
        with standing_still() as (made, release):
            lane = _make(made, release, taken=True, strategy="redirect", redirect_to="other")
            other = None if settings is None else _target(made, release, dict(settings))
            before = None if other is None else _counted(other)
            said = _said(lambda act=act, lane=lane: act(lane))
            rows.append((label, said, "-" if other is None else _difference(before or {}, _counted(other))))
    return table(("the other lane", "here", "there"), rows)


def _target(made: list[Lane], release: threading.Event, settings: dict[str, Any]) -> Lane:
    closed = settings.pop("closed", False)
    tokens = settings.pop("tokens", 0)
    other = _make(made, release, taken=settings.pop("taken", True), tokens=tokens, name="other", **settings)
    if tokens:
        other.submit(int).result(GUARD_S)
    if closed:
        other.close()
    return other


def _cancelled_there(lane: Lane, cancel: CancelToken) -> Any:
    """Cancel in the moment in which the submission waits at the other lane."""

    class Cancelling(ThreadWaker):
        def wait(self, timeout_s: float) -> None:
            cancel.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lane_module, "ThreadWaker", Cancelling)
        return lane.submit(int, cancel=cancel)


def _counted(lane: Lane) -> dict[str, int]:
    counted = lane.statistics()
    return {outcome.value: getattr(counted, outcome.value) for outcome in Outcome}


def _difference(before: dict[str, int], after: dict[str, int]) -> str:
    return ", ".join(code(name) for name, count in after.items() if count > before.get(name, 0))
