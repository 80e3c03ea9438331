"""`inorder index`: source code, chunks and vectors to one database."""

from functools import partial
from typing import Annotated

import typer

from inorder.cli.parameters import Given, JsonOption, make_argument, run_options
from inorder.cli.pipeline import RUN_OPTIONS, describe_defaults, run_steps


@run_options(partial(describe_defaults, ["index"]), ["index"], RUN_OPTIONS)
def index(
    sources: Annotated[
        list[str] | None,
        make_argument(
            "[SRC]...", "Directories with source code. Without any, the files that DATA knows are considered."
        ),
    ] = None,
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Make source code, and the chunks in DATA, searchable.

    This is a step of `inorder run`, alone. Documents in SRC that are new or have changed are not read: `inorder run`
    does that. Hidden files are left out, and files named in .gitignore or .inorderignore. Binary, generated and very
    large files are not read; the reason is shown. Files that are gone from SRC are removed.

    Exit codes are those of `inorder doctags`.
    """
    raise typer.Exit(run_steps(["index"], sources or [], given, as_json=as_json))
