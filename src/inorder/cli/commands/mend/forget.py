"""`inorder forget`: remove a source and all its files from DATA."""

import os
from typing import Annotated

import msgspec
import typer

from inorder.cli.commands.look.answers import list_orphans
from inorder.cli.data_dir import open_data
from inorder.cli.output import info, pluralize, print_json
from inorder.cli.parameters import DataOption, JsonOption, make_argument
from inorder.cli.pipeline import find_answers_file, read_recorded_request, require_library, run_request
from inorder.cli.settings import SettingsReader
from inorder.models.ledger import Selection, count_answers
from inorder.pipeline.outcome import RunOutcome


def forget(
    name: Annotated[str, make_argument("NAME", "Name of the source, as `inorder sources` lists it.")],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a source from DATA: its files, everything that was made of them, and its name.

    The folder itself is not touched, and need not be there. A file of another source that was a copy of a removed one
    becomes a document. What was removed is no longer found when the command ends; after an interruption, repeat it.

    Exit codes are those of `inorder run`: 2 there is no such source, 5 DATA is in use.
    """
    directory = open_data(data)
    require_library(directory.root)
    reader = SettingsReader({"quiet": True} if data is None else {"quiet": True, "data": data})
    request = msgspec.structs.replace(read_recorded_request(reader, ()), forgets=name)

    def report(outcome: RunOutcome) -> None:
        removed = pluralize(outcome.counts.removed, "file")
        promoted = outcome.counts.changed
        more = f"; {pluralize(promoted, 'copy')} of other sources became documents".replace("copys", "copies")
        if outcome.stop_kind is None and not as_json:
            info(f"forgot the source {name}: {removed} removed{more if promoted else ''}")
            _report_answers(directory.root)

    outcome, code = run_request(request, reader, report)
    if as_json:
        print_json({"name": name, "removed": outcome.counts.removed, "outcome": outcome})
    raise typer.Exit(code)


def _report_answers(root: str) -> None:
    """Say how many answers of models hold text of files that DATA does not have any more."""
    path = find_answers_file(root)
    if os.path.exists(path) and (files := list_orphans(root, path, Selection())):
        count = count_answers(path, Selection(), files)
        info(f"{pluralize(count, 'answer')} of models about removed files stay: inorder answers --orphans --remove")
