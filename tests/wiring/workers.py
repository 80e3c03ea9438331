"""Workers that are sent to worker processes by name, and items for them."""

import os
from pathlib import Path
from typing import Any

import inorder


def items(count: int, **fields: Any) -> list[inorder.WorkItem]:
    """Items without files."""
    return [inorder.WorkItem(item_id=f"item-{number}", **fields) for number in range(count)]


def do_nothing(item: Any) -> None:
    """Succeed."""


def fail(item: Any) -> None:
    """Fail in a way that another attempt could mend."""
    raise inorder.StageError("not now", category="provider", retryable=True)


def lose_server(item: Any) -> None:
    """Find a server down that asks for ten seconds."""
    raise inorder.StageError("busy", category="provider", retryable=True, retry_after_s=10, outage="http://server")


def name_process(item: Any) -> dict[str, int]:
    """Say where the item ran."""
    return {"ran_in": os.getpid()}


def write_output(item: inorder.WorkItem, ctx: inorder.StageContext) -> None:
    """Write the one output of the item."""
    Path(ctx.output("out")).write_text("made")
