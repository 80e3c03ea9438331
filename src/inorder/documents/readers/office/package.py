"""The parts of an office file (DOCX, PPTX, XLSX, OpenDocument, EPUB), which is a ZIP archive of XML files.

Nothing in the file is trusted: neither the sizes in the archive nor the XML. Parts are read only if needed and unpacked
up to a limit. A document type declaration, which every entity attack needs, is refused.
"""

import lzma
import posixpath
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from typing import Any
from xml.parsers import expat

from inorder.documents.model import Span, SpanKind
from inorder.documents.readers.spans import Mark, collapse_marked
from inorder.documents.readers.whitespace import collapse_whitespace
from inorder.errors import ReadError

from .decryption import OLE, decrypt

ENTRIES_MAX = 20_000
PART_BYTES_MAX = 256 * 2**20
"""Limit of the unpacked size. Parts are parsed while they are unpacked, so memory depends on the text only."""
WHOLE_BYTES_MAX = 32 * 2**20
"""The same for parts that are held in memory as a whole."""
RATIO_MAX = 400
RATIO_BYTES_MIN = 8 * 2**20
"""Long tables are compressed by a factor of 100, zip bombs by 1000. Smaller parts are not checked."""
_PIECE_BYTES = 1 << 16
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
    LookupError,
)
"""What unpacking a damaged archive may raise."""

Attributes = dict[str, str]
_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w:",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w:",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m:",
    "http://purl.oclc.org/ooxml/officeDocument/math": "m:",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc:",
    "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing": "wp:",
    "http://purl.oclc.org/ooxml/drawingml/wordprocessingDrawing": "wp:",
    "http://schemas.openxmlformats.org/drawingml/2006/main": "a:",
    "http://purl.oclc.org/ooxml/drawingml/main": "a:",
    "http://schemas.openxmlformats.org/drawingml/2006/chart": "c:",
    "http://purl.oclc.org/ooxml/drawingml/chart": "c:",
    "urn:schemas-microsoft-com:vml": "v:",
    "http://purl.org/dc/elements/1.1/": "dc:",
    "http://schemas.openxmlformats.org/package/2006/relationships": "rel:",
    "http://schemas.openxmlformats.org/presentationml/2006/main": "p:",
    "http://purl.oclc.org/ooxml/presentationml/main": "p:",
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main": "x:",
    "http://purl.oclc.org/ooxml/spreadsheetml/main": "x:",
    "urn:oasis:names:tc:opendocument:xmlns:office:1.0": "office:",
    "urn:oasis:names:tc:opendocument:xmlns:text:1.0": "text:",
    "urn:oasis:names:tc:opendocument:xmlns:table:1.0": "table:",
    "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0": "draw:",
    "urn:oasis:names:tc:opendocument:xmlns:style:1.0": "style:",
    "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0": "presentation:",
    "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0": "svg:",
    "urn:oasis:names:tc:opendocument:xmlns:container": "ocf:",
    "http://www.idpf.org/2007/opf": "opf:",
}


class _ShortNames(dict[str, str]):
    """Maps qualified names to short ones such as `w:p`. Bounded: a file may invent thousands of names."""

    def __missing__(self, name: str) -> str:
        namespace, _, local_name = name.rpartition(" ")
        short = _PREFIXES.get(namespace, "?:") + local_name
        if len(self) < SHORT_NAMES_MAX:
            self[name] = short
        return short


SHORT_NAMES_MAX = 4096
SHORT_NAMES = _ShortNames()


def strip_namespaces(attributes: Attributes) -> Attributes:
    """The attributes by their local names."""
    return {name.rpartition(" ")[2]: value for name, value in attributes.items()} if attributes else attributes


def get_relation_id(attributes: Attributes) -> str:
    """The id of a relationship that an element refers to: `r:id`, which is not the `id` of the element itself."""
    return next((value for name, value in attributes.items() if name.endswith("elationships id")), "")


def find_target(relations: "dict[str, Relation]", kind: str) -> str:
    """The first part with a relationship of this kind; empty if there is none."""
    return next((relation.target for relation in relations.values() if relation.kind == kind), "")


class EnoughError(Exception):
    """Raised by a handler that needs no more of a part."""


class Handler:
    """Receives the content of a part while it is parsed. Names are qualified; `SHORT_NAMES` has the short ones."""

    def start(self, name: str, attributes: Attributes) -> None:
        """An element begins."""

    def end(self, name: str) -> None:
        """An element ends."""

    def text(self, text: str) -> None:
        """Text between tags."""


class LinkedText:
    """The text of a paragraph whose end has not been reached, its links, and what is marked in it."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.marks: list[Mark] = []
        self.links: list[tuple[str, str]] = []
        """Text and target of each."""
        self._link_begin = 0
        self._link_target = ""

    def begin_link(self, target: str) -> None:
        """Begin the text of a link; an empty target is none."""
        self._link_begin, self._link_target = len(self.parts), target

    def end_link(self) -> None:
        """End the text of the open link, if there is one."""
        text = collapse_whitespace("".join(self.parts[self._link_begin :]))
        if text and self._link_target:
            self.links.append((text, self._link_target))
        self._link_target = ""

    def add_marked(self, kind: SpanKind, text: str) -> None:
        """Add a piece of text that is marked as a whole."""
        self.marks.append((kind, len(self.parts), len(self.parts) + 1))
        self.parts.append(text)

    def mark_from(self, kinds: Iterable[SpanKind], begin: int) -> None:
        """Mark the pieces from this one on."""
        self.marks += [(kind, begin, len(self.parts)) for kind in kinds]

    def collapse(self) -> tuple[str, list[Span]]:
        """The text with collapsed white space, and its spans."""
        if self.marks:
            return collapse_marked(self.parts, self.marks)
        return collapse_whitespace("".join(self.parts)), []


class Package:
    """An office file. `format_name` and `old_format`, the binary format that it replaced, are for messages. The
    passwords are tried if it is encrypted."""

    def __init__(
        self,
        data: bytes,
        format_name: str = "DOCX",
        old_format: str = "a Word file",
        passwords: Sequence[str] = (),
    ) -> None:
        if data.startswith(OLE):
            data = decrypt(data, old_format, passwords)
        try:
            self._archive = zipfile.ZipFile(BytesIO(data))
        except _DAMAGE as error:
            article = "an" if format_name[0] in "AEIOX" else "a"
            raise ReadError(f"not {article} {format_name} file, or damaged: {error}") from error
        if len(self._archive.infolist()) > ENTRIES_MAX:
            raise ReadError(f"the archive has more than {ENTRIES_MAX:,} entries")
        self._names = {name.lower(): name for name in self._archive.namelist()}
        self._deflated: dict[str, bytes] = {}

    def parse(self, part: str, handler: Handler) -> bool:
        """Parse a part. Returns false if there is no part of this name."""
        if not self.has(part):
            return False
        parser = _make_parser(handler, part)
        try:
            for piece in self._read_pieces(part):
                parser.Parse(piece, False)
            parser.Parse(b"", True)
        except EnoughError:
            pass
        except expat.ExpatError as error:
            raise ReadError(f"{part} is damaged: {error}") from error
        except (LookupError, ValueError) as error:  # an encoding that Python does not know
            raise ReadError(f"{part} cannot be decoded: {error}") from error
        return True

    def read(self, part: str) -> bytes:
        """The content of a part; empty if there is no part of this name."""
        pieces, total = [], 0
        for piece in self._read_pieces(part):
            pieces.append(piece)
            total += len(piece)
            if total > WHOLE_BYTES_MAX:
                raise ReadError(f"{part} unpacks to more than {WHOLE_BYTES_MAX:,} bytes")
        return b"".join(pieces)

    def has(self, part: str) -> bool:
        """Whether there is a part of this name."""
        return part.lower() in self._names

    def replace(self, part: str, deflated: bytes) -> None:
        """Let a part that was encrypted have this content, which is compressed."""
        self._deflated[self._names[part.lower()]] = deflated

    def _read_pieces(self, part: str) -> Iterator[bytes]:
        name = self._names.get(part.lower())
        if name is None:
            return
        if name in self._deflated:
            yield _inflate(name, self._deflated[name])
            return
        info = self._archive.getinfo(name)
        if info.flag_bits & 1:
            raise ReadError(f"{name} is encrypted")
        if info.file_size > PART_BYTES_MAX:
            raise ReadError(f"{name} unpacks to {info.file_size:,} bytes; the limit is {PART_BYTES_MAX:,}")
        if info.file_size > RATIO_BYTES_MIN and info.file_size > info.compress_size * RATIO_MAX:
            raise ReadError(f"{name} unpacks to more than {RATIO_MAX} times its size (a zip bomb?)")
        try:
            yield from self._unpack(info)
        except _DAMAGE as error:
            raise ReadError(f"{name} cannot be unpacked: {error}") from error

    def _unpack(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        unpacked = 0
        with self._archive.open(info) as stream:
            while piece := stream.read(_PIECE_BYTES):
                unpacked += len(piece)
                if unpacked > PART_BYTES_MAX:
                    raise ReadError(f"{info.filename} unpacks to more than {PART_BYTES_MAX:,} bytes")
                yield piece

    def read_relations(self, part: str) -> "dict[str, Relation]":
        """The relationships of a part, by id."""
        folder, name = posixpath.split(part)
        found = _Relations(folder)
        self.parse(posixpath.join(folder, "_rels", f"{name}.rels"), found)
        return found.by_id


def _inflate(name: str, deflated: bytes) -> bytes:
    """The content of a part that was decrypted, within the limits of the others."""
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    bytes_max = min(PART_BYTES_MAX, max(RATIO_BYTES_MIN, len(deflated) * RATIO_MAX))
    try:
        content = unpacker.decompress(deflated, bytes_max + 1)
    except zlib.error as error:
        raise ReadError(f"{name} cannot be unpacked: {error}") from error
    if len(content) > bytes_max:
        raise ReadError(f"{name} unpacks to too many bytes (a zip bomb?)")
    if not unpacker.eof:
        raise ReadError(f"{name} cannot be unpacked: its end is missing")
    return content


class Relation:
    """A reference of a part to another part or to a URL."""

    __slots__ = ("kind", "target")

    def __init__(self, kind: str, target: str) -> None:
        self.kind = kind
        """The last component of its type: `header`, `hyperlink`."""
        self.target = target


class _Relations(Handler):
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.by_id: dict[str, Relation] = {}

    def start(self, name: str, attributes: Attributes) -> None:
        if SHORT_NAMES[name] == "rel:Relationship":
            attributes = strip_namespaces(attributes)
            target = attributes.get("Target", "")
            if attributes.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", self._folder, target)).lstrip("/")
            kind = attributes.get("Type", "").rpartition("/")[2]
            self.by_id[attributes.get("Id", "")] = Relation(kind, target)


def _make_parser(handler: Handler, part: str) -> expat.XMLParserType:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.text
    parser.StartDoctypeDeclHandler = _make_doctype_handler(part)
    return parser


def _make_doctype_handler(part: str) -> Callable[..., Any]:
    def refuse(*_: Any) -> None:
        raise ReadError(f"{part} has a document type declaration, which is refused because office files have none")

    return refuse
