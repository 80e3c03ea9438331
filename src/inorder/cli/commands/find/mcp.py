"""`inorder mcp`: the index as tools for assistants, over stdio."""

from typing import Annotated

from inorder.cli.option_spec import Section
from inorder.cli.output import info, print_out
from inorder.cli.parameters import DataOption, make_choice

ASSISTANTS = ("claude-code", "codex", "cursor", "vscode")


def mcp(
    install: Annotated[
        str | None,
        make_choice(
            Section.DISPLAY, "--install", ASSISTANTS, "Print the entry for the settings of this assistant, and end."
        ),
    ] = None,
    data: DataOption = None,
) -> None:
    """Serve the index of DATA to coding assistants over stdio, as tools: search, read, symbols, callers.

    In the settings of the assistant, enter the command `inorder` with the arguments `mcp --data DIR`; `--install NAME`
    prints the entry. Needs the extras ingest and mcp.
    """
    if install is not None:
        from inorder.cli.commands.find.assistants import describe_entry
        from inorder.cli.settings import resolve_data

        place, entry = describe_entry(install, resolve_data(data))
        print_out(entry)
        info(f"this goes into {place}")
        return
    from inorder.cli.commands.find.index_tools import make_server
    from inorder.cli.commands.find.presentation import read_index

    with read_index(data) as (_, folder):
        server = make_server(folder)
    server.run("stdio")
