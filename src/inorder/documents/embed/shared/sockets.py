"""Unix sockets on which processes of one run listen."""

import os
import shutil
import socket
import tempfile

from inorder.errors import InfrastructureError

_BACKLOG = 1024
_PATH_BYTES_MAX = 100
"""The path of a Unix socket has at most 107 bytes."""


class UnixListener:
    """A socket in a folder that only this user can enter. `name` is what it is for."""

    def __init__(self, name: str) -> None:
        try:
            self._folder = _create_folder(name)
            self.address = f"{self._folder}/{name}"
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.bind(self.address)
            self.socket.listen(_BACKLOG)
        except OSError as error:
            raise InfrastructureError(f"cannot create a socket for the {name}: {error}") from error

    def close(self) -> None:
        """Refuse connections, and remove the folder. Idempotent."""
        self.socket.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _create_folder(name: str) -> str:
    """A folder with a path that is short enough for a socket."""
    folder = tempfile.mkdtemp(prefix="inorder-")
    if len(os.fsencode(folder)) <= _PATH_BYTES_MAX - len(f"/{name}"):
        return folder
    os.rmdir(folder)
    return tempfile.mkdtemp(prefix="inorder-", dir="/tmp")
