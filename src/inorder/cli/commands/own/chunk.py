"""`inorder chunk`: documents to chunks."""

from functools import partial

import typer

from inorder.cli.parameters import Given, JsonOption, run_options
from inorder.cli.pipeline import RUN_OPTIONS, describe_defaults, run_steps


@run_options(partial(describe_defaults, ["chunk"]), ["chunk"], RUN_OPTIONS)
def chunk(as_json: JsonOption = False, *, given: Given) -> None:
    """Split the documents in DATA into chunks that follow their structure.

    This is a step of `inorder run`, alone: it reads what `inorder doctags` has made, and no file of the sources. A
    chunk has its text, tokens, section path, pages, offsets into the document, and an id that stays the same as long as
    its text and position do. The other steps keep their settings.

    Exit codes are those of `inorder doctags`.
    """
    raise typer.Exit(run_steps(["chunk"], [], given, as_json=as_json))
