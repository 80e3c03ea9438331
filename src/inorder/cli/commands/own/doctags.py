"""`inorder doctags`: documents to DocTags."""

from functools import partial
from typing import Annotated

import typer

from inorder.cli.parameters import Given, JsonOption, make_argument, run_options
from inorder.cli.pipeline import RUN_OPTIONS, describe_defaults, run_steps


@run_options(partial(describe_defaults, ["doctags"]), ["doctags"], RUN_OPTIONS)
def doctags(
    sources: Annotated[list[str], make_argument("SRC...", "Files, directories and addresses (s3://bucket/prefix).")],
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Convert documents to DocTags: PDF, HTML, Markdown, text, office formats, CSV, notebooks, EPUB, mail, RTF,
    reStructuredText, AsciiDoc, JATS, DocBook, and archives of them.

    This is the first step of `inorder run`, alone. What later steps have made stays searchable until they run again.
    Documents that have not changed are not read again; those that are gone from SRC are removed. `inorder show` prints
    a document, and `inorder export --format files` writes all of them.

    Exit codes: 0 done, 1 the machine failed, 2 wrong usage, 3 files failed, 4 too many failed, 5 DATA is in use, 6 DATA
    is damaged.
    """
    raise typer.Exit(run_steps(["doctags"], sources, given, as_json=as_json))
