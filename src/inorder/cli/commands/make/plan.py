"""`inorder plan`: what a run would do, without doing it."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Annotated

from inorder.cli.data_dir import DataDirectory, open_data
from inorder.cli.dry_run import PROCESS, SKIP, VERDICTS, DryRun, Forecast, WrittenFiles
from inorder.cli.options import EVERYDAY, SHARED
from inorder.cli.output import encode_json, encode_text, fit_lines, print_out, stream_json, stream_lines, to_printable
from inorder.cli.parameters import Given, JsonOption, StageOption, make_argument, run_options
from inorder.cli.pipeline import STEPS, describe_defaults, read_recorded_request, read_request, require_library
from inorder.cli.settings import SettingsReader, resolve
from inorder.cli.stage_loader import StageJob, load_job, load_recorded_jobs
from inorder.cli.stage_runner import EXPORT
from inorder.engines.attempt import escape_surrogates
from inorder.errors import require
from inorder.pipeline.outcome import describe_counts, label_lines, list_not_read
from inorder.pipeline.questions.prediction import FileForecast, Prediction
from inorder.stage.options import StageOptions
from inorder.stage.sources import is_address

_FLAGS = (EVERYDAY - SHARED.keys() | {"data", "force"}) - {"to", "collection"}
"""Flags that decide which files and items a run processes. What else a run is given may be given here, with --set."""
_SOURCED = ("doctags", "index")
"""Steps whose commands read SRC."""


@run_options(partial(describe_defaults, [*STEPS, EXPORT]), [*STEPS, EXPORT], flags=_FLAGS)
def plan(
    what: Annotated[
        list[str] | None,
        make_argument(
            "[MODULE:NAME] [SRC]...",
            "Files and directories, as for `inorder run`; or a stage and its sources, as for `inorder stage`. "
            "Without any, the sources in DATA, with the settings of the last run.",
        ),
    ] = None,
    stage: StageOption = None,
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Show what a run would do with each file and why, without running anything.

    There is a line for each file that has something to do, with the steps and why they run. A step that reads the
    result of an earlier one may not run: `chunk: if the document changes`. The last lines are the summary that the
    run would print if all steps succeed. Hidden files and files that ignore files name are not counted;
    `inorder explain` names the rule. Give the settings that the run will be given. DATA need not exist, and nothing
    is written.

    For each item of a stage of your own it says what happens to it, and why.
    """
    reader = SettingsReader(given)
    first = what[0] if what else ""
    is_stage = ":" in first and not is_address(first) and not os.path.exists(first)
    data = os.path.abspath(resolve(given).data)
    has_library = DataDirectory(data).has_library
    if is_stage or not (what or stage in STEPS or (has_library and stage is None)):
        _plan_stages(list(_load_jobs(what or [], stage, given.get("data"), reader)), as_json=as_json)
        return
    require(stage is None or stage in STEPS, f"--stage must be one of {', '.join(STEPS)}; got {stage!r}")
    _plan_files(_predict(reader, what or [], stage, data), as_json=as_json)


# ---- Files


def _predict(reader: SettingsReader, sources: list[str], step: str | None, data: str) -> Prediction:
    """Ask for the plan of the run that these arguments mean."""
    if step is None:
        request = read_request(reader, STEPS, sources) if sources else read_recorded_request(reader, ())
    else:
        require(
            not sources or step in _SOURCED, f"inorder {step} reads what is in DATA; give no SRC with --stage {step}"
        )
        request = read_request(reader, [step], sources)
    if not sources:
        require_library(data)
    options = request.options
    return Prediction(
        request.sources,
        request.settings,
        data=data,
        is_known=step is not None and not sources,
        force=options.force or not options.resume,
    )


def _plan_files(prediction: Prediction, *, as_json: bool) -> None:
    if as_json:
        stream_json("files", map(encode_json, prediction), lambda: _describe_rest(prediction))
        return
    stream_lines(encode_text(line) for found in prediction for line in fit_lines([_format_file(found)], sys.stdout))
    outcome = prediction.outcome
    print_out(
        *outcome.notes,
        *(f"warning: {to_printable(warning)}" for warning in outcome.warnings),
        describe_counts(outcome.counts),
        *([] if prediction.model is None else [f"vision: {prediction.model.describe()}"]),
        *fit_lines(label_lines("not read", list_not_read(outcome)), sys.stdout),
    )


def _describe_rest(prediction: Prediction) -> dict[str, object]:
    outcome = prediction.outcome
    return {
        "counts": outcome.counts,
        "not_read": outcome.not_read,
        **({} if prediction.model is None else {"vision": prediction.model}),
        "notes": outcome.notes,
        "warnings": outcome.warnings,
    }


def _format_file(found: FileForecast) -> str:
    return f"{found.file_class:8}  {found.item_id}  {found.describe()}".rstrip()


# ---- Items of stages


def _load_jobs(
    what: list[str], stage: str | None, data: str | None, reader: SettingsReader
) -> Iterator[tuple[StageJob, StageOptions]]:
    if what:
        jobs = [load_job(what[0], what[1:])]
        require(stage in (None, jobs[0].stage.name), f"{what[0]} is stage {jobs[0].stage.name}; got --stage {stage}")
    else:
        directory = open_data(data)
        jobs = load_recorded_jobs(directory, directory.select_stages(stage))
    for job in jobs:
        yield job, reader.for_stage(job.stage.name).with_defaults(job.stage.options).to_options()


def _plan_stages(jobs: list[tuple[StageJob, StageOptions]], *, as_json: bool) -> None:
    counts = {job.stage.name: Counter(dict.fromkeys(VERDICTS, 0)) for job, _ in jobs}

    def predict() -> Iterator[tuple[str, Forecast]]:
        written: WrittenFiles = {}
        for job, options in jobs:
            dry_run = DryRun(job, options, written)
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


def _encode(stage: str, found: Forecast) -> bytes:
    item_id = escape_surrogates(found.item.item_id)
    return encode_json({"stage": stage, "item_id": item_id, "verdict": found.verdict, "reason": found.reason})


def _format(stage: str, found: Forecast) -> str:
    return f"{found.verdict:7}  {stage}  {escape_surrogates(found.item.item_id)}  {found.reason}"
