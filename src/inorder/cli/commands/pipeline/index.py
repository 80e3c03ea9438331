"""`inorder index`: source code, chunks and vectors to one database."""

from functools import partial
from typing import Annotated

import typer

from inorder.cli.builtin import describe_defaults, run_builtin
from inorder.cli.option_spec import Section
from inorder.cli.output import print_json
from inorder.cli.parameters import Given, JsonOption, run_options


@run_options(partial(describe_defaults, ["index"]), ["index"])
def index(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SRC]...",
            help="Directories with source code. Without any, only documents are indexed.",
            rich_help_panel=Section.INPUT,
        ),
    ] = None,
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Build the search index from source code and from the chunks and vectors in DATA.

    Writes DATA/index.sqlite. Hidden files are left out, and files named in .gitignore or .inorderignore. Binary,
    generated and very large files are skipped with the reason. Changed files are replaced and deleted ones removed, all
    at once: until then, searches use the previous index.

    Exit codes are those of `inorder doctags`.
    """
    outcomes, code = run_builtin(["index"], sources or [], given)
    if as_json:
        print_json(outcomes[0])
    raise typer.Exit(code)
