"""paramiko's SFTP server in threads of the tests, over a folder. It accepts one key."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import paramiko
from paramiko import SFTPAttributes, SFTPHandle

from tests.support.command_line import GUARD_S


class _Login(paramiko.ServerInterface):
    """Lets the user `ann` in, with the key."""

    def __init__(self, key: paramiko.PKey) -> None:
        self._key = key

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        is_known = username == "ann" and key == self._key
        return paramiko.AUTH_SUCCESSFUL if is_known else paramiko.AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.OPEN_SUCCEEDED


class _OpenFile(SFTPHandle):
    """A file that is read."""

    def __init__(self, path: Path, may_read: threading.Event | None) -> None:
        super().__init__()
        self.readfile = open(path, "rb")  # noqa: SIM115 - the base class closes it
        self._may_read = may_read

    def read(self, offset: int, length: int) -> Any:
        if self._may_read is not None:
            self._may_read.wait(GUARD_S)
        return super().read(offset, length)


class _Folder(paramiko.SFTPServerInterface):
    """The files below a folder, for reading."""

    def __init__(self, server: _Login, *arguments: Any, owner: "SftpServer") -> None:
        super().__init__(server, *arguments)
        self._folder = owner.folder
        self._owner = owner

    def list_folder(self, path: str) -> Any:
        try:
            place = self._find(path)
            return [SFTPAttributes.from_stat(os.lstat(place / name), name) for name in os.listdir(place)]
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)

    def stat(self, path: str) -> Any:
        try:
            return SFTPAttributes.from_stat(os.stat(self._find(path)))
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)

    def lstat(self, path: str) -> Any:
        try:
            return SFTPAttributes.from_stat(os.lstat(self._find(path)))
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)

    def open(self, path: str, flags: int, attr: Any) -> Any:
        try:
            found = _OpenFile(self._find(path), self._owner.let_go if path == self._owner.held else None)
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)
        self._owner.opened.append(path)
        return found

    def _find(self, path: str) -> Path:
        return self._folder / path.lstrip("/")


class SftpServer:
    """A server on a free port of the loopback interface."""

    def __init__(self, folder: Path, key: paramiko.PKey) -> None:
        self.opened: list[str] = []
        """The paths of all files that were opened."""
        self.held = ""
        """The path of the file whose content does not arrive before `let_go`."""
        self.let_go = threading.Event()
        self.folder = folder
        self._key = key
        self._host_key = paramiko.RSAKey.generate(2048)
        self._transports: list[paramiko.Transport] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def drop_connections(self) -> None:
        """Close every connection, as a server that is started again does."""
        while self._transports:
            self._transports.pop().close()

    def close(self) -> None:
        """Stop serving."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        self.drop_connections()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            transport = paramiko.Transport(connection)
            transport.add_server_key(self._host_key)
            transport.set_subsystem_handler("sftp", paramiko.SFTPServer, _Folder, owner=self)
            self._transports.append(transport)
            with suppress(paramiko.SSHException, EOFError):
                transport.start_server(event=threading.Event(), server=_Login(self._key))


@contextmanager
def serve_sftp(folder: Path, home: Path) -> Iterator[SftpServer]:
    """A server of a folder. Its key is in the folder `.ssh` of `home`, where clients look for it."""
    key = paramiko.RSAKey.generate(2048)
    (home / ".ssh").mkdir(parents=True)
    key.write_private_key_file(str(home / ".ssh" / "id_rsa"))
    server = SftpServer(folder, key)
    try:
        yield server
    finally:
        server.close()
