"""Stages for the tests of the command line. Their worker does what its input says.

The tests copy this file beside their sources, as `jobs.py`: it is a module that somebody has in the current folder. So
it imports nothing but the library.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import inorder


def items_of(sources: list[Path]) -> Iterator[inorder.WorkItem]:
    """An item a file. `config` in the current folder stands for the options that results depend on."""
    cfg_hash = Path("config").read_text() if Path("config").exists() else ""
    for source in sources:
        for path in sorted(source.rglob("*.txt")):
            name = path.relative_to(source).as_posix()
            outputs = {"count": "../outside" if path.read_text() == "outside" else f"counts/{name}"}
            if path.read_text() == "bare":
                outputs = {}
            yield inorder.WorkItem(item_id=name, inputs={"text": path}, outputs=outputs, cfg_hash=cfg_hash)


def plan(sources: list[Path], data: Path) -> inorder.StagePlan:
    items = list(items_of(sources))
    return inorder.StagePlan("count", items, len(items))


def lazy_plan(sources: list[Path], data: Path) -> inorder.StagePlan:
    return inorder.StagePlan("lazy", items_of(sources))


def broken_plan(sources: list[Path], data: Path) -> inorder.StagePlan:
    raise LookupError("no items today")


def breaking_plan(sources: list[Path], data: Path) -> inorder.StagePlan:
    def items() -> Iterator[inorder.WorkItem]:
        yield from items_of(sources)
        raise LookupError("the list was cut off")

    return inorder.StagePlan("breaking", items())


def calls_of(name: str) -> int:
    """How often this item was begun, by now."""
    return Path("calls").read_text().split("\n").count(name)


def work(item: inorder.WorkItem, ctx: Any) -> Any:
    """Do what the input says."""
    with open("calls", "a", encoding="utf-8") as calls:
        calls.write(f"{item.item_id}\n")
    text = Path(item.inputs["text"]).read_text()
    verb, _, rest = text.partition(" ")
    match verb:
        case "fail":
            raise inorder.StageError(f"told to fail with {rest}", category=rest)
        case "raise":
            raise ERRORS[rest]()
        case "flaky":
            if calls_of(item.item_id) < int(rest):
                raise ConnectionError("not yet")
        case "hang":
            threading.Event().wait()
        case "hold":
            ctx.progress(31, 900, "page")
            hold(item.item_id)
        case "skip":
            return inorder.Skip(rest)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "print":
            print(rest)
        case "warn":
            ctx.warn(rest)
        case "many":
            ctx.output("count").write_bytes(b"m" * int(rest))
            return None
    if item.outputs and verb != "forget":
        ctx.output("count").write_text("" if verb == "empty" else f"{len(text.split())}\n")
    return {"words": len(text.split())}


class Custom(Exception):
    """Of a class that the library does not know."""


ERRORS: dict[str, Callable[[], Exception]] = {
    "404": lambda: HTTPError("http://server", 404, "not found", Message(), None),
    "429": lambda: HTTPError("http://server", 429, "too many requests", Message(), None),
    "503": lambda: HTTPError("http://server", 503, "not now", Message(), None),
    "program": lambda: subprocess.CalledProcessError(3, ["convert"]),
    "custom": lambda: Custom("?"),
    "reset": lambda: ConnectionResetError("reset"),
    "retryable": lambda: inorder.StageError("busy", category="runtime", retryable=True),
}


def retry_custom(error: BaseException) -> tuple[str, bool] | None:
    """A mapping above that of the library."""
    return ("runtime", True) if isinstance(error, Custom) else None


def hold(name: str) -> None:
    """Tell that the item is here, and stay until the test lets it go. Both are pipes with a name."""
    with open(f"gates/{name}.here", "w", encoding="ascii") as here:
        here.write("here")
    with open(f"gates/{name}.go", encoding="ascii") as go:
        go.read()


def raise_in_hook(*_: Any) -> None:
    raise RuntimeError("the hook is broken")


count = inorder.Stage(name="count", plan=plan, worker=work)
lazy = inorder.Stage(name="lazy", plan=lazy_plan, worker=work)
broken = inorder.Stage(name="broken", plan=broken_plan, worker=work)
breaking = inorder.Stage(name="breaking", plan=breaking_plan, worker=work)
misnamed = inorder.Stage(name="misnamed", plan=plan, worker=work)
device = inorder.Stage(name="count", plan=plan, worker=work, options=inorder.StageOptions(policy="gpu", retries=3))
hasty = inorder.Stage(name="count", plan=plan, worker=work, options=inorder.StageOptions(cancel_grace_s=0.05))
patient = inorder.Stage(name="count", plan=plan, worker=work, options=inorder.StageOptions(cancel_grace_s=3600))
chatty = inorder.Stage(name="count", plan=plan, worker=work, options=inorder.StageOptions(diagnostics_interval_s=0.02))
mapped = inorder.Stage(
    name="count", plan=plan, worker=work, options=inorder.StageOptions(classify=retry_custom, retries=1)
)
hooked = inorder.Stage(
    name="count",
    plan=plan,
    worker=work,
    hooks=inorder.StageHooks(
        before_stage=raise_in_hook,
        after_stage=raise_in_hook,
        before_item=raise_in_hook,
        after_item=raise_in_hook,
        worker_setup=raise_in_hook,
    ),
)
not_a_stage = 42
