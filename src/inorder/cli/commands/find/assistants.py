"""How assistants are told of the server: the entry of each, and the file that it goes into."""

import os
import shutil
import sys
from typing import Any

import msgspec

from inorder.errors import require

_FILES = {
    "claude-code": (".mcp.json", "mcpServers", {}),
    "cursor": (".cursor/mcp.json", "mcpServers", {}),
    "vscode": (".vscode/mcp.json", "servers", {"type": "stdio"}),
}
"""By assistant: the file in the folder of a project, the name of the servers in it, and what an entry has besides."""
_CODEX_FILE = "~/.codex/config.toml"


def describe_entry(assistant: str, data: str) -> tuple[str, str]:
    """The file that the entry of an assistant goes into, and the entry. Raises OperatorError for an unknown one."""
    known = sorted([*_FILES, "codex"])
    require(assistant in known, f"--install must be one of {', '.join(known)}; got {assistant!r}")
    command, arguments = _find_command(os.path.abspath(data))
    if assistant == "codex":
        values = (f"{name} = {msgspec.json.encode(value).decode()}" for name, value in _pair(command, arguments))
        return _CODEX_FILE, "\n".join(["[mcp_servers.inorder]", *values])
    file, servers, more = _FILES[assistant]
    entry: dict[str, Any] = {**more, **dict(_pair(command, arguments))}
    return file, msgspec.json.format(msgspec.json.encode({servers: {"inorder": entry}}), indent=2).decode()


def _find_command(data: str) -> tuple[str, list[str]]:
    """The program with its path, because an assistant may have another search path."""
    found = shutil.which("inorder")
    arguments = ["mcp", "--data", data]
    return (os.path.abspath(found), arguments) if found else (sys.executable, ["-m", "inorder", *arguments])


def _pair(command: str, arguments: list[str]) -> list[tuple[str, Any]]:
    return [("command", command), ("args", arguments)]
