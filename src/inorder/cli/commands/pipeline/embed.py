"""`inorder embed`: chunks to vectors."""

from functools import partial

import typer

from inorder.cli.builtin import describe_defaults, run_builtin
from inorder.cli.output import print_json
from inorder.cli.parameters import Given, JsonOption, run_options


@run_options(partial(describe_defaults, ["embed"]), ["embed"])
def embed(as_json: JsonOption = False, *, given: Given) -> None:
    """Compute vectors for the chunks in DATA.

    Computes dense and sparse vectors, and totals of all of them. The default provider needs no model and no network: it
    adds up word vectors. Lexical vectors are the terms of the index: see `inorder index`. The default of --policy
    depends on the provider.

    Exit codes are those of `inorder doctags`.
    """
    outcomes, code = run_builtin(["embed"], [], given)
    if as_json:
        print_json(outcomes[0])
    raise typer.Exit(code)
