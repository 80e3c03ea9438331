"""`inorder mcp`: the index as tools for assistants, over stdio."""

from inorder.cli.parameters import DataOption


def mcp(data: DataOption = None) -> None:
    """Serve the index of DATA to coding assistants over stdio, as tools: search, read, symbols, callers.

    In the settings of the assistant, enter the command `inorder` with the arguments `mcp --data DIR`. Needs the extras
    ingest and mcp.
    """
    from inorder.cli.commands.find.index_tools import make_server
    from inorder.cli.commands.find.presentation import read_index

    with read_index(data) as (_, folder):
        server = make_server(folder)
    server.run("stdio")
