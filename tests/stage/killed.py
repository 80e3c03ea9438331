"""A program that runs a stage and kills itself where it is told to. Run by `lives.py`."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

import inorder
from inorder.runtime.result_log import ResultLog
from inorder.sinks.manifest import ManifestSink
from inorder.sinks.outputs import OutputsSink
from tests.stage.jobs import STAGE, Place
from tests.stage.workers import obey


class Death:
    """Comes at the given count of the given thing: `committed:40`, `published:7`, `planned:300`, `logged:9`,
    or never."""

    def __init__(self, told: str) -> None:
        self._what, _, number = told.partition(":")
        self._left = int(number or 0)

    def look(self, what: str) -> None:
        if what == self._what:
            self._left -= 1
            if self._left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)


def main(folder: Path, names: list[str], policy: str, told: str) -> None:
    place, death = Place.__new__(Place), Death(told)
    place.folder, place.data, place.sources = folder, folder / "data", folder / "sources"
    place.calls = folder / "calls"
    publish, remove, append = OutputsSink._publish, OutputsSink._unpublish, ManifestSink.apply

    def publishing(self: OutputsSink, move: Any) -> None:
        death.look("published")
        publish(self, move)

    def removing(self: OutputsSink, path: str) -> None:
        remove(self, path)
        death.look("removed")

    def appending(self: ManifestSink, entries: Any) -> Any:
        death.look("appended")
        return append(self, entries)

    OutputsSink._publish, ManifestSink.apply = publishing, appending  # type: ignore[method-assign]
    OutputsSink._unpublish = removing  # type: ignore[method-assign]

    log = ResultLog.append

    def logging(self: ResultLog, frames: Any, last_seq: int) -> None:
        log(self, frames, last_seq)
        for _ in frames:
            death.look("logged")

    ResultLog.append = logging  # type: ignore[method-assign]

    def after_item(item: inorder.WorkItem, result: object, ctx: object) -> None:
        with open(folder / "committed", "a", encoding="utf-8") as file:
            file.write(f"{item.item_id}\n")
        death.look("committed")

    class Items:
        def __iter__(self) -> Iterator[inorder.WorkItem | inorder.Barrier]:
            for name in names:
                if name == "|":
                    yield inorder.Barrier()
                    continue
                death.look("planned")
                item_id, _, cfg_hash = name.partition("@")
                is_held = item_id.endswith("!") and told
                do = "hang" if is_held else "shout"
                yield place.item(item_id.rstrip("!"), do, cfg_hash=cfg_hash or "1")

    hooks = inorder.StageHooks(after_item=after_item)
    plan = inorder.StagePlan(STAGE, Items(), retires=lambda *_: True)
    outcome = inorder.run_stage(plan, obey, place.options(policy=policy, fsync="batch"), hooks)
    print(msgspec.json.encode(outcome).decode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]).read_text().split(), sys.argv[3], sys.argv[4])
