"""A stage in one page: every text, in capitals.

    inorder stage examples.shout:stage SRC... --data DATA

Run it again and nothing is done; change a text and that one is; kill it and the same command goes on.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inorder

ENDING = "!"
CONFIG = hashlib.sha256(f"shout 1 {ENDING}".encode()).hexdigest()[:16]
"""Of all that the result depends on besides the text. Change it, and everything is made again."""


def plan(sources: list[Path], data: Path) -> inorder.StagePlan:
    """Which items there are, in the same order every time."""
    return inorder.StagePlan("shout", list(items(sources)))


def items(sources: list[Path]) -> Iterator[inorder.WorkItem]:
    """One for every text file."""
    for source in sources:
        for path in sorted(source.rglob("*.txt")):
            name = path.relative_to(source.parent).as_posix()
            yield inorder.WorkItem(
                item_id=name,
                inputs={"text": path},
                outputs={"loud": f"loud/{name}"},
                cfg_hash=CONFIG,
                cost_hint=path.stat().st_size,
            )


def worker(item: inorder.WorkItem, ctx: Any) -> dict[str, int]:
    """How one is done. What is returned stands in the manifest."""
    text = Path(item.inputs["text"]).read_text(encoding="utf-8").strip()
    if not text:
        raise inorder.StageError("there is nothing to shout", category="input")
    ctx.output("loud").write_text(f"{text.upper()}{ENDING}\n", encoding="utf-8")
    return {"words": len(text.split())}


stage = inorder.Stage(name="shout", plan=plan, worker=worker)
