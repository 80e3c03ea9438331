"""A stage and an iteration over twelve small texts. Version 0.1.0 ran it to write the archive beside it.

python program.py FOLDER stage finished      run the stage to its end in FOLDER/finished
python program.py FOLDER stage interrupted   the same, killed within the ninth item if DIE is set
python program.py FOLDER imap iteration      iterate with a journal, killed after the fifth result if DIE is set
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import inorder

NAMES = [f"{number:02}.txt" for number in range(12)]
RESULTS = 5


def die() -> None:
    if "DIE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)


def upper(item: inorder.WorkItem, ctx: Any) -> dict[str, int]:
    if item.item_id == "08.txt" and ctx.data.name == "interrupted":
        die()
    text = Path(item.inputs["text"]).read_text(encoding="utf-8")
    if "bad" in text:
        raise ValueError("a bad text")
    ctx.output("upper").write_text(text.upper(), encoding="utf-8")
    print("processed", item.item_id)
    return {"characters": len(text)}


def run_stage(folder: Path, data: Path) -> None:
    sources = folder / "texts"
    sources.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        (sources / name).write_text("bad" if name == "03.txt" else f"text of {name}\n", encoding="utf-8")
    items = [
        inorder.WorkItem(
            item_id=name, inputs={"text": sources / name}, outputs={"upper": f"upper/{name}"}, cfg_hash="1"
        )
        for name in NAMES
    ]
    options = inorder.StageOptions(data=data, workers=1, fsync="always", progress="none")
    outcome = inorder.run_stage(
        inorder.StagePlan("upper", [*items[:7], inorder.Barrier(), *items[7:]], len(items)), upper, options
    )
    print("resumed at", outcome.resumed_at, "succeeded", outcome.succeeded, "skipped", outcome.skipped)


def double(number: int) -> int:
    return 2 * number


def iterate(journal: Path) -> None:
    for count, result in enumerate(inorder.imap(double, range(12), journal=journal, where="inline"), start=1):
        print("result", result)
        if count > RESULTS:
            die()


if __name__ == "__main__":
    folder, what, name = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    run_stage(folder, folder / name) if what == "stage" else iterate(folder / f"{name}.journal")
