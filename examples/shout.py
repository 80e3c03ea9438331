"""A complete stage on one page: writes every text file in capitals.

    inorder stage examples.shout:stage SRC... --data DATA

Run it again, and every item is skipped. Change a text, and only that item is done. Kill it, and the same command
resumes.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import inorder

ENDING = "!"
CONFIG = hashlib.sha256(f"shout 1 {ENDING}".encode()).hexdigest()[:16]
"""Hash of everything that a result depends on besides the text. If it changes, every item is done again."""


def plan(sources: list[Path], data: Path) -> inorder.StagePlan:
    """Plan the items, in the same order every time."""
    return inorder.StagePlan("shout", list(items(sources)))


def items(sources: list[Path]) -> Iterator[inorder.WorkItem]:
    """Yield one item per text file."""
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


def worker(item: inorder.WorkItem, ctx: inorder.StageContext) -> dict[str, int]:
    """Process one item. The returned values become fields of its row in the manifest."""
    text = Path(item.inputs["text"]).read_text(encoding="utf-8").strip()
    if not text:
        raise inorder.StageError("there is nothing to shout", category="input")
    ctx.output("loud").write_text(f"{text.upper()}{ENDING}\n", encoding="utf-8")
    return {"words": len(text.split())}


stage = inorder.Stage(name="shout", plan=plan, worker=worker)
