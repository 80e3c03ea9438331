"""Parameters of `imap` of earlier versions. They work with a warning; in version 0.4.0 this file goes."""

from typing import Any, Literal, TypedDict

import msgspec

from inorder.engines.error_table import Classify
from inorder.engines.ray.options import RayOptions
from inorder.errors import require
from inorder.host.caller import warn_caller

from .limits import Budgets, Windows
from .run_options import RunOptions

_PLACES = {"io": "threads", "cpu": "processes", "inline": "inline"}


class FormerOptions(TypedDict, total=False):
    """The names of 0.2."""

    policy: Literal["io", "cpu", "inline"]
    engine: Literal["local", "ray"]
    retry_backoff_s: float
    classify: Classify | None
    buffered_bytes_max: int
    windows: Windows | None
    budgets: Budgets | None
    schedule: Literal["fifo", "sjf"]
    memory_bytes_max: int | None
    recycle_tasks: int | None
    recycle_resident_bytes: int | None
    lease_s: float
    infrastructure_budget: int
    stall_warning_s: float
    cancel_grace_s: float
    ray: RayOptions | None
    fsync: Literal["always", "batch", "interval", "off"]


def read_former(former: FormerOptions, where: str | None, options: RunOptions | None) -> tuple[Any, RunOptions]:
    """Return `where` and the options that former names stand for, with a warning for each."""
    given: dict[str, Any] = dict(former)
    unknown = sorted(given.keys() - FormerOptions.__annotations__.keys())
    if unknown:
        raise TypeError(f"imap() got an unexpected keyword argument {unknown[0]!r}")
    policy, engine = given.pop("policy", None), given.pop("engine", None)
    if policy is not None or engine is not None:
        where = _find_place(policy, engine, where)
        _warn("imap(policy=..., engine=...)", f"where={where!r}")
    for name in given:
        _warn(f"imap({name}=...)", f"options=inorder.RunOptions({name}=...)")
    given = {name: value for name, value in given.items() if value is not None}
    return where, msgspec.structs.replace(options or RunOptions(), **given)


def _find_place(policy: Any, engine: Any, where: str | None) -> str:
    require(where is None, "where replaces policy and engine; leave those out")
    require(policy is None or policy in _PLACES, f"policy must be one of {', '.join(_PLACES)}, got {policy!r}")
    require(engine in (None, "local", "ray"), f"engine must be one of local, ray, got {engine!r}")
    if engine == "ray":
        require(policy != "inline", "where='ray' has processes, and policy='inline' none")
        found = "ray"
    else:
        found = _PLACES[policy or "io"]
    return found


def _warn(old: str, new: str) -> None:
    warn_caller(f"{old} is now {new}; the old name goes in 0.4", DeprecationWarning)
