"""`inorder plugins`: the plug-ins of installed packages, and those that cannot be used."""

from collections.abc import Collection, Mapping
from typing import Any

from inorder.cli.output import format_table, info, print_json, print_out
from inorder.cli.parameters import JsonOption
from inorder.documents.embed.providers.registry import CROSS_ENCODER, PROVIDERS
from inorder.documents.readers.registry import NOT_READERS, READERS
from inorder.errors import OperatorError
from inorder.extensions.registry import CONTRACTS, Plugin, describe_conflict, list_plugins
from inorder.files.addresses import PROTOCOLS as STORES
from inorder.sources.protocols import ALIASES, PROTOCOLS
from inorder.targets.registry import KINDS

_BUILT_IN: Mapping[str, Collection[str]] = {
    "readers": {*READERS, *NOT_READERS},
    "providers": PROVIDERS,
    "rerankers": {CROSS_ENCODER, *PROVIDERS},
    "sources": {*PROTOCOLS, *ALIASES, "file"},
    "targets": {*KINDS, *STORES},
    "steps": (),
}
"""The names that no plug-in can have, by kind."""


def plugins(as_json: JsonOption = False) -> None:
    """List the plug-ins of installed packages: kind, name, package, version, and what is wrong with them.

    A plug-in is an entry point of the group inorder.readers, .providers, .rerankers, .sources, .targets or .steps. Each
    is imported here. Without an entry point, what is in a module is a plug-in under the name MODULE:NAME.
    """
    found = [_describe(plugin) for kind in CONTRACTS for plugin in list_plugins(kind)]
    if as_json:
        print_json({"plugins": found})
        return
    print_out(*format_table([(each["kind"], each["name"], each["package"], each["version"]) for each in found]))
    info(*dict.fromkeys(each["problem"] for each in found if each["problem"]))  # a conflict is that of several
    if not found:
        info("no installed package has plug-ins")


def _describe(plugin: Plugin) -> dict[str, Any]:
    shown = {"kind": plugin.kind, "name": plugin.name, "package": plugin.package, "version": plugin.version}
    return {**shown, "target": plugin.target, "problem": _find_problem(plugin)}


def _find_problem(plugin: Plugin) -> str | None:
    if plugin.name in _BUILT_IN[plugin.kind]:
        return f"{plugin} ({plugin.kind}) has the name of something built in; name it as {plugin.target}"
    same = [each for each in list_plugins(plugin.kind) if each.name == plugin.name]
    if len(same) > 1:
        return describe_conflict(same)
    try:
        plugin.load()
    except OperatorError as error:
        return str(error)
    return None
