"""`inorder plan`: what a run would do, without doing it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from inorder.cli.options import DataOption, JsonOption, StageOption


def plan(
    entry: Annotated[
        str | None,
        typer.Argument(metavar="[MODULE:NAME]", help="The stage; without it, those in DATA as they were last run."),
    ] = None,
    sources: Annotated[
        list[Path] | None, typer.Argument(metavar="[SRC]...", help="Files and folders that the stage is to work on.")
    ] = None,
    stage: StageOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a run would do with each item and why, and do nothing.

    process: it would be run. skip: it is done already. missing: its input is not there, and it would fail.
    """
    from inorder.cli.datasets import open_data
    from inorder.cli.foresight import MISSING, PROCESS, SKIP, Forecast, Foresight
    from inorder.cli.loading import job_of, recorded_jobs
    from inorder.cli.output import as_bytes, encode_json, show, stream_json, stream_lines
    from inorder.cli.settings import resolve
    from inorder.stage.rows import printable

    if entry is not None:
        jobs = [job_of(entry, sources or [])]
    else:
        dataset = open_data(data)
        jobs = recorded_jobs(dataset, dataset.chosen(stage))
    counts = {job.stage.name: Counter({PROCESS: 0, SKIP: 0, MISSING: 0}) for job in jobs}

    def found() -> Iterator[tuple[str, Forecast]]:
        for job in jobs:
            foresight = Foresight(job, resolve({} if data is None else {"data": data}, job.stage).options())
            for seq, item in foresight.items():
                one = foresight.of(seq, item)
                counts[job.stage.name][one.verdict] += 1
                yield job.stage.name, one
            foresight.close()

    if as_json:
        items = (
            encode_json(
                {"stage": name, "item_id": printable(one.item.item_id), "verdict": one.verdict, "reason": one.reason}
            )
            for name, one in found()
        )
        stream_json("items", items, lambda: {"stages": counts})
        return
    stream_lines(
        as_bytes(f"{one.verdict:7}  {name}  {printable(one.item.item_id)}  {one.reason}") for name, one in found()
    )
    for name, counted in counts.items():
        show(f"{name}: " + ", ".join(f"{count} {verdict}" for verdict, count in counted.items()))
