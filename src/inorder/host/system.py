"""What a system must have for what inorder does.

Linux has everything. macOS has no `/proc`, `memfd_create`, `pidfd_open` and the like, which are replaced or left out.
Where the modules and calls of POSIX are missing, as on Windows, the package can be imported, and `imap` and lanes work
with threads.
"""

import sys
from importlib.util import find_spec

from inorder.errors import require


def require_posix(what: str) -> None:
    """Raise OperatorError if this system has no locks and processes of POSIX. `what`, in the plural, need them."""
    require(
        find_spec("fcntl") is not None,
        f"{what} are supported on Linux and macOS, and not on this system ({sys.platform}); threads are: "
        "inorder.imap with where='threads'",
    )
