"""Paths that may be believed.

Where an item's files go is said by workers, by plans and by journals. A path is taken at its word only if it can name
nothing but a place beneath the folder it is relative to, in exactly one way: two spellings of one file would be two
files to everything that compares them.
"""

from inorder.errors import OperatorError


def find_path_problem(path: str) -> str | None:
    """What is wrong with a relative path; None: nothing."""
    if not path:
        return "it is empty"
    if path.startswith("/"):
        return "it is absolute"
    if "\0" in path:
        return "it has a zero character in it"
    parts = path.split("/")
    if ".." in parts:
        return "it leads out of its folder"
    if "" in parts or "." in parts:
        return "it is not in its plainest form"
    try:
        path.encode()
    except UnicodeEncodeError:
        return "it is not Unicode"
    return None


def require_safe_relative(path: str) -> str:
    """The path itself, if it names a place beneath the folder it is relative to. Raises `OperatorError` otherwise."""
    if reason := find_path_problem(path):
        raise OperatorError(f"the path {path!r} cannot be used: {reason}")
    return path
