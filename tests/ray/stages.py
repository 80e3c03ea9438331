"""Workers for stages on nodes: they do what `tests.stage.workers.obey` does, and tell where: at `home`, or on a node,
with files `sent` along or `seen` there."""

import os
import time
from pathlib import Path
from typing import Any

import inorder
from inorder.stage.context import StageContext
from tests.stage.workers import obey
from tests.support.misbehaviour import wait_for


def placed(item: inorder.WorkItem, ctx: StageContext) -> Any:
    """Do what the item says."""
    time.sleep(item.meta.get("seconds", 0.0))
    made = obey(item, ctx)
    if not isinstance(made, dict):
        return made
    shelf = ctx.data / "shelf" / "book"
    known = {"shelf": shelf.read_text()} if shelf.exists() else {}
    is_seen = ctx.data.parent == Path(item.meta["calls"]).parent
    where = "home" if "RAY_RAYLET_PID" not in os.environ else "seen" if is_seen else "sent"
    return {**made, **known, "where": where}


def handing(item: inorder.WorkItem, ctx: StageContext) -> Any:
    """Hand something over, in a step, and then fail the first time; return what was handed over, and the inode of the
    input as the driver sees it."""
    ctx.begin_step("second")
    if ctx.partial is None:
        ctx.hand_over({"made": item.item_id})
        raise inorder.StageError("it stumbles", retryable=item.meta["do"] == "stumble")
    return {"partial": ctx.partial, "inode": ctx.stats["text"].inode}


def gathering(item: inorder.WorkItem, ctx: StageContext) -> Any:
    """The same, once the gate is open; until then show that a worker waits."""
    gate = Path(item.meta["gate"])
    (gate / f"{os.environ['RAY_RAYLET_PID']}.{os.getpid()}.here").touch()
    wait_for(str(gate / "go"))
    return placed(item, ctx)
