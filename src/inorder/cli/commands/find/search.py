"""`inorder search`: search documents and source code in DATA."""

from typing import Annotated

import typer

from inorder.cli.commands.find.query_options import (
    CollectionOption,
    IndexOption,
    KindOption,
    LanguageOption,
    ModeOption,
    NeighboursOption,
    OnlyOption,
    PathOption,
    QuestionArgument,
    RerankOption,
    SourceOption,
    TypeOption,
)
from inorder.cli.exit_codes import Exit
from inorder.cli.option_spec import Section
from inorder.cli.output import info, print_json, to_printable
from inorder.cli.parameters import DataOption, JsonOption, make_option
from inorder.cli.settings import resolve_data
from inorder.errors import require
from inorder.host.credentials import hide_credentials
from inorder.library.opening import find_index
from inorder.targets.base import TargetOptions
from inorder.targets.registry import search_target


def search(
    question: QuestionArgument,
    mode: ModeOption = "auto",
    path: PathOption = None,
    language: LanguageOption = None,
    kind: KindOption = None,
    type_: TypeOption = None,
    source: SourceOption = None,
    only: OnlyOption = "",
    rerank: RerankOption = "",
    count: Annotated[
        int,
        make_option(Section.DISPLAY, "N", "Number of results. Default: 10.", "-k", "--count", min=1, max=1000),
    ] = 10,
    context: Annotated[
        int,
        make_option(
            Section.DISPLAY, "N", "Lines or sentences around the best one. Default: 1.", "--context", min=0, max=100
        ),
    ] = 1,
    neighbours: NeighboursOption = 0,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say how the question was searched, and how each score is composed.")
    ] = False,
    index: IndexOption = None,
    collection: CollectionOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search documents and source code in DATA, or in a database that they were exported to.

    Exit codes: 0 something was found, 3 nothing was found, 2 wrong usage or no index, 1 the server failed.
    """
    from inorder.cli.commands.find.presentation import add_boxes, describe_answer, print_answer
    from inorder.index.search import SearchOptions
    from inorder.index.search import search as find

    rerank = hide_credentials(rerank)
    options = SearchOptions(
        mode=mode,
        count=count,
        path=path or "",
        language=language or "",
        kind=kind or "",
        type=type_ or "",
        source=source or "",
        only=only,
        rerank=rerank,
        context=neighbours,
    )
    if index is None:
        require(collection is None, "--collection needs --index")
        answer = find(find_index(resolve_data(data)), " ".join(question), options)
    else:
        require(data is None, "--index and --data exclude each other")
        place = hide_credentials(index)
        answer = search_target(place, collection or TargetOptions().collection, " ".join(question), options)
    for warning in answer.warnings:
        info(f"warning: {to_printable(warning)}")
    if as_json:
        described = describe_answer(answer, context)
        if index is None:
            add_boxes(described["hits"], answer.hits, resolve_data(data))
        print_json(described)
    else:
        print_answer(answer, explains=explain, context=context, is_whole=neighbours > 0)
    if not answer.hits and not answer.places:
        raise typer.Exit(Exit.ITEMS_FAILED)
