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
    """Convert documents to DocTags.

    Reads PDF, HTML, Markdown and text; DOCX, PPTX, XLSX and OpenDocument; CSV; Jupyter notebooks; EPUB; mail (EML,
    MBOX); RTF; reStructuredText; AsciiDoc; JATS and DocBook. Archives (ZIP, tar) are read as folders.

    This is the first step of `inorder run`, alone: `inorder chunk`, `embed` and `index` go on from there. What later
    steps have made stays searchable until they run again. A document that cannot be read fails with the reason; the
    others are processed. Documents that are gone from SRC are removed. Hidden files are left out, and files named in
    .inorderignore (.gitignore syntax).

    Documents that have not changed are not read again. Run the same command again to resume an interrupted run.
    `inorder show` prints a document, and `inorder export --format files` writes all of them.

    Exit codes: 0 done, 1 the machine failed, 2 wrong usage, 3 files of these sources have failed, 4 too many files
    failed, 5 DATA is in use, 6 DATA is damaged, 130 SIGINT, 143 SIGTERM.
    """
    raise typer.Exit(run_steps(["doctags"], sources, given, as_json=as_json))
