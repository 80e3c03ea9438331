"""Reads mail: single messages (EML) and mailboxes (MBOX).

The subject is the title; sender, recipients and date come first. The body is read from its HTML, if it has any, else
from its plain text. Attachments that are documents follow, each under a heading with its name; others are named in a
warning.
"""

import contextlib
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.message import Message
from typing import Any

from inorder.documents.model import AnyBlock, Document, Heading, Paragraph, Title
from inorder.errors import ReadError

from .document import make_document
from .html.reader import read_page
from .registry import READERS, load_reader
from .sniff import sniff
from .text import split_paragraphs
from .whitespace import collapse_whitespace

BYTES_MAX = 256 * 2**20
MESSAGES_MAX = 100_000
ATTACHMENTS_MAX = 1_000
DEPTH_MAX = 5
"""Messages within messages."""
HEADER_CHARACTERS_MAX = 2_000
RAW_HEADER_CHARACTERS_MAX = 20_000
_HEADERS = ("From", "To", "Cc", "Date")
_SEPARATOR = re.compile(rb"(?:\A|(?<=\n))From [^\r\n]*\r?\n")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.M)


def read(data: bytes, name: str) -> Document:
    """Read a message."""
    _require_size(data)
    reader = _MailReader()
    blocks = reader.read_all(data)
    if not blocks:
        raise ReadError("not a message: it has neither headers nor text")
    if type(blocks[0]) is Heading:
        blocks[0] = Title(text=blocks[0].text)
    return make_document("mail", name, "message/rfc822", blocks, reader.warnings)


def read_mailbox(data: bytes, name: str) -> Document:
    """Read a mailbox: each message is a section."""
    _require_size(data)
    reader = _MailReader()
    starts = [match.span() for match in _SEPARATOR.finditer(data)]
    if not starts:
        raise ReadError("not a mailbox: no line begins with 'From '")
    if len(starts) > MESSAGES_MAX:
        reader.warnings.append(f"only the first {MESSAGES_MAX:,} of {len(starts):,} messages were read")
    ends = [begin for begin, _ in starts[1:]] + [len(data)]
    blocks: list[AnyBlock] = []
    for (_, begin), end in list(zip(starts, ends, strict=True))[:MESSAGES_MAX]:
        blocks += reader.read_all(_QUOTED_FROM.sub(rb"\1", data[begin:end]))
    return make_document("mailbox", name, "application/mbox", blocks, reader.warnings)


def _require_size(data: bytes) -> None:
    if len(data) > BYTES_MAX:
        raise ReadError(f"the file has {len(data):,} bytes; the limit for mail is {BYTES_MAX:,}")


class _MailReader:
    """Reads messages, and collects their warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self._attachments_left = ATTACHMENTS_MAX

    def read_all(self, data: bytes) -> list[AnyBlock]:
        """The blocks of a message. The standard library raises many kinds of errors for malformed headers, when it
        parses them and when they are used."""
        try:
            message = message_from_bytes(data, policy=policy.compat32)
            self._remove_long_headers(message)
            return list(self.read_message(message, 0))
        except (MemoryError, ReadError):
            raise
        except Exception as error:
            raise ReadError(f"the message is damaged: {type(error).__name__}") from None

    def _remove_long_headers(self, message: Message) -> None:
        """Remove headers that would take long to decode."""
        for part in message.walk():
            for name, value in part.items():
                if len(str(value)) > RAW_HEADER_CHARACTERS_MAX:
                    del part[name]
                    self.warnings.append(f"a header of more than {RAW_HEADER_CHARACTERS_MAX:,} characters was left out")

    def read_message(self, message: Message, depth: int) -> Iterator[AnyBlock]:
        """The blocks of a message: its subject as a heading, the other headers, the body, the attachments."""
        subject = _get_header(message, "Subject")
        if subject:
            yield Heading(text=subject, level=min(depth + 1, 6))
        for name in _HEADERS:
            if value := _get_header(message, name):
                yield Paragraph(text=f"{name}: {value}")
        body: list[AnyBlock] = []
        attachments: list[Any] = []
        for part in _walk(message):
            if part.get_content_type() == "message/rfc822" or part.get_filename() or not _is_text(part):
                attachments.append(part)
            else:
                body += self._read_body(part)
        yield from _lower(body, depth + 1)
        for part in attachments:
            yield from self._read_attachment(part, depth)

    def _read_body(self, part: Any) -> list[AnyBlock]:
        text = _decode_text(part)
        if part.get_content_subtype() == "html":
            return read_page(text.encode("utf-8", "replace"), self.warnings, keep_all=True)[0]
        return split_paragraphs(text)

    def _read_attachment(self, part: Any, depth: int) -> Iterator[AnyBlock]:
        self._attachments_left -= 1
        if self._attachments_left < 0:
            return
        nested = part.get_payload(0) if part.get_content_type() == "message/rfc822" and part.is_multipart() else None
        if nested is not None:
            if depth < DEPTH_MAX:
                yield from self.read_message(nested, depth + 1)
            return
        name = _decode_header(str(part.get_filename() or "")) or "without a name"
        data = _decode_bytes(part)
        kind = sniff(name, data[:4096])
        if kind not in READERS or kind in ("mail", "mailbox"):
            self.warnings.append(f"the attachment {name} was not read")
            return
        try:
            document = load_reader(kind)(data, name)
        except ReadError as error:
            self.warnings.append(f"the attachment {name} was not read: {error}")
            return
        self.warnings += [f"{name}: {warning}" for warning in document.warnings]
        yield Heading(text=name, level=min(depth + 2, 6))
        for block in _lower(document.blocks, depth + 2):
            block.page = block.box = None
            yield block


def _lower(blocks: list[AnyBlock], levels: int) -> Iterator[AnyBlock]:
    """The blocks with all headings moved down, below the heading of the message."""
    for block in blocks:
        if isinstance(block, Title):
            yield Heading(text=block.text, level=min(levels + 1, 6))
        else:
            if isinstance(block, Heading):
                block.level = min(block.level + levels, 6)
            yield block


def _walk(message: Any) -> Iterator[Any]:
    """The parts of a message. Of alternatives only the best: HTML, else the first text."""
    stack = [message]
    while stack:
        part = stack.pop()
        if part.get_content_type() == "message/rfc822" or not part.is_multipart():
            yield part
            continue
        children = [child for child in part.get_payload() if hasattr(child, "get_content_type")]
        if part.get_content_subtype() == "alternative" and children:
            rich = [child for child in children if child.is_multipart() or child.get_content_subtype() == "html"]
            plain = [child for child in children if child.get_content_type() == "text/plain"]
            children = (rich or plain or children)[:1]
        stack.extend(reversed(children))


def _is_text(part: Any) -> bool:
    return bool(part.get_content_maintype() == "text" and part.get_content_disposition() != "attachment")


def _get_header(message: Any, name: str) -> str:
    value = message.get(name)
    return "" if value is None else _decode_header(str(value))


def _decode_header(value: str) -> str:
    with contextlib.suppress(LookupError, UnicodeError, ValueError):
        value = str(make_header(decode_header(value)))
    return collapse_whitespace(value.encode("utf-8", "replace").decode())[:HEADER_CHARACTERS_MAX]


def _decode_bytes(part: Any) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _decode_text(part: Any) -> str:
    charset = part.get_content_charset() or "utf-8"
    try:
        return _decode_bytes(part).decode(charset, "replace")
    except (LookupError, UnicodeError, ValueError):
        return _decode_bytes(part).decode("utf-8", "replace")
