"""What the tests of the readers share: blocks in a few words, and every word of a document in order."""

import io
import re
import zipfile

from inorder.documents.model import AnyBlock, Document, Picture, Table

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def said(document: Document) -> list[tuple[str, str]]:
    """Every block as its kind and its text."""
    return [(type(block).__name__.lower(), text_of(block)) for block in document.blocks]


def text_of(block: AnyBlock) -> str:
    match block:
        case Table():
            rows: dict[int, list[str]] = {}
            for cell in block.cells:
                rows.setdefault(cell.row, []).append(cell.text)
            return " / ".join(" | ".join(row) for row in rows.values())
        case Picture():
            return block.caption
        case _:
            return block.text


def words(document: Document) -> list[str]:
    """Every word, in reading order."""
    found: list[str] = []
    for block in document.blocks:
        if isinstance(block, Table):
            found += re.findall(r"\w+", block.caption)
        found += re.findall(r"\w+", text_of(block))
    return found


def docx(body: str, parts: dict[str, str] | None = None, relations: str = "") -> bytes:
    """A Word file with this body, in WordprocessingML with the prefix `w`."""
    files = {
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}">'
        f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{PACKAGE}">{relations}</Relationships>',
        "word/document.xml": part("document", f"<w:body>{body}</w:body>"),
        **(parts or {}),
    }
    return archive({name: content.encode() for name, content in files.items()})


def archive(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archived:
        for name, content in files.items():
            archived.writestr(name, content)
    return packed.getvalue()


def part(root: str, content: str) -> str:
    """A part of a Word file."""
    return f'<w:{root} xmlns:w="{W}" xmlns:r="{R}">{content}</w:{root}>'


def relation(identity: str, kind: str, target: str) -> str:
    mode = ' TargetMode="External"' if "://" in target else ""
    return f'<Relationship Id="{identity}" Type="{OFFICE}/{kind}" Target="{target}"{mode}/>'


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def styled(text: str, style: str) -> str:
    return paragraph(text, f'<w:pStyle w:val="{style}"/>')
