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
PathOption = Annotated[
    str,
    typer.Option(
        metavar="GLOB", help="Only files whose path matches, as in 'src/*.py'.", rich_help_panel=Section.QUERY
    ),
]
LanguageOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Only code in this language, or documents in it (en, de...).",
        rich_help_panel=Section.QUERY,
    ),
]
KindOption = Annotated[
    str,
    typer.Option(
        metavar="KIND",
        help="Only chunks of this kind: function, method, class, section, lines...",
        rich_help_panel=Section.QUERY,
    ),
]
IndexOption = Annotated[
    str | None,
    typer.Option(
        "--index",
        metavar="ADDRESS",
        help="Search what was exported to this database (postgresql://user@host/database), not DATA.",
        rich_help_panel=Section.INPUT,
    ),
]
CollectionOption = Annotated[
    str | None,
    typer.Option(
        "--collection",
        metavar="NAME",
        help="With --index: the schema, collection or table to search. Default: inorder.",
        rich_help_panel=Section.INPUT,
    ),
]
