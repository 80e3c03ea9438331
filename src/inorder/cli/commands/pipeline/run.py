"""`inorder run`: from files to a searchable index."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

import typer

from inorder.cli.builtin import BUILTIN, ENTRIES, describe_defaults, run_builtin
from inorder.cli.output import print_json
from inorder.cli.parameters import Given, JsonOption, SourcesArgument, run_options


@run_options(partial(describe_defaults, list(BUILTIN)), list(BUILTIN))
def run(
    sources: SourcesArgument,
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Process documents and source code: run doctags, chunk, embed and index, in this order. With --to, the index is
    then exported to a database: after each run, the database equals the index.

    Run it again after a change: only what depends on the change is processed. Run it again after an interruption: it
    resumes.

    The exit code is the worst of the stages; see `inorder doctags --help`.
    """
    if os.environ.get("INORDER_ONE_RUN") == "1":
        _run_one(sources, given, as_json=as_json)
    outcomes, code = run_builtin(list(BUILTIN), sources, given)
    if as_json:
        print_json({"stages": outcomes})
    raise typer.Exit(code)


def _run_one(sources: Sequence[str | Path], given: Given, *, as_json: bool) -> NoReturn:
    from inorder.cli.one_run import run_one  # with everything that a run needs

    outcome, code = run_one(list(ENTRIES), sources, given)
    if as_json:
        print_json(outcome)
    raise typer.Exit(code)
