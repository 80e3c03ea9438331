"""`inorder search`: search documents and source code in DATA."""

from typing import Annotated

import typer

from inorder.cli.commands.search.presentation import describe_answer, print_answer, resolve_data
from inorder.cli.commands.search.query_options import ModeOption, OnlyOption, RerankOption
from inorder.cli.exit_codes import Exit
from inorder.cli.option_spec import Section
from inorder.cli.output import info, print_json
from inorder.cli.parameters import DataOption, JsonOption
from inorder.index.search import SearchOptions
from inorder.index.search import search as find
from inorder.index.snippets import CONTEXT


def search(
    question: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY...",
            help="Words; or a name: sym:Kernel.step, def:step, ref:step, imports:msgspec.",
            rich_help_panel=Section.INPUT,
        ),
    ],
    mode: ModeOption = "auto",
    path: Annotated[
        str,
        typer.Option(
            metavar="GLOB", help="Only files whose path matches, as in 'src/*.py'.", rich_help_panel=Section.QUERY
        ),
    ] = "",
    language: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Only code in this language, or documents in it (en, de...).",
            rich_help_panel=Section.QUERY,
        ),
    ] = "",
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="Only chunks of this kind: function, method, class, section, lines...",
            rich_help_panel=Section.QUERY,
        ),
    ] = "",
    only: OnlyOption = "",
    rerank: RerankOption = "",
    count: Annotated[
        int,
        typer.Option("-k", "--count", min=1, max=1000, help="Number of results. Default: 10.", show_default=False),
    ] = 10,
    context: Annotated[
        int,
        typer.Option(
            "--context",
            min=0,
            max=100,
            help="Lines of code, or sentences, to show before and after the middle one. Default: 1.",
            show_default=False,
        ),
    ] = CONTEXT,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say how the question was searched, and how each score is composed.")
    ] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search documents and source code in DATA.

    Exit codes: 0 something was found, 3 nothing was found, 2 wrong usage or no index.
    """
    options = SearchOptions(mode=mode, count=count, path=path, language=language, kind=kind, only=only, rerank=rerank)
    answer = find(resolve_data(data), " ".join(question), options)
    for warning in answer.warnings:
        info(f"warning: {warning}")
    if as_json:
        print_json(describe_answer(answer, context))
    else:
        print_answer(answer, explains=explain, context=context)
    if not answer.hits and not answer.places:
        raise typer.Exit(Exit.ITEMS_FAILED)
