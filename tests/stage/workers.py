"""Workers for the stages of the tests. They stand at the top level of a module, so that processes can have them too."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import inorder
from inorder.stage.context import StageContext


def shout(item: inorder.WorkItem, ctx: StageContext) -> dict[str, Any]:
    """The text of the source, in capitals."""
    text = Path(item.inputs["text"]).read_text(encoding="utf-8")
    ctx.output("loud").write_text(text.upper(), encoding="utf-8")
    return {"letters": sum(map(str.isalpha, text))}


def obey(item: inorder.WorkItem, ctx: StageContext) -> Any:
    """Leave a trace of the call, then do what the item says."""
    note(item)
    return DEEDS[item.meta["do"]](item, ctx)


def note(item: inorder.WorkItem) -> None:
    """One line, in one write: several processes may do it at once."""
    line = f"{item.item_id}\n".encode("utf-8", "backslashreplace")
    descriptor = os.open(item.meta["calls"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, line)
    os.close(descriptor)


def nothing(item: inorder.WorkItem) -> None:
    """Done."""


def flaky(item: inorder.WorkItem, ctx: StageContext) -> Any:
    """Fail as often as the item says, then work. How often it failed is kept in a file beside the source."""
    tries = Path(f"{item.inputs['text']}.tries")
    tried = len(tries.read_text()) if tries.exists() else 0
    tries.write_text("x" * (tried + 1))
    if tried < item.meta.get("failures", 1):
        raise ConnectionError("nobody answers")
    return shout(item, ctx)


def hang(item: inorder.WorkItem, ctx: StageContext) -> None:
    """Never end."""
    threading.Event().wait()


def wait_and_fail(item: inorder.WorkItem, ctx: StageContext) -> None:
    """Fail once another item has said that it is done, in whatever process that is."""
    Path(item.meta["pipe"]).read_text()
    raise ValueError("this one is bad")


def shout_and_tell(item: inorder.WorkItem, ctx: StageContext) -> Any:
    """Do the work, and say so to whoever waits for it."""
    made = shout(item, ctx)
    Path(item.meta["pipe"]).write_text("done")
    return made


def kill(item: inorder.WorkItem, ctx: StageContext) -> None:
    """Take the process down."""
    os.kill(os.getpid(), signal.SIGKILL)


def empty(item: inorder.WorkItem, ctx: StageContext) -> None:
    """Make an output with nothing in it."""
    ctx.output("loud").touch()


def write_and_fail(item: inorder.WorkItem, ctx: StageContext) -> None:
    """Make the output, and then fail."""
    shout(item, ctx)
    raise ValueError("this one is bad")


def write_and_skip(item: inorder.WorkItem, ctx: StageContext) -> inorder.Skip:
    """Make the output, and then say that there is nothing to do."""
    shout(item, ctx)
    return inorder.Skip("not wanted", {"pages": 3})


def touch_input(item: inorder.WorkItem, ctx: StageContext) -> Any:
    """Change the source under its own feet, as often as the item says."""
    tries = Path(f"{item.inputs['text']}.tries")
    tried = len(tries.read_text()) if tries.exists() else 0
    tries.write_text("x" * (tried + 1))
    made = shout(item, ctx)
    if tried < item.meta.get("failures", 10):
        with open(item.inputs["text"], "a", encoding="utf-8") as file:
            file.write("more\n")
    return made


def write_to_full_disk(item: inorder.WorkItem, ctx: StageContext) -> None:
    """Until the file that the item names is there, the device that is always full takes its output."""
    if os.path.exists(item.meta["room"]):
        shout(item, ctx)
        return
    with open("/dev/full", "wb") as file:
        file.write(b"more than there is room for")


def stage_error(item: inorder.WorkItem, ctx: StageContext) -> None:
    """Say whose fault it is."""
    raise inorder.StageError(
        "the model is not there",
        category=item.meta.get("category", "config"),
        retryable=item.meta.get("retryable", False),
    )


def raising(error: Exception) -> Callable[..., None]:
    def deed(item: inorder.WorkItem, ctx: StageContext) -> None:
        raise error

    return deed


class NotPicklable(Exception):
    """Cannot be sent from one process to another."""

    def __init__(self) -> None:
        super().__init__("it holds a lock")
        self.lock = threading.Lock()


def raise_anew(item: inorder.WorkItem, ctx: StageContext) -> None:
    """Fail with an exception that has no past."""
    raise ValueError("this one is bad")


def raise_not_picklable(item: inorder.WorkItem, ctx: StageContext) -> None:
    raise NotPicklable


DEEDS: dict[str, Callable[..., Any]] = {
    "shout": shout,
    "skip": write_and_skip,
    "fail": raising(ValueError("this one is bad")),
    "raise anew": raise_anew,
    "raise not picklable": raise_not_picklable,
    "write and fail": write_and_fail,
    "stage error": stage_error,
    "unreachable": raising(ConnectionError("nobody answers")),
    "full disk": write_to_full_disk,
    "disk": raising(OSError(5, "the disk is tired")),
    "odd": raising(Exception("never heard of it")),
    "flaky": flaky,
    "hang": hang,
    "kill": kill,
    "wait and fail": wait_and_fail,
    "shout and tell": shout_and_tell,
    "forget": lambda item, ctx: {},
    "empty": empty,
    "touch input": touch_input,
}


def setting_up(context: StageContext) -> None:
    """Once in every worker process."""
    context.resources["opened"] = os.getpid()
    path = Path(context.data) / "setups"
    with open(path, "a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")


def failing_setup(context: StageContext) -> None:
    raise RuntimeError("no model here")


def before(item: inorder.WorkItem, ctx: StageContext) -> None:
    """Leave something for the worker to find."""
    ctx.resources["prepared"] = item.item_id


def telling(item: inorder.WorkItem, ctx: StageContext) -> dict[str, Any]:
    """Say what was prepared, and where it was opened."""
    made = shout(item, ctx)
    opened = ctx.resources.get("opened")
    return made | {"prepared": ctx.resources.get("prepared"), "opened_here": opened == os.getpid()}


def leaving(*arguments: object) -> None:
    """A hook that wants to end the program."""
    raise SystemExit(3)


def interrupting(*arguments: object) -> None:
    """A hook that raises what Ctrl-C does."""
    raise KeyboardInterrupt


def count_two(items: object) -> int:
    return 2
