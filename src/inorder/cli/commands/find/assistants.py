"""How assistants are told of the server: the entry of each, and the file that it goes into."""

import json
import os
import shutil
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from inorder.errors import OperatorError, require
from inorder.host.filesystem import SystemFilesystem, make_directories, write_atomic
from inorder.host.regular_file import read_regular
from inorder.host.spelling import spell

_FILES = {
    "claude-code": (".mcp.json", "mcpServers", {}),
    "cursor": (".cursor/mcp.json", "mcpServers", {}),
    "vscode": (".vscode/mcp.json", "servers", {"type": "stdio"}),
}
"""By assistant: the file in the folder of a project, the name of the servers in it, and what an entry has besides."""
_CODEX_FILE, _CODEX_SERVERS = "~/.codex/config.toml", "mcp_servers"
_NAME = "inorder"
_BACKUP = ".bak"


class AssistantEntry(NamedTuple):
    """The entry of an assistant."""

    file: str
    """The file that it goes into."""
    servers: str
    """What the servers are called in it."""
    values: dict[str, Any]
    text: str
    """The entry as it stands in such a file."""


def describe_entry(assistant: str, data: str, may_index: Sequence[str] = ()) -> AssistantEntry:
    """Return the entry of an assistant. Raises OperatorError for an unknown one."""
    known = sorted([*_FILES, "codex"])
    require(assistant in known, f"--install must be one of {', '.join(known)}; got {assistant!r}")
    arguments = ["mcp", "--data", os.path.abspath(data)]
    arguments += [argument for folder in may_index for argument in ("--may-index", folder)]
    values = _find_command([spell(each) for each in arguments])
    if assistant == "codex":
        lines = (f"{name} = {msgspec.json.encode(value).decode()}" for name, value in values.items())
        text = "\n".join([f"[{_CODEX_SERVERS}.{_NAME}]", *lines])
        return AssistantEntry(_CODEX_FILE, _CODEX_SERVERS, values, text)
    file, servers, more = _FILES[assistant]
    return AssistantEntry(file, servers, {**more, **values}, _format({servers: {_NAME: {**more, **values}}}))


def write_entry(entry: AssistantEntry) -> str:
    """Add an entry to its file, in the current folder or that of the user, and say what was done. What the file had is
    kept, and the file as it was is left beside it. Raises OperatorError for a file that cannot be read or parsed."""
    path = Path(os.path.realpath(os.path.expanduser(entry.file)))
    try:
        before = read_regular(path) if path.exists() else None
        content = (before or b"").decode("utf-8-sig")
        is_toml = path.suffix == ".toml"
        found = tomllib.loads(content) if is_toml else json.loads(content) if content.strip() else {}
    except (OSError, ValueError, RecursionError) as error:
        raise OperatorError(f"{entry.file} cannot be read, and nothing was written: {error}") from None
    servers = found.setdefault(entry.servers, {}) if isinstance(found, dict) else None
    if not isinstance(servers, dict):
        raise OperatorError(f"{entry.file} has no table {entry.servers}, and nothing was written")
    if servers.get(_NAME) == entry.values:
        return f"{entry.file} has this entry already"
    if is_toml:
        require(_NAME not in servers, f"{entry.file} has another entry {_NAME}: remove it, and run this again")
        text = f"{content.rstrip()}\n\n{entry.text}\n".lstrip()
    else:
        servers[_NAME] = entry.values
        text = f"{_format(found)}\n"
    filesystem = SystemFilesystem()
    make_directories(str(path.parent))
    if before is not None:
        write_atomic(filesystem, f"{path}{_BACKUP}", before)
    write_atomic(filesystem, str(path), text.encode())
    return f"written to {entry.file}" + (f"; what it was is in {entry.file}{_BACKUP}" if before is not None else "")


def _format(values: dict[str, Any]) -> str:
    return json.dumps(values, indent=2, ensure_ascii=False)


def _find_command(arguments: list[str]) -> dict[str, Any]:
    """The program with its path, because an assistant may have another search path."""
    found = shutil.which("inorder")
    if found:
        return {"command": os.path.abspath(found), "args": arguments}
    return {"command": sys.executable, "args": ["-m", "inorder", *arguments]}
