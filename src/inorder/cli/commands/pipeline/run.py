"""`inorder run`: from files to a searchable index."""

from functools import partial

import typer

from inorder.cli.builtin import BUILTIN, describe_defaults, run_builtin
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
    outcomes, code = run_builtin(list(BUILTIN), sources, given)
    if as_json:
        print_json({"stages": outcomes})
    raise typer.Exit(code)
