"""Passwords of encrypted documents, from a file that the user names: one per line.

They are read where documents are read, and nowhere else: items, manifests and logs have the path of the file only.
"""

from inorder.errors import OperatorError
from inorder.host.regular_file import open_regular

NO_PASSWORDS = "none"
"""The path that means that there is no file."""
BYTES_MAX = 2**20
PASSWORDS_MAX = 1_000
"""Each is tried for every encrypted document."""


def read_passwords(path: str) -> tuple[str, ...]:
    """Return the passwords of a file, in its order. Raises `OperatorError` if it cannot be read."""
    if path == NO_PASSWORDS:
        return ()
    try:
        with open_regular(path) as file:  # every worker reads it: a pipe can be read only once
            lines = file.read(BYTES_MAX).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise OperatorError(f"the password file {path} cannot be read: {reason}") from None
    return tuple(line for line in lines if line)[:PASSWORDS_MAX]
