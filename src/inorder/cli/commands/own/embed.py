"""`inorder embed`: chunks to vectors."""

from functools import partial

import typer

from inorder.cli.parameters import Given, JsonOption, run_options
from inorder.cli.pipeline import RUN_OPTIONS, describe_defaults, run_steps


@run_options(partial(describe_defaults, ["embed"]), ["embed"], RUN_OPTIONS)
def embed(as_json: JsonOption = False, *, given: Given) -> None:
    """Compute vectors for the chunks in DATA.

    This is a step of `inorder run`, alone. It computes dense and sparse vectors. The default provider needs no model
    and no network: it adds up word vectors. A model on a GPU or behind a server is opened once for all workers. Lexical
    vectors are the terms of the index: see `inorder index`. The other steps keep their settings.

    Exit codes are those of `inorder doctags`.
    """
    raise typer.Exit(run_steps(["embed"], [], given, as_json=as_json))
