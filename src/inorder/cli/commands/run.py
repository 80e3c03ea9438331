"""`inorder doctags`, `chunk`, `embed`, `index` and `run`: from files to something that can be searched."""

from pathlib import Path
from typing import Annotated

import typer

from inorder.cli.options import OWN, Given, JsonOption, options_of

Sources = Annotated[list[Path], typer.Argument(metavar="SRC...", help="Files and folders with documents.")]


@options_of("doctags")
def doctags(sources: Sources, as_json: JsonOption = False, *, given: Given) -> None:
    """Read documents: PDF, HTML, Markdown, DOCX and text.

    Each becomes DATA/doctags/NAME.doctags and, lossless, NAME.docling.json. What is no document is skipped, what cannot
    be read fails with the reason, and everything else is done. Documents that have gone from SRC lose their outputs.
    Hidden files, and what an .inorderignore names in the syntax of .gitignore, are left out.

    What is done already is skipped, and an interrupted run goes on where it stopped: to resume, run the same again.

    Exit codes: 0 all done, 1 the machine failed, 2 wrong usage, 3 some items failed, 4 too many failed, 5 DATA is in
    use, 6 DATA is damaged, 130 and 143 interrupted.
    """
    _run_one("doctags", sources, given, as_json=as_json)


@options_of("chunk")
def chunk(as_json: JsonOption = False, *, given: Given) -> None:
    """Cut the documents in DATA into chunks that follow their structure: DATA/chunks/NAME.parquet.

    A chunk has its text, its tokens, section path, pages, offsets into the document, and an id that stays the same as
    long as its text and place do.

    Exit codes are those of `inorder doctags`.
    """
    _run_one("chunk", [], given, as_json=as_json)


@options_of("embed")
def embed(as_json: JsonOption = False, *, given: Given) -> None:
    """Make vectors of the chunks in DATA: DATA/vectors/dense, sparse and lexical.

    The default needs no model and no network: hashed words and letters. Terms are counted for BM25, and the statistics
    of the corpus are kept up to date in DATA/vectors/__corpus__.parquet.

    Exit codes are those of `inorder doctags`.
    """
    _run_one("embed", [], given, as_json=as_json)


@options_of()
def index(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[SRC]...", help="Folders with source code; without any, documents only."),
    ] = None,
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Put source code, and the chunks and vectors in DATA, into one database that can be searched: DATA/index.sqlite.

    Files that .gitignore or .inorderignore name, and hidden ones, are left out; binary, generated and very large ones
    are skipped with the reason. What has changed is replaced, what has gone is removed, all at once: whoever searches
    meanwhile sees the index as it was.

    Exit codes are those of `inorder doctags`.
    """
    _run_one("index", sources or [], given, as_json=as_json)


@options_of(*OWN)
def run(sources: Sources, as_json: JsonOption = False, *, given: Given) -> None:
    """Do everything with SRC, documents and source code alike: doctags, chunk, embed, index, in this order.

    Run it again after a change, and exactly what depends on the change is done again. Run it again after an
    interruption, and it goes on where it stopped.

    Exit codes are those of `inorder doctags`: the worst that any of the stages had.
    """
    from inorder.cli.builtin import ENTRIES, run_ours, shown
    from inorder.cli.output import show_json

    outcomes, code = run_ours(list(ENTRIES), sources, given)
    if as_json:
        show_json(shown(outcomes))
    raise typer.Exit(code)


def _run_one(stage: str, sources: list[Path], given: Given, *, as_json: bool) -> None:
    from inorder.cli.builtin import run_ours
    from inorder.cli.output import show_json

    outcomes, code = run_ours([stage], sources, given)
    if as_json:
        show_json(outcomes[0])
    raise typer.Exit(code)
