"""Reads mailboxes (MBOX): see `mail`."""

from inorder.documents.model import Document

from .mail import read_mailbox


def read(data: bytes, name: str) -> Document:
    """Read a mailbox."""
    return read_mailbox(data, name)
