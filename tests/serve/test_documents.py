"""Documents and source code: what is shown of them, and that nothing else can be read."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from inorder.serve import isolated
from inorder.serve.isolated import ResultCache, highlight, run_isolated
from inorder.serve.markup import render_markdown, sanitise
from inorder.serve.problems import RequestError
from tests.serve.conftest import make_client
from tests.serve.site import CODE, HOSTILE_MARKDOWN, HOSTILE_PAGE, NOTE, Site

pytestmark = pytest.mark.req("VIS-2")
SECRET = "the combination is 4711"


def list_files(client: TestClient, **params: str | int) -> list[str]:
    found = client.get("/api/files", params=params).json()
    assert found["total"] >= len(found["files"])
    return [each["id"] for each in found["files"]]


def test_files_are_listed_in_pages(client: TestClient) -> None:
    found = list_files(client)
    assert found == ["docs/deep/storm.md", "docs/lamp.py", "docs/note.md", "docs/tempest.html", "docs/tides.pdf"]
    assert list_files(client, k=2) == found[:2]
    assert list_files(client, k=2, after=found[1]) == found[2:4]
    assert client.get("/api/files?k=2").json()["total"] == 5
    assert list_files(client, text="%") == [], "no character is a wildcard"
    assert list_files(client, text="TIDES") == ["docs/tides.pdf"]


def test_files_are_filtered_by_state_type_and_source(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.write(
        **{
            "a.md": NOTE,
            "b.md": NOTE,
            "torn.PDF": b"%PDF-1.4 torn",
            "scan.png": b"\x89PNG\r\n\x1a\n0",
            "Makefile": "all:",
        }
    )
    more = tmp_path / "docs_2" / "more.md"
    more.parent.mkdir()
    more.write_text("# More\n\nOf it.\n")
    site.run(site.docs, more.parent)
    client = make_client(site.data)
    assert list_files(client, status="read") == ["docs/Makefile", "docs/a.md", "docs_2/more.md"]
    assert list_files(client, status="copy") == ["docs/b.md"]
    assert list_files(client, type=".pdf") == ["docs/torn.PDF"]
    assert list_files(client, type="Makefile") == ["docs/Makefile"]
    assert list_files(client, type=".md", status="read", source="docs") == ["docs/a.md"], "_ is no wildcard"
    assert list_files(client, source="docs_2") == ["docs_2/more.md"]
    facets = client.get("/api/file-facets").json()
    counts = {name: facets[name] for name in ("files", "read", "copies", "failed", "not_read")}
    assert counts == {"files": 6, "read": 3, "copies": 1, "failed": 1, "not_read": 1}
    for kind in ("types", "sources"):
        for facet in facets[kind]:
            assert len(list_files(client, **{kind[:-1]: facet["value"]})) == facet["count"]
    assert client.get("/api/files?status=skipped").status_code == 400


def test_a_page_of_a_document_has_blocks_with_boxes_and_chunks(client: TestClient) -> None:
    found = client.get("/api/document?id=docs/tides.pdf").json()
    assert (found["pages"], found["page"], found["mimetype"]) == (2, 1, "application/pdf")
    assert "High water" in " ".join(block["text"] for block in found["blocks"])
    for block in found["blocks"]:
        left, top, right, bottom = block["box"]
        assert 0 <= left < right <= 1
        assert 0 <= top < bottom <= 1
        assert block["chunks"] == [0]
    [chunk] = found["chunks"]
    assert chunk["tokens"] > 0
    second = client.get("/api/document?id=docs/tides.pdf&page=2").json()
    assert [block["text"] for block in second["blocks"]] == ["Low water is at six."]
    assert client.get("/api/document?id=docs/tides.pdf&page=9").status_code == 404


def test_a_file_shows_what_each_step_made_of_it(client: TestClient) -> None:
    state = client.get("/api/document?id=docs/note.md").json()["state"]
    assert (state["status"], state["is_code"], state["lost"], state["help"]) == ("read", False, [], "")
    steps = {step["step"]: step for step in state["steps"]}
    assert {name: step["result"] for name, step in steps.items()} == dict.fromkeys(
        ("doctags", "chunk", "index", "embed:dense"), "made"
    )
    assert steps["doctags"]["facts"]["tables"] == 1
    assert all(step["duration_s"] > 0 for step in steps.values())


@pytest.mark.process
def test_source_code_goes_through_its_own_steps(client: TestClient) -> None:
    state = client.get("/api/document?id=docs/lamp.py").json()["state"]
    assert (state["status"], state["is_code"]) == ("read", True)
    assert [(step["step"], step["result"]) for step in state["steps"]] == [("index", "made")]
    assert client.get("/api/source?id=docs/lamp.py").json()["state"] == state


def test_a_file_says_why_it_failed_what_was_lost_and_what_would_help(tmp_path: Path) -> None:
    site = Site(tmp_path)
    sample = Path(__file__).parents[2] / "examples" / "sample" / "archive"
    for name in ("sealed-letters.pdf", "logbook-1952.pdf", "never-written.txt"):
        shutil.copy(sample / name, site.docs)
    site.read_docs()
    client = make_client(site.data)
    sealed, scanned, empty = (
        client.get(f"/api/document?id=docs/{name}").json()["state"]
        for name in ("sealed-letters.pdf", "logbook-1952.pdf", "never-written.txt")
    )
    assert (sealed["status"], sealed["reason"]) == ("failed", "the PDF is encrypted with a password")
    assert "--password-file" in sealed["help"]
    assert [step["result"] for step in sealed["steps"]] == ["failed", "not reached", "not reached"]
    assert (scanned["status"], "--ocr" in scanned["help"]) == ("read", True)
    assert scanned["lost"][0] == "1 of 3 pages without readable text"
    assert any("page 2" in text for text in scanned["lost"])
    assert (empty["status"], empty["reason"], empty["steps"]) == ("not read", "the file is empty", [])
    assert empty["help"] == ""


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("photo.png", b"\x89PNG\r\n\x1a\n0000", "add --ocr"),
        ("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512), "add the extra old-office"),
    ],
)
def test_a_file_that_is_not_read_says_what_would_help(tmp_path: Path, name: str, content: bytes, advice: str) -> None:
    site = Site(tmp_path)
    (site.docs / name).write_bytes(content)
    site.read_docs()
    state = make_client(site.data).get(f"/api/document?id=docs/{name}").json()["state"]
    assert state["status"] == "not read"
    assert advice in state["help"]


def test_tables_are_tables(client: TestClient) -> None:
    blocks = client.get("/api/document?id=docs/note.md").json()["blocks"]
    [table] = [block for block in blocks if block["kind"] == "table"]
    assert [(cell["text"], cell["row"], cell["column"], cell["is_header"]) for cell in table["cells"]] == [
        ("day", 0, 0, True),
        ("oil", 0, 1, True),
        ("1", 1, 0, False),
        ("2 l", 1, 1, False),
    ]


@pytest.mark.process
def test_a_page_is_drawn_in_a_process_of_its_own(client: TestClient) -> None:
    response = client.get("/api/page?id=docs/tides.pdf&page=1")
    assert response.status_code == 200
    assert response.headers["content-type"] == "image/png"
    assert response.content.startswith(b"\x89PNG\r\n\x1a\n")
    wrong = client.get("/api/page?id=docs/tides.pdf&page=7")
    assert (wrong.status_code, wrong.json()["error"]) == (400, "the PDF has 2 pages")
    assert "not a PDF" in client.get("/api/page?id=docs/note.md&page=1").json()["error"]


@pytest.mark.process
def test_a_child_that_hangs_or_dies_is_an_error_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "SECONDS_MAX", 0.0)
    with pytest.raises(RequestError, match="takes longer"):
        run_isolated("page", "1", b"")
    monkeypatch.setattr(isolated, "SECONDS_MAX", 60)
    monkeypatch.setattr(isolated.sys, "executable", shutil.which("false"))
    with pytest.raises(RequestError, match="crashed"):
        run_isolated("page", "1", b"")


@pytest.mark.process
def test_source_code_has_lines_definitions_and_chunks(client: TestClient) -> None:
    found = client.get("/api/source?id=docs/lamp.py").json()
    assert found["note"] == ""
    assert "\n".join("".join(text for _, text in line) for line in found["lines"]) == CODE
    assert ["k", "class"] in found["lines"][3]
    assert [(each["name"], each["line"]) for each in found["symbols"]][:2] == [("Lamp", 4), ("Lamp.light", 5)]
    assert found["chunks"][0]["start"] == 1


def test_callers_and_callees_are_listed(client: TestClient) -> None:
    found = client.get("/api/graph?name=measure").json()
    assert [(call["item_id"], call["line"], call["detail"]) for call in found["callers"]] == [
        ("docs/lamp.py", 6, "Lamp.light")
    ]
    assert [call["name"] for call in found["callees"]] == ["dumps"]


@pytest.mark.slow
def test_every_line_keeps_its_text_in_any_language() -> None:
    for name, text in (
        ("a.py", "x = '''\n\n'''\n"),
        ("a.unknown", "  two\n\n"),
        ("a.js", "/* a\nb */ f()"),
        ("a.md", ""),
    ):
        assert "\n".join("".join(part for _, part in line) for line in highlight(text, name)) == text


@pytest.mark.parametrize("html", [render_markdown(HOSTILE_MARKDOWN), sanitise(HOSTILE_PAGE)])
def test_markup_of_a_document_is_harmless(html: str) -> None:
    lowered = html.lower()
    for word in (
        "script",
        "alert",
        "onerror",
        "onclick",
        "onload",
        "<svg",
        "<iframe",
        "<form",
        "<style",
        "style=",
        "<img",
    ):
        assert word not in lowered
    assert "<h1>" in lowered


def test_a_hostile_original_is_sanitised_and_its_source_is_text(client: TestClient) -> None:
    found = client.get("/api/original?id=docs/tempest.html").json()
    assert "script" not in found["html"].lower()
    assert found["text"] == HOSTILE_PAGE
    blocks = client.get("/api/document?id=docs/deep/storm.md").json()["blocks"]
    assert any("Storm" in block["text"] for block in blocks)


def test_a_download_is_saved_and_never_displayed(client: TestClient) -> None:
    response = client.get("/api/download?id=docs/tempest.html")
    assert response.content == HOSTILE_PAGE.encode()
    assert response.headers["content-disposition"].startswith("attachment;")
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert client.get("/api/download?id=docs/lamp.py").text == CODE


@pytest.mark.slow
@pytest.mark.parametrize(
    "item",
    [
        "docs/../secret.txt",
        "docs/../../../../etc/passwd",
        "/etc/passwd",
        "docs//etc/passwd",
        "docs/%2e%2e/secret.txt",
        "docs/..%2fsecret.txt",
        "docs%2F..%2Fsecret.txt",
        "docs\\..\\secret.txt",
        "docs/secret.txt",
        "..",
        "data/library.sqlite",
        "docs/note.md/../note.md",
        "docs/\u202e.md",
        "file:///etc/passwd",
    ],
)
@pytest.mark.parametrize("path", ["original", "download", "source", "page", "document"])
def test_no_other_file_can_be_named(site: Site, client: TestClient, path: str, item: str) -> None:
    (site.folder / "secret.txt").write_text(SECRET)
    response = client.get(f"/api/{path}", params={"id": item})
    assert response.status_code in (400, 404)
    assert SECRET not in response.text
    assert "root:" not in response.text


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/app.js%00", "/static//etc/passwd"],
)
def test_no_other_file_of_the_package_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code in (400, 404)


def make_own_site(folder: Path) -> tuple[Path, TestClient]:
    """Sources that a test may change, and their DATA."""
    runs = Site(folder)
    runs.write(**{"note.md": NOTE, "deep/storm.md": HOSTILE_MARKDOWN})
    runs.read_docs()
    return runs.docs, make_client(runs.data)


def link_file(docs: Path, outside: Path) -> None:
    (docs / "note.md").unlink()
    (docs / "note.md").symlink_to(outside / "note.md")


def link_folder(docs: Path, outside: Path) -> None:
    shutil.rmtree(docs / "deep")
    (docs / "deep").symlink_to(outside)


@pytest.mark.slow
@pytest.mark.parametrize(("change", "item"), [(link_file, "docs/note.md"), (link_folder, "docs/deep/storm.md")])
def test_a_link_that_leads_out_of_the_sources_is_not_followed(
    tmp_path: Path, change: Callable[[Path, Path], None], item: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("note.md", "storm.md"):
        (outside / name).write_text(SECRET)
    docs, client = make_own_site(tmp_path)
    assert client.get("/api/original", params={"id": item}).status_code == 200
    change(docs, outside)
    response = client.get("/api/original", params={"id": item})
    assert response.status_code == 404
    assert "leads out of the sources" in response.json()["error"]


@pytest.mark.slow
def test_a_link_inside_the_sources_is_followed(tmp_path: Path) -> None:
    docs, client = make_own_site(tmp_path)
    (docs / "note.md").rename(docs / "renamed.md")
    (docs / "note.md").symlink_to("renamed.md")
    assert "Lamps" in client.get("/api/original?id=docs/note.md").json()["text"]


@pytest.mark.slow
def test_a_source_that_is_gone_changed_or_special_says_so(tmp_path: Path) -> None:
    docs, client = make_own_site(tmp_path)
    (docs / "note.md").write_text("changed")
    assert "has changed" in client.get("/api/original?id=docs/note.md").json()["note"]
    (docs / "note.md").unlink()
    assert client.get("/api/original?id=docs/note.md").status_code == 404
    os.mkfifo(docs / "note.md")
    assert "not a file" in client.get("/api/original?id=docs/note.md").json()["error"]
    (docs / "note.md").unlink()
    with (docs / "note.md").open("wb") as file:
        file.truncate(1 << 30)
    assert client.get("/api/original?id=docs/note.md").status_code == 413


def test_results_of_children_are_kept_up_to_a_limit() -> None:
    cache, calls = ResultCache(bytes_max=10), []

    def compute(name: str) -> Callable[[], bytes]:
        return lambda: (calls.append(name), b"12345")[1]

    for name in ("a", "b", "a", "c", "b"):
        assert cache.get(name, compute(name)) == b"12345"
    assert calls == ["a", "b", "c", "b"]


@pytest.mark.slow
def test_the_list_follows_later_runs(tmp_path: Path) -> None:
    docs, client = make_own_site(tmp_path)
    assert len(list_files(client)) == 2
    (docs / "new.md").write_text("# New")
    (docs / "note.md").unlink()
    Site(tmp_path).read_docs()
    found = client.get("/api/files").json()["files"]
    assert [(each["id"], each["status"]) for each in found] == [
        ("docs/deep/storm.md", "read"),
        ("docs/new.md", "read"),
    ]


@pytest.mark.slow
@pytest.mark.req("PIP-5")
def test_files_that_are_failed_not_read_or_copies_are_listed_as_the_run_counts_them(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.write(**{"a.md": NOTE, "b.md": NOTE, "torn.pdf": b"%PDF-1.4 torn", "scan.png": b"\x89PNG\r\n\x1a\n0"})
    outcome = site.read_docs()
    client = make_client(site.data)
    found = client.get("/api/files").json()["files"]
    assert [(each["id"], each["status"]) for each in found] == [
        ("docs/a.md", "read"),
        ("docs/b.md", "copy"),
        ("docs/scan.png", "not read"),
        ("docs/torn.pdf", "failed"),
    ]
    assert (outcome.counts.failed, outcome.counts.not_read, outcome.counts.copies) == (1, 1, 1)
    state = client.get("/api/document?id=docs/b.md").json()["state"]
    assert (state["status"], state["copy_of"], state["steps"]) == ("copy", "docs/a.md", [])


@pytest.mark.slow
def test_the_warnings_of_a_document_are_shown(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.write(**{"scan.html": "<nav>Only a menu</nav>"})
    site.read_docs()
    state = make_client(site.data).get("/api/document?id=docs/scan.html").json()["state"]
    step = state["steps"][0]
    assert (step["step"], step["result"]) == ("doctags", "made")
    assert any("only navigation" in warning for warning in step["warnings"]), step
    assert state["lost"] == step["warnings"]


@pytest.mark.req("PIP-5")
def test_pages_have_no_words_of_the_engine_room() -> None:
    folder = Path(isolated.__file__).parent / "static"
    for path in (*folder.glob("*.js"), *folder.glob("*.html")):
        code = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE)
        assert re.findall(r"(?i)\b(?:skipped|seq|lease|envelope|window)\b(?!\.)", code) == [], path.name


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.req("MOD-1")
def test_a_page_that_a_model_has_read_is_shown_with_its_image_and_the_native_reading(tmp_path: Path) -> None:
    from inorder.documents.convert.settings import ConvertSettings
    from inorder.testing import ModelServer
    from tests.documents.pdf_files import draw_lines, draw_pdf
    from tests.pipeline.scans import make_image

    with ModelServer(
        answer="# Tides\n\nHigh water is at <b>seven</b> <img src='http://tracker.example/x.png'>."
    ) as server:
        model = f"vision:{server.url}#m"
        site = Site(tmp_path, dense="none", convert=ConvertSettings(reader=model, pages="all"))
        site.write(**{"tides.pdf": draw_pdf(draw_lines("High water is at noon."))})
        make_image(3).save(site.docs / "scan.png")
        site.read_docs()
    client = make_client(site.data)
    found = client.get("/api/document?id=docs/tides.pdf").json()
    reading = {"reader": model, "reason": "", "problem": "", "confidence": None, "has_native": True}
    assert found["reading"] == reading
    assert [block["text"] for block in found["blocks"]] == ["Tides", "High water is at seven ."]
    native = client.get("/api/native?id=docs/tides.pdf&page=1").json()
    assert [block["text"] for block in native["blocks"]] == ["High water is at noon."]
    assert client.get("/api/document?id=docs/scan.png").json()["reading"]["has_native"] is False
    assert client.get("/api/page?id=docs/scan.png&page=1").content.startswith(b"\x89PNG")
