"""Mail as an archive: its members are the attachments.

The message itself stays a document. An attachment is identified by the hash of its content.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import BinaryIO

from inorder.documents.readers.mail import (
    ATTACHMENTS_MAX,
    BYTES_MAX,
    MESSAGES_MAX,
    list_attachments,
    split_mailbox,
    unquote_message,
)
from inorder.documents.readers.sniff import HEAD_BYTES

from .entry import ArchiveEntry, MemberChanged
from .names import find_nested_format

_MAY_HAVE_ATTACHMENTS = re.compile(rb"^content-type:\s*(?!text/|multipart/)\S|\bname[*0-9]*=", re.I | re.M)
"""Most messages have none, and to parse a message takes a hundred times as long as to search it."""


class MailArchive:
    """The attachments of a message, or of all messages of a mailbox."""

    def __init__(self, file: BinaryIO, *, is_mailbox: bool) -> None:
        self._data = file.read(BYTES_MAX + 1)
        self._is_mailbox = is_mailbox
        is_small = len(self._data) <= BYTES_MAX
        spans = split_mailbox(self._data) if is_mailbox and is_small else [(0, len(self._data) if is_small else 0)]
        self._spans = spans[:MESSAGES_MAX]
        self._latest: tuple[int, list[tuple[str, bytes]]] | None = None

    def list_entries(self) -> Iterator[ArchiveEntry]:
        """The attachments in the order of the messages. Those of the twelfth message of a mailbox are in a folder `12`.
        Mail without the form of mail has none: its reader says what is wrong with it."""
        for message in range(len(self._spans)):
            for part, (name, content) in enumerate(self._read_message(message)):
                digest = hashlib.sha256(content).hexdigest()
                yield ArchiveEntry(
                    number=message * ATTACHMENTS_MAX + part,
                    name=f"{message + 1}/{name}" if self._is_mailbox else name,
                    size=len(content),
                    fingerprint=digest,
                    sha256=digest,
                    head=content[:HEAD_BYTES],
                    content=content if find_nested_format(name) is not None else None,
                )

    def read(self, number: int, fingerprint: str, passwords: tuple[str, ...]) -> bytes:
        """The content of an attachment."""
        message, part = divmod(number, ATTACHMENTS_MAX)
        found = self._read_message(message) if message < len(self._spans) else []
        content = found[part][1] if part < len(found) else b""
        if hashlib.sha256(content).hexdigest() != fingerprint:
            raise MemberChanged
        return content

    def close(self) -> None:
        """Nothing is open."""

    def _read_message(self, number: int) -> list[tuple[str, bytes]]:
        if self._latest is not None and self._latest[0] == number:
            return self._latest[1]
        begin, end = self._spans[number]
        found: list[tuple[str, bytes]] = []
        if _MAY_HAVE_ATTACHMENTS.search(self._data, begin, end):
            data = self._data[begin:end]
            found = list(list_attachments(unquote_message(data) if self._is_mailbox else data))
        self._latest = number, found
        return found
