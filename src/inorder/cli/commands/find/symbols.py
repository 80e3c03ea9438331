"""`inorder symbols`: the definitions in a source file."""

from typing import Annotated

from inorder.cli.output import print_json
from inorder.cli.parameters import DataOption, JsonOption, make_argument
from inorder.errors import OperatorError


def symbols(
    path: Annotated[str, make_argument("PATH", "A source file, or the end of its path.")],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the functions, methods and classes that a source file defines."""
    from inorder.cli.commands.find.presentation import print_places, read_index
    from inorder.index.symbols import list_symbols

    with read_index(data) as (connection, _):
        found = list_symbols(connection, path)
    if not found:
        raise OperatorError(f"no definitions of {path} in the index; check the path, or run `inorder index` again")
    if as_json:
        print_json({"path": path, "symbols": found})
    else:
        print_places(found)
