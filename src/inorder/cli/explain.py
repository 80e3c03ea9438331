"""`inorder explain PATH`: what a run would do with one input, and why."""

import os
from typing import Annotated, Any

import typer

from inorder.cli.options import DataOption, JsonOption, StageOption


def explain(
    path: Annotated[str, typer.Argument(metavar="PATH", help="An input or output file, or the id of an item.")],
    stage: StageOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say for each stage whether this input would be processed or skipped if it were run now, and why.

    The stages are those in DATA, with the sources they were last run on. Run it in the folder where they were run.
    """
    from inorder.cli.datasets import open_data
    from inorder.cli.explaining import explained, in_words
    from inorder.cli.loading import recorded_jobs
    from inorder.cli.output import show, show_json

    dataset = open_data(data)
    found: list[dict[str, Any]] = []
    for job in recorded_jobs(dataset, dataset.chosen(stage)):
        found += explained(dataset, job, path)
    if as_json:
        show_json({"path": os.path.abspath(path), "stages": found})
        return
    for one in found:
        show(*in_words(one, path))
