"""Documents read by docling's converters: docling's own exports, through the same contract as ours."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import docx
import pytest
from docling_core.types.doc import DoclingDocument

from inorder.documents.convert.settings import ConvertSettings, require_readers, settings_of
from inorder.documents.readers import docling, registry
from inorder.errors import OperatorError, ReadError
from inorder.files import optional_deps
from inorder.pipeline.outcome import FileCounts
from tests.documents.pdf_files import draw_lines, draw_pdf
from tests.documents.stage_runs import StageRuns
from tests.documents.workspace import PROSE

pytestmark = pytest.mark.req("DOC-1")

HTML = f"<html><body><p>{PROSE}</p><h1>Rota</h1><table><tr><td>Monday</td><td>Ebba</td></tr></table></body></html>"


def skip_without_docling() -> None:
    for module in ("docling", "bs4", "marko", "pptx", "openpyxl"):
        pytest.importorskip(module, reason="the extra docling is not installed")


def word_document() -> bytes:
    document = docx.Document()
    document.add_heading("Minutes", 1)
    document.add_paragraph(PROSE)
    return save_bytes(document.save)


def slides() -> bytes:
    presentation = pytest.importorskip("pptx").Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[0]).shapes.title.text = PROSE
    return save_bytes(presentation.save)


def workbook() -> bytes:
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.append(["Keeper", PROSE])
    return save_bytes(book.save)


def save_bytes(save: Callable[[io.BytesIO], None]) -> bytes:
    written = io.BytesIO()
    save(written)
    return written.getvalue()


MADE: dict[str, Callable[[], bytes]] = {
    "html": HTML.encode,
    "markdown": f"# Guide\n\n{PROSE}\n".encode,
    "docx": word_document,
    "pptx": slides,
    "xlsx": workbook,
    "csv": f"keeper,duty\nEbba,{PROSE.replace(',', ';')}\n".encode,
    "asciidoc": f"= Guide\n\n{PROSE}\n".encode,
}


@pytest.mark.parametrize("kind", MADE)
def test_every_kind_is_exported_as_docling_does_it(kind: str) -> None:
    skip_without_docling()
    found = docling.DoclingConverter().convert(kind, MADE[kind](), "guide", "guide.odd")
    document = DoclingDocument.model_validate_json(found.record)
    assert document.export_to_doctags() == found.doctags.decode()
    assert "the lamp at dusk" in found.doctags.decode()
    assert (document.name, document.origin and document.origin.filename) == ("guide", "guide.odd")
    assert found.blocks == len(document.texts) + len(document.tables) + len(document.pictures) > 0
    assert (found.tables, found.pages) == (len(document.tables), len(document.pages))


def test_all_kinds_it_is_given_are_tried_here() -> None:
    assert list(MADE) == list(docling.DOCLING_FORMATS)


def test_what_stands_before_the_first_heading_is_part_of_the_page() -> None:
    skip_without_docling()
    record = json.loads(docling.DoclingConverter().convert("html", HTML.encode(), "rota", "rota.html").record)
    [first] = [text for text in record["texts"] if text["text"].startswith("The keeper")]
    assert first["content_layer"] == "body"


@pytest.mark.parametrize(
    ("kind", "data", "reason"),
    [("docx", b"PK\x03\x04 torn", "not a zip file"), ("docx", b"\x89PNG\r\n\x1a\n", "not allowed")],
)
def test_what_it_cannot_read_is_one_line(kind: str, data: bytes, reason: str) -> None:
    skip_without_docling()
    with pytest.raises(ReadError, match=reason) as caught:
        docling.DoclingConverter().convert(kind, data, "broken", "broken")
    message = str(caught.value)
    assert message.startswith("docling cannot read the file: ")
    assert "\n" not in message
    assert len(message) < 400


def test_docling_reads_what_it_can(tmp_path: Path) -> None:
    skip_without_docling()
    runs = StageRuns(tmp_path)
    runs.write("docs/page.html", HTML)
    runs.write("docs/notes.txt", PROSE)
    (runs.docs / "slides.pptx").write_bytes(slides())
    (runs.docs / "torn.docx").write_bytes(b"PK\x03\x04 torn")
    (runs.docs / "letter.pdf").write_bytes(draw_pdf(draw_lines(PROSE)))
    assert runs.run(reader="docling", dense="none").counts == FileCounts(new=4, failed=1)
    rows = {name.removeprefix("docs/"): row for name, row in runs.rows("doctags").items()}
    engine = registry.docling_version().split()[0]
    assert rows["page.html"]["engine"] == rows["slides.pptx"]["engine"] == engine
    assert (rows["page.html"]["tables"], rows["slides.pptx"]["pages"], rows["slides.pptx"]["pages_ocr"]) == (1, 1, 0)
    assert rows["torn.docx"]["error"]["category"] == "input"
    assert "pypdfium2" in rows["letter.pdf"]["engine"]
    assert rows["letter.pdf"]["warnings"] == [docling.PDF_NOT_CONVERTED]
    assert not rows["notes.txt"]["warnings"]
    assert len(runs.done("chunk")) == 4
    runs.run(dense="none")
    assert runs.done("doctags") == {"docs/page.html", "docs/slides.pptx"}


def describe_kinds(settings: ConvertSettings) -> dict[str, str]:
    """What documents of each kind depend on."""
    return {kind: repr(settings_of(settings, kind)) for kind in ("html", "pptx", "docx", "pdf", "text")}


def test_only_what_docling_reads_depends_on_it_and_on_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without_docling()
    found = [describe_kinds(ConvertSettings()), describe_kinds(ConvertSettings(reader="docling"))]
    with monkeypatch.context() as patched:
        patched.setattr(registry, "version", lambda package: "another")
        registry.docling_version.cache_clear()
        found.append(describe_kinds(ConvertSettings(reader="docling")))
    registry.docling_version.cache_clear()
    different = {kind: len({each[kind] for each in found}) for kind in found[0]}
    assert different == {"html": 3, "pptx": 3, "docx": 3, "pdf": 1, "text": 1}


def test_without_its_packages_a_run_is_refused_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional_deps, "find_spec", lambda module: None if module == "docling" else module)
    expected = r"^--reader docling needs the package docling-slim: pip install 'inorder\[docling\]'$"
    with pytest.raises(OperatorError, match=expected):
        require_readers(ConvertSettings(reader="docling"))
