"""`inorder plugins`: the plug-ins of installed packages, and those that cannot be used."""

from typing import Any

from inorder.cli.output import format_table, info, print_json, print_out
from inorder.cli.parameters import JsonOption
from inorder.errors import OperatorError
from inorder.extensions.registry import CONTRACTS, Plugin, describe_conflict, list_plugins


def plugins(as_json: JsonOption = False) -> None:
    """List the plug-ins of installed packages: kind, name, package, version, and what cannot be used.

    A plug-in is an entry point of the group inorder.KIND. Each is imported here. What a package has under a name that
    is built in, or that another package has, too, can be used as MODULE:NAME.

    Exit codes: 0 done, 3 a plug-in cannot be used.
    """
    found = [_describe(plugin) for kind in CONTRACTS for plugin in list_plugins(kind)]
    if as_json:
        print_json({"plugins": found})
    else:
        print_out(
            *format_table([tuple(each[name] for name in ("kind", "name", "package", "version")) for each in found])
        )
        info(*(each["problem"] for each in found if each["problem"]))
        if not found:
            info("no installed package has plug-ins")


def _describe(plugin: Plugin) -> dict[str, Any]:
    shown = {"kind": plugin.kind, "name": plugin.name, "package": plugin.package, "version": plugin.version}
    return {**shown, "target": plugin.target, "problem": _find_problem(plugin)}


def _find_problem(plugin: Plugin) -> str | None:
    same = [each for each in list_plugins(plugin.kind) if each.name == plugin.name]
    if len(same) > 1:
        return describe_conflict(same)
    try:
        plugin.load()
    except OperatorError as error:
        return str(error)
    return None
