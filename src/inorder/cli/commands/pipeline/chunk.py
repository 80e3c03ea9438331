"""`inorder chunk`: documents to chunks."""

from functools import partial

import typer

from inorder.cli.builtin import describe_defaults, run_builtin
from inorder.cli.output import print_json
from inorder.cli.parameters import Given, JsonOption, run_options


@run_options(partial(describe_defaults, ["chunk"]), ["chunk"])
def chunk(as_json: JsonOption = False, *, given: Given) -> None:
    """Split the documents in DATA into chunks that follow their structure.

    Writes DATA/chunks/NAME.parquet. A chunk has its text, tokens, section path, pages, offsets into the document, and
    an id that stays the same as long as its text and position do.

    Exit codes are those of `inorder doctags`.
    """
    outcomes, code = run_builtin(["chunk"], [], given)
    if as_json:
        print_json(outcomes[0])
    raise typer.Exit(code)
