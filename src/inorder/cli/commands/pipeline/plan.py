"""`inorder plan`: what a run would do, without doing it."""

import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Annotated

import typer

from inorder.cli.builtin import ENTRIES, describe_defaults, load_builtin, sort_stages
from inorder.cli.data_dir import open_data
from inorder.cli.dry_run import PROCESS, SKIP, VERDICTS, DryRun, Forecast
from inorder.cli.option_spec import Section
from inorder.cli.output import encode_json, encode_text, print_out, stream_json, stream_lines
from inorder.cli.parameters import Given, JsonOption, StageOption, run_options
from inorder.cli.settings import SettingsReader
from inorder.cli.stage_loader import StageJob, load_job, load_recorded_jobs
from inorder.engines.attempt import escape_surrogates
from inorder.errors import require
from inorder.files.listing import share_listings
from inorder.files.predicted import predict_files
from inorder.stage.options import StageOptions
from inorder.stage.sources import is_address

DECIDING = ("data", "resume", "force", "fingerprinting")
"""The options of every run that decide which items it processes."""


@run_options(partial(describe_defaults, list(ENTRIES)), list(ENTRIES), DECIDING)
def plan(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODULE:NAME] [SRC]...",
            help="Files and directories, as for `inorder run`; or a stage and its sources, as for `inorder stage`. "
            "Without any, the stages in DATA with the sources and settings of their latest runs.",
            rich_help_panel=Section.INPUT,
        ),
    ] = None,
    stage: StageOption = None,
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Show what a run would do with each item and why, without running anything.

    process: it would be processed. skip: it is up to date, or there is nothing to do. depends: an earlier stage makes
    its input again; it is processed if that changes the input. remove: its results would be removed. fail: it would
    fail. It is assumed that the items to be processed succeed. The parts of a long PDF are known when its pages have
    been counted.

    Give the options that the run will be given. With --stage, the stage is run alone.
    """
    reader = SettingsReader(given)
    jobs = list(_load_jobs(what or [], stage, given.get("data"), reader))
    counts = {job.stage.name: Counter(dict.fromkeys(VERDICTS, 0)) for job, _ in jobs}

    def predict() -> Iterator[tuple[str, Forecast]]:
        with share_listings(), predict_files() as files:
            for job, options in jobs:
                dry_run = DryRun(job, options, files)
                for found in dry_run.predict():
                    counts[job.stage.name][found.verdict] += 1
                    yield job.stage.name, found
                dry_run.close()

    if as_json:
        stream_json("items", (_encode(name, found) for name, found in predict()), lambda: {"stages": counts})
        return
    stream_lines(encode_text(_format(name, found)) for name, found in predict())
    for name, counted in counts.items():
        shown = {verdict: count for verdict, count in counted.items() if count or verdict in (PROCESS, SKIP)}
        print_out(f"{name}: " + ", ".join(f"{count} {verdict}" for verdict, count in shown.items()))


def _load_jobs(
    what: list[str], stage: str | None, data: str | None, reader: SettingsReader
) -> Iterator[tuple[StageJob, StageOptions]]:
    if what and (":" not in what[0] or is_address(what[0]) or os.path.exists(what[0])):
        require(stage is None or stage in ENTRIES, f"--stage must be one of {', '.join(ENTRIES)}; got {stage!r}")
        for name in ENTRIES if stage is None else [stage]:
            job, settings = load_builtin(name, what, reader)
            yield job, settings.to_options()
        return
    if what:
        jobs = [load_job(what[0], what[1:])]
        require(stage in (None, jobs[0].stage.name), f"{what[0]} is stage {jobs[0].stage.name}; got --stage {stage}")
    else:
        directory = open_data(data)
        names = sort_stages(directory.select_stages(stage))
        jobs = load_recorded_jobs(directory, names, lambda name: reader.for_stage(name).own_fields(name))
    for job in jobs:
        yield job, reader.for_stage(job.stage.name).with_defaults(job.stage.options).to_options()


def _encode(stage: str, found: Forecast) -> bytes:
    item_id = escape_surrogates(found.item.item_id)
    return encode_json({"stage": stage, "item_id": item_id, "verdict": found.verdict, "reason": found.reason})


def _format(stage: str, found: Forecast) -> str:
    return f"{found.verdict:7}  {stage}  {escape_surrogates(found.item.item_id)}  {found.reason}"
