"""`inorder doctags`: documents to DocTags."""

from functools import partial
from typing import Annotated

import typer

from inorder.cli.builtin import describe_defaults, run_builtin
from inorder.cli.option_spec import Section
from inorder.cli.output import print_json
from inorder.cli.parameters import Given, JsonOption, run_options


@run_options(partial(describe_defaults, ["doctags"]), ["doctags"])
def doctags(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SRC...",
            help="Files, directories and addresses (s3://bucket/prefix).",
            rich_help_panel=Section.INPUT,
        ),
    ],
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Convert documents to DocTags.

    Reads PDF, HTML, Markdown and text; DOCX, PPTX, XLSX and OpenDocument; CSV; Jupyter notebooks; EPUB; mail (EML,
    MBOX); RTF; reStructuredText; AsciiDoc; JATS and DocBook. Archives (ZIP, tar) are read as folders.

    Writes DATA/doctags/NAME.doctags and, lossless, NAME.docling.json. Files that are not documents are skipped. A
    document that cannot be read fails with the reason; the others are processed. The outputs of documents that no
    longer exist in SRC are removed. Hidden files are left out, and files named in .inorderignore (.gitignore syntax).

    Documents that are up to date are skipped. Run the same command again to resume an interrupted run.

    Exit codes: 0 done, 1 the machine failed, 2 wrong usage, 3 items failed, 4 too many items failed, 5 DATA is in use,
    6 DATA is damaged, 130 SIGINT, 143 SIGTERM.
    """
    outcomes, code = run_builtin(["doctags"], sources, given)
    if as_json:
        print_json(outcomes[0])
    raise typer.Exit(code)
