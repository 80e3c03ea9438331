"""Reads mail: single messages (EML) and mailboxes (MBOX).

The subject is the title; sender, recipients and date come first. The body is read from its HTML, if it has any, else
from its plain text. Then come the names of the attachments, which are documents of their own, and forwarded messages.
"""

import contextlib
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.message import Message
from itertools import islice
from typing import Any

from inorder.documents.model import AnyBlock, Document, Heading, Paragraph, Title
from inorder.errors import ReadError

from .document import make_document, require_size
from .html.reader import read_page
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
_SIGNATURES = frozenset(("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"))
_SEPARATOR = re.compile(rb"(?:\A|(?<=\n))From [^\r\n]*\r?\n")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.M)


def read(data: bytes, name: str) -> Document:
    """Read a message."""
    require_size(data, BYTES_MAX, "mail")
    reader = _MailReader()
    blocks = reader.read_all(data)
    if not blocks:
        raise ReadError("not a message: it has neither headers nor text")
    if type(blocks[0]) is Heading:
        blocks[0] = Title(text=blocks[0].text)
    return make_document("mail", name, "message/rfc822", blocks, reader.warnings)


def read_mailbox(data: bytes, name: str) -> Document:
    """Read a mailbox: each message is a section."""
    require_size(data, BYTES_MAX, "mail")
    reader = _MailReader()
    spans = split_mailbox(data)
    if not spans:
        raise ReadError("not a mailbox: no line begins with 'From '")
    if len(spans) > MESSAGES_MAX:
        reader.warnings.append(f"only the first {MESSAGES_MAX:,} of {len(spans):,} messages were read")
    blocks: list[AnyBlock] = []
    for begin, end in spans[:MESSAGES_MAX]:
        blocks += reader.read_all(unquote_message(data[begin:end]))
    return make_document("mailbox", name, "application/mbox", blocks, reader.warnings)


def split_mailbox(data: bytes) -> list[tuple[int, int]]:
    """Where each message of a mailbox begins and ends."""
    starts = [match.span() for match in _SEPARATOR.finditer(data)]
    ends = [begin for begin, _ in starts[1:]] + [len(data)]
    return [(begin, end) for (_, begin), end in zip(starts, ends, strict=False)]


def unquote_message(data: bytes) -> bytes:
    """A message of a mailbox as it was sent."""
    return _QUOTED_FROM.sub(rb"\1", data)


def list_attachments(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and content of every attachment of a message, and of the messages in it. A damaged message has none."""
    with contextlib.suppress(Exception):  # of many kinds: see `_MailReader.read_all`
        message, _ = _parse(data)
        yield from islice(_list_attachments(message, 0), ATTACHMENTS_MAX)


def _list_attachments(message: Any, depth: int) -> Iterator[tuple[str, bytes]]:
    for number, part in enumerate(_walk(message), 1):
        nested = _find_nested(part)
        if nested is not None and depth < DEPTH_MAX:
            yield from _list_attachments(nested, depth + 1)
        elif nested is None and _is_attachment(part):
            yield _find_name(part) or f"part-{number}", _decode_bytes(part)


class _MailReader:
    """Reads messages, and collects their warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self._attachments_left = ATTACHMENTS_MAX

    def read_all(self, data: bytes) -> list[AnyBlock]:
        """The blocks of a message. The standard library raises many kinds of errors for malformed headers, when it
        parses them and when they are used."""
        try:
            message, warnings = _parse(data)
            self.warnings += warnings
            return list(self.read_message(message, 0))
        except (MemoryError, ReadError):
            raise
        except Exception as error:
            raise ReadError(f"the message is damaged: {type(error).__name__}") from None

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
            if _is_attachment(part):
                attachments.append(part)
            elif _is_text(part):
                body += self._read_body(part)
        yield from _lower(body, depth + 1)
        for part in attachments:
            yield from self._read_attachment(part, depth)

    def _read_body(self, part: Any) -> list[AnyBlock]:
        text = _decode_text(part)
        if part.get_content_subtype() == "html":
            return read_page(text.encode("utf-8", "replace"), self.warnings, keep_all=True).blocks
        return split_paragraphs(text)

    def _read_attachment(self, part: Any, depth: int) -> Iterator[AnyBlock]:
        self._attachments_left -= 1
        if self._attachments_left < 0:
            self._warn_once(f"only the first {ATTACHMENTS_MAX:,} attachments were read")
            return
        nested = _find_nested(part)
        if nested is None:
            yield Paragraph(text=f"Attachment: {_find_name(part) or 'without a name'}")
        elif depth < DEPTH_MAX:
            yield from self.read_message(nested, depth + 1)
        else:
            self._warn_once(f"messages more than {DEPTH_MAX} levels deep in others were not read")

    def _warn_once(self, warning: str) -> None:
        if warning not in self.warnings:
            self.warnings.append(warning)


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


def _parse(data: bytes) -> tuple[Message, list[str]]:
    """A message without headers that would take long to decode, and the warnings about them."""
    message = message_from_bytes(data, policy=policy.compat32)
    warnings = []
    for part in message.walk():
        for name, value in part.items():
            if len(str(value)) > RAW_HEADER_CHARACTERS_MAX:
                del part[name]
                warnings.append(f"a header of more than {RAW_HEADER_CHARACTERS_MAX:,} characters was left out")
    return message, warnings


def _is_attachment(part: Any) -> bool:
    if part.get_content_type() in _SIGNATURES:
        return False
    return bool(part.get_content_type() == "message/rfc822" or part.get_filename() or not _is_text(part))


def _find_nested(part: Any) -> Any:
    """The message that a part is; None: it is none."""
    return part.get_payload(0) if part.get_content_type() == "message/rfc822" and part.is_multipart() else None


def _find_name(part: Any) -> str:
    return _decode_header(str(part.get_filename() or ""))


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
