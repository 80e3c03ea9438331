"""What somebody else may have written, and the user has agreed to.

Some settings run code, read secrets or send content elsewhere. They count when the user gives them: on the command
line, in the environment, or in the user's own configuration folder. They also stand in an `inorder.toml`, and in DATA,
where commands such as `retry` and `search` find what the last run was given. Both may come with a repository of
somebody else. There they count if the user has agreed to them: to the file by its content, to what DATA records one by
one. What a run of the user's records in DATA is agreed to by that run.

An agreement is a hash, of the place and of what is said there, in a file of the user's configuration folder.
"""

import contextlib
import os
from hashlib import sha256
from pathlib import Path

from inorder.errors import OperatorError
from inorder.host.regular_file import open_descriptor, read_regular

_TRUSTED = "trusted"
_WHY = "run code, read secrets or send content elsewhere"


def find_config_folder() -> Path:
    """Return the user's own configuration folder, which need not exist."""
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(folder if os.path.isabs(folder) else os.path.expanduser("~/.config"), "inorder")


def is_file_trusted(path: str, content: bytes) -> bool:
    """Whether the user has agreed to a file with this content in this place."""
    return _hash_file(path, content) in _read_agreed()


def trust_file(path: str, content: bytes) -> None:
    """Agree to a file with this content in this place. Raises OperatorError if that cannot be written."""
    try:
        _add(_hash_file(path, content), os.path.abspath(path))
    except OSError as error:
        raise OperatorError(f"cannot write {find_config_folder() / _TRUSTED}: {error.strerror or error}") from error


def trust_recorded(data: str, key: str, value: str) -> None:
    """Agree to what DATA records. If that cannot be written, commands that need it will say so."""
    with contextlib.suppress(OSError):
        _add(_hash_recorded(data, key, value), f"{os.path.realpath(data)} {key}")


def carry_trust(data: str, other: str, key: str, value: str) -> None:
    """Agree to what an export of DATA records if the user has agreed to it in DATA."""
    if _hash_recorded(data, key, value) in _read_agreed():
        trust_recorded(other, key, value)


def require_trusted(data: str, key: str, value: str) -> None:
    """Raise OperatorError if DATA, or an export in a database, records a value that the user has not agreed to."""
    if _hash_recorded(data, key, value) not in _read_agreed():
        command = f"run `inorder config trust --data {data}`"
        way = "export to it yourself" if "://" in data else f"give it again, or {command}"
        raise OperatorError(
            f"{data} records {key} = {value}, which is not trusted: such settings {_WHY}, and what is recorded may "
            f"come from others; {way}"
        )


def is_sending_agreed(place: str) -> bool:
    """Whether the user has agreed that content is sent to a server."""
    return _hash("send", place) in _read_agreed()


def agree_to_sending(place: str) -> None:
    """Agree that content is sent to a server. If that cannot be written, the next run asks again."""
    with contextlib.suppress(OSError):
        _add(_hash("send", place), f"send {place}")


def describe_untrusted(file: str, keys: list[str]) -> str:
    """Return what is said of keys in a file that the user has not agreed to."""
    return (
        f"{file} is not trusted, and sets {', '.join(keys)}: such settings {_WHY}; read it and run "
        "`inorder config trust`, or give them on the command line"
    )


def _read_agreed() -> set[str]:
    try:
        lines = read_regular(find_config_folder() / _TRUSTED).decode("utf-8", "replace").splitlines()
    except OSError:
        return set()
    return {line.partition(" ")[0] for line in lines}


def _add(digest: str, what: str) -> None:
    if digest in _read_agreed():
        return
    path = find_config_folder() / _TRUSTED
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8", errors="replace", opener=open_descriptor) as file:
        file.write(f"{digest} {' '.join(what.split())}\n")


def _hash_file(path: str, content: bytes) -> str:
    return _hash("file", os.path.realpath(os.path.dirname(os.path.abspath(path))), sha256(content).hexdigest())


def _hash_recorded(data: str, key: str, value: str) -> str:
    return _hash("data", data if "://" in data else os.path.realpath(data), key, value)


def _hash(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
