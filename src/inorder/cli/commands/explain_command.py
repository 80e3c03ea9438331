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
    """Say for each stage whether this input, and what is made of it, would be processed or skipped if it were run now,
    and why.

    The stages are those in DATA, with the sources they were last run on. Run it in the folder where they were run.
    """
    from inorder.cli.builtin import ENTRIES
    from inorder.cli.commands.explain import explained, in_words
    from inorder.cli.data_dir import open_data
    from inorder.cli.output import show, show_json
    from inorder.cli.stage_loader import recorded_jobs

    dataset = open_data(data)
    found: list[dict[str, Any]] = []
    made: set[str] = set()
    order = list(ENTRIES)
    stages = sorted(dataset.chosen(stage), key=lambda name: (name in order, order.index(name) if name in order else 0))
    for job in recorded_jobs(dataset, stages):
        found += explained(dataset, job, path, made)
    if as_json:
        show_json({"path": os.path.abspath(path), "stages": found})
        return
    for one in found:
        show(*in_words(one, path))
