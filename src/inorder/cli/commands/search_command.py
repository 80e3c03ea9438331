"""`inorder search`, `symbols` and `graph`: asking the index."""

from typing import Annotated, Any

import typer

from inorder.cli.options import DataOption, JsonOption


def search(
    question: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY...",
            help="What to look for, in words; or a name: sym:Kernel.step, def:step, ref:step, imports:msgspec.",
        ),
    ],
    mode: Annotated[
        str, typer.Option(metavar="hybrid|lexical|dense", help="By words, by vectors, or by both, fused by rank.")
    ] = "hybrid",
    count: Annotated[int, typer.Option("-k", "--count", min=1, max=1000, help="How many to show.")] = 10,
    path: Annotated[str, typer.Option(metavar="GLOB", help="Only files whose name matches, as in 'src/*.py'.")] = "",
    language: Annotated[str, typer.Option(metavar="NAME", help="Only source code in this language.")] = "",
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="Only chunks of this kind: function, method, class, section, lines...")
    ] = "",
    only: Annotated[str, typer.Option(metavar="code|document", help="Only source code, or only documents.")] = "",
    explain: Annotated[bool, typer.Option("--explain", help="Show why each is where it is.")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search documents and source code in DATA.

    Exit codes: 0 something was found, 3 nothing was, 2 wrong usage or no index.
    """
    from inorder.cli.commands.search import answered
    from inorder.cli.exit_codes import Exit
    from inorder.cli.output import show_json
    from inorder.index.search import Filters

    filters = Filters(path, language, kind, only)
    answer = answered(" ".join(question), mode, count, filters, data)
    if as_json:
        show_json(answer.described())
    else:
        answer.show(explains=explain)
    if not answer.hits and not answer.places:
        raise typer.Exit(Exit.ITEMS_FAILED)


def symbols(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A source file, or the end of its path.")],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what a source file defines."""
    from inorder.cli.commands.search import index_of, show_places
    from inorder.errors import OperatorError
    from inorder.index.symbols import list_symbols

    with index_of(data) as (connection, _):
        found = list_symbols(connection, path)
    if not found:
        raise OperatorError(f"the index knows no definitions in {path}")
    if not _shown({"path": path, "symbols": found}, as_json=as_json):
        show_places(found)


def graph(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A function, method or class.")],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show where something is defined, who calls it, and what it calls."""
    from inorder.cli.commands.search import index_of, show_places
    from inorder.cli.output import show
    from inorder.errors import OperatorError
    from inorder.index.symbols import call_graph

    with index_of(data) as (connection, _):
        found = call_graph(connection, name)
    if not found["definitions"] and not found["callers"]:
        raise OperatorError(f"the index knows nothing called {name}")
    if _shown(found, as_json=as_json):
        return
    for title, places in (("defined", "definitions"), ("called by", "callers"), ("calls", "callees")):
        show(f"{title}:" if found[places] else f"{title}: nothing known")
        show_places(found[places], indent="  ", shows_caller=places == "callers")


def _shown(found: dict[str, Any], *, as_json: bool) -> bool:
    """For programs, if they ask."""
    from inorder.cli.output import show_json

    if as_json:
        show_json(found)
    return as_json
