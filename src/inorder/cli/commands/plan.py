"""`inorder plan`: what a run would do, without doing it."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from inorder.cli.options import DataOption, JsonOption, StageOption


def plan(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODULE:NAME] [SRC]...",
            help="Files and folders, as for `inorder run`, or a stage and its sources, as for `inorder stage`. Without "
            "any, the stages in DATA as they were last run.",
        ),
    ] = None,
    stage: StageOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a run would do with each item and why, and do nothing.

    process: it would be run. skip: it is done already. missing: its input is not there, and it would fail. Stages that
    build on others are shown as DATA is now: what an earlier one would make anew, they would do too.
    """
    from inorder.cli.builtin import ENTRIES, our_job
    from inorder.cli.data_dir import open_data
    from inorder.cli.dry_run import MISSING, PROCESS, SKIP, Forecast, Foresight
    from inorder.cli.output import as_bytes, encode_json, show, stream_json, stream_lines
    from inorder.cli.settings import resolve
    from inorder.cli.stage_loader import job_of, recorded_jobs
    from inorder.stage.manifest.rows import to_printable

    if what and ":" in what[0] and not os.path.exists(what[0]):
        jobs = [job_of(what[0], what[1:])]
    elif what:
        jobs = [our_job(name, [Path(source) for source in what], {}) for name in ENTRIES]
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
                {"stage": name, "item_id": to_printable(one.item.item_id), "verdict": one.verdict, "reason": one.reason}
            )
            for name, one in found()
        )
        stream_json("items", items, lambda: {"stages": counts})
        return
    stream_lines(
        as_bytes(f"{one.verdict:7}  {name}  {to_printable(one.item.item_id)}  {one.reason}") for name, one in found()
    )
    for name, counted in counts.items():
        show(f"{name}: " + ", ".join(f"{count} {verdict}" for verdict, count in counted.items()))
