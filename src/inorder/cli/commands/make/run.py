"""`inorder run`: from files to a searchable index."""

from functools import partial
from typing import Annotated

import typer

from inorder.cli.option_spec import Section
from inorder.cli.output import print_json
from inorder.cli.parameters import Given, JsonOption, SourcesArgument, make_option, run_options
from inorder.cli.pipeline import RUN_OPTIONS, STEPS, describe_defaults, run_all
from inorder.cli.stage_runner import EXPORT


@run_options(partial(describe_defaults, [*STEPS, EXPORT]), [*STEPS, EXPORT], RUN_OPTIONS)
def run(
    sources: SourcesArgument,
    name: Annotated[
        str | None,
        make_option(
            Section.INPUT,
            "NAME",
            "Name of a new source. Default: the end of its path.",
            "--as",
        ),
    ] = None,
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Make documents and source code searchable: convert, chunk, index and embed what is new or has changed.

    Each SRC becomes a source with a name; other sources in DATA stay. Run it again after changes or an interruption:
    only what is left is done. Hidden files, and what .inorderignore or in code .gitignore names, are left out.

    Exit codes: 0 done, 1 the machine failed, 2 wrong usage, 3 files failed, 4 too many failed, 5 DATA is in use, 6 DATA
    is damaged.
    """
    outcome, code = run_all(sources, given, name=name)
    if as_json:
        print_json(outcome)
    raise typer.Exit(code)
