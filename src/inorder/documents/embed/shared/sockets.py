"""Unix sockets on which processes of one run listen."""

import os
import socket

from inorder.errors import InfrastructureError
from inorder.host.temporary_folder import TemporaryFolder, remove_abandoned_folders

_BACKLOG = 1024
_PATH_BYTES_MAX = 100
"""The path of a Unix socket has at most 107 bytes."""


class UnixListener:
    """A socket in a folder that only this user can enter. `name` is what it is for."""

    def __init__(self, name: str) -> None:
        try:
            remove_abandoned_folders()
            self._folder = _create_folder(name)
            self.address = f"{self._folder.path}/{name}"
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.bind(self.address)
            self.socket.listen(_BACKLOG)
        except OSError as error:
            raise InfrastructureError(f"cannot create a socket for the {name}: {error}") from error

    def close(self) -> None:
        """Refuse connections, and remove the folder. Idempotent."""
        self.socket.close()
        self._folder.close()


def _create_folder(name: str) -> TemporaryFolder:
    """A folder with a path that is short enough for a socket."""
    folder = TemporaryFolder()
    if len(os.fsencode(folder.path)) <= _PATH_BYTES_MAX - len(f"/{name}"):
        return folder
    folder.close()
    remove_abandoned_folders("/tmp")
    return TemporaryFolder("/tmp")
