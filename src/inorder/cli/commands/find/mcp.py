"""`inorder mcp`: the index as tools for assistants, over stdio."""

import os
from typing import Annotated

import typer

from inorder.cli.option_spec import Section
from inorder.cli.output import info, print_out
from inorder.cli.parameters import DataOption, make_choice, make_option
from inorder.errors import require
from inorder.host.spelling import find_spelled

ASSISTANTS = ("claude-code", "codex", "cursor", "vscode")


def mcp(
    install: Annotated[
        str | None,
        make_choice(
            Section.DISPLAY, "--install", ASSISTANTS, "Print the entry for the settings of this assistant, and end."
        ),
    ] = None,
    writes: Annotated[
        bool,
        typer.Option("--write", help="With --install: add the entry to that file, and keep everything else in it."),
    ] = False,
    may_index: Annotated[
        list[str] | None,
        make_option(
            Section.INPUT,
            "DIR",
            "A folder that the assistant may index again, with the tool update_index. Repeatable. Default: none.",
            "--may-index",
        ),
    ] = None,
    data: DataOption = None,
) -> None:
    """Serve the index of DATA to coding assistants over stdio, as tools: search, read, symbols, callers.

    In the settings of the assistant, enter the command `inorder` with the arguments `mcp --data DIR`; `--install NAME`
    prints the entry, and `--install NAME --write` enters it. Needs the extras ingest and mcp.
    """
    require(install is not None or not writes, "--write needs --install")
    folders = [os.path.abspath(find_spelled(folder)) for folder in may_index or ()]
    if install is not None:
        from inorder.cli.commands.find.assistants import describe_entry, write_entry
        from inorder.cli.settings import resolve_data

        found = describe_entry(install, resolve_data(data), folders)
        if writes:
            info(write_entry(found))
            return
        print_out(found.text)
        info(f"this goes into {found.file}")
        return
    from inorder.cli.commands.find.index_tools import make_server
    from inorder.cli.commands.find.presentation import read_index

    with read_index(data) as (_, folder):
        server = make_server(folder, folders)
    server.run("stdio")
