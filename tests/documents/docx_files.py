"""Builds Word files for the tests, from WordprocessingML."""

import io
import zipfile

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def make_docx(body: str, parts: dict[str, str] | None = None, relations: str = "") -> bytes:
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


def styled_paragraph(text: str, style: str) -> str:
    return paragraph(text, f'<w:pStyle w:val="{style}"/>')
