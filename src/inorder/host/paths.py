"""Validation of relative paths.

Workers, plans and journals say where the files of an item go. Such a path is accepted only if it stays within its base
directory and is in normal form: code that compares paths would take two spellings of one file for two files.
"""

from inorder.errors import OperatorError


def find_path_problem(path: str) -> str | None:
    """Say why a relative path is not safe; None if it is."""
    if not path:
        return "it is empty"
    if path.startswith("/"):
        return "it is absolute"
    if "\0" in path:
        return "it contains a null character"
    parts = path.split("/")
    if ".." in parts:
        return "it leaves its directory"
    if "" in parts or "." in parts:
        return "it is not in normal form"
    try:
        path.encode()
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    return None


def require_safe_relative(path: str) -> str:
    """Return the path if it is safe. Raises `OperatorError` otherwise."""
    if reason := find_path_problem(path):
        raise OperatorError(f"the path {path!r} cannot be used: {reason}")
    return path
