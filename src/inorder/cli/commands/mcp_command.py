"""`inorder mcp`: the index as tools for assistants, over standard input and output (the Model Context Protocol)."""

from inorder.cli.options import DataOption


def mcp(data: DataOption = None) -> None:
    """Serve the index of DATA to coding assistants over stdio, as tools: search, symbol, read_chunk.

    Needs the extra `mcp`: pip install 'inorder[mcp]'. In the settings of the assistant, name the command `inorder` with
    the arguments `mcp --data DIR`.
    """
    from inorder.cli.commands.search import index_of
    from inorder.errors import OperatorError

    try:
        from inorder.cli.commands.mcp import server_of
    except ModuleNotFoundError as error:
        raise OperatorError(f"inorder mcp needs the package {error.name}: pip install 'inorder[mcp]'") from error
    with index_of(data) as (_, folder):
        server = server_of(folder)
    server.run("stdio")
