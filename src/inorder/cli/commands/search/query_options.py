"""Options of commands that ask questions."""

from typing import Annotated

import typer

from inorder.cli.option_spec import Section
from inorder.index.ranking.retrieval import MODES

ModeOption = Annotated[
    str,
    typer.Option(
        "--mode",
        metavar="|".join(MODES),
        help="By words, by vectors, or by both, fused by score; auto: both, or words for a name. Default: auto.",
        autocompletion=lambda: list(MODES),
        show_default=False,
        rich_help_panel=Section.QUERY,
    ),
]
OnlyOption = Annotated[
    str,
    typer.Option(
        "--only",
        metavar="code|document",
        help="Only source code, or only documents.",
        autocompletion=lambda: ["code", "document"],
        rich_help_panel=Section.QUERY,
    ),
]
RerankOption = Annotated[
    str,
    typer.Option(
        "--rerank",
        metavar="MODEL",
        help="Order the first 50 results again: cross-encoder:NAME, or a dense provider such as minilm.",
        rich_help_panel=Section.QUERY,
    ),
]
