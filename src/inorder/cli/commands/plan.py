"""`inorder plan`: what a run would do, without doing it."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from inorder.cli.builtin import ENTRIES, load_builtin, sort_stages
from inorder.cli.data_dir import open_data
from inorder.cli.dry_run import MISSING, PROCESS, SKIP, DryRun, Forecast
from inorder.cli.option_spec import Section
from inorder.cli.output import encode_json, encode_text, print_out, stream_json, stream_lines
from inorder.cli.parameters import DataOption, JsonOption, StageOption
from inorder.cli.settings import SettingsReader
from inorder.cli.stage_loader import StageJob, load_job, load_recorded_jobs
from inorder.engines.attempt import escape_surrogates
from inorder.files.listing import share_listings
from inorder.stage.options import StageOptions


def plan(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODULE:NAME] [SRC]...",
            help="Files and directories, as for `inorder run`; or a stage and its sources, as for `inorder stage`. "
            "Without any, the stages in DATA with the sources of their latest runs.",
            rich_help_panel=Section.INPUT,
        ),
    ] = None,
    stage: StageOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a run would do with each item and why, without running anything.

    process: it would be processed. skip: it is up to date. missing: its input does not exist, and it would fail. Each
    stage is shown for the present contents of DATA: items that an earlier stage would change are not foreseen.
    """
    reader = SettingsReader({} if data is None else {"data": data})
    jobs = list(_load_jobs(what or [], stage, data, reader))
    counts = {job.stage.name: Counter({PROCESS: 0, SKIP: 0, MISSING: 0}) for job, _ in jobs}

    def predict() -> Iterator[tuple[str, Forecast]]:
        for job, options in jobs:
            dry_run = DryRun(job, options)
            for seq, item in dry_run.items():
                found = dry_run.predict(seq, item)
                counts[job.stage.name][found.verdict] += 1
                yield job.stage.name, found
            dry_run.close()

    with share_listings():
        if as_json:
            stream_json("items", (_encode(name, found) for name, found in predict()), lambda: {"stages": counts})
            return
        stream_lines(encode_text(_format(name, found)) for name, found in predict())
    for name, counted in counts.items():
        print_out(f"{name}: " + ", ".join(f"{count} {verdict}" for verdict, count in counted.items()))


def _load_jobs(
    what: list[str], stage: str | None, data: str | None, reader: SettingsReader
) -> Iterator[tuple[StageJob, StageOptions]]:
    if what and (":" not in what[0] or os.path.exists(what[0])):
        for name in ENTRIES:
            job, settings = load_builtin(name, [Path(source) for source in what], reader)
            yield job, settings.to_options()
        return
    if what:
        jobs = [load_job(what[0], what[1:])]
    else:
        directory = open_data(data)
        jobs = load_recorded_jobs(directory, sort_stages(directory.select_stages(stage)))
    for job in jobs:
        yield job, reader.for_stage(job.stage.name).with_defaults(job.stage.options).to_options()


def _encode(stage: str, found: Forecast) -> bytes:
    item_id = escape_surrogates(found.item.item_id)
    return encode_json({"stage": stage, "item_id": item_id, "verdict": found.verdict, "reason": found.reason})


def _format(stage: str, found: Forecast) -> str:
    return f"{found.verdict:7}  {stage}  {escape_surrogates(found.item.item_id)}  {found.reason}"
