"""`inorder graph`: callers and callees of a function."""

from typing import Annotated

from inorder.cli.output import print_json, print_out
from inorder.cli.parameters import DataOption, JsonOption, make_argument
from inorder.errors import OperatorError

_TITLES = {"definitions": "defined", "callers": "called by", "callees": "calls"}


def graph(
    name: Annotated[str, make_argument("NAME", "A function, method or class.")],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show where a function, method or class is defined, its callers, and what it calls."""
    from inorder.cli.commands.find.presentation import print_places, read_index
    from inorder.index.symbols import call_graph

    with read_index(data) as (connection, _):
        found = call_graph(connection, name)
    if not found["definitions"] and not found["callers"]:
        raise OperatorError(f"no function, method or class {name} in the index; try `inorder search sym:{name}`")
    if as_json:
        print_json(found)
        return
    for part, title in _TITLES.items():
        print_out(f"{title}:" if found[part] else f"{title}: none found")
        print_places(found[part], indent="  ", shows_caller=part == "callers")
