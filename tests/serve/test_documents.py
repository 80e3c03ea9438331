"""Documents and source code: what is shown of them, and that nothing else can be read."""

import os
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


def test_documents_are_listed_with_those_that_failed(site: Site, client: TestClient) -> None:
    found = client.get("/api/documents").json()
    assert found["total"] == 4, "source code is no document"
    assert client.get("/api/documents?k=2").json()["documents"] == found["documents"][:2]
    after = found["documents"][1]["id"]
    assert client.get("/api/documents", params={"after": after}).json()["documents"] == found["documents"][2:]
    assert client.get("/api/documents?text=%25").json()["total"] == 0, "no character is a wildcard"
    assert [each["id"] for each in client.get("/api/documents?text=TIDES").json()["documents"]] == ["docs/tides.pdf"]


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


def test_a_document_shows_its_way_through_the_steps(client: TestClient) -> None:
    steps = {step["stage"]: step for step in client.get("/api/document?id=docs/note.md").json()["steps"]}
    assert {name: step["status"] for name, step in steps.items()} == dict.fromkeys(
        ("doctags", "chunk", "embed (dense)", "index"), "success"
    )
    assert steps["doctags"]["facts"]["tables"] == 1
    code = client.get("/api/document?id=docs/lamp.py").json()
    assert code["blocks"] == []
    steps = {step["stage"]: step for step in code["steps"]}
    assert (steps["doctags"]["status"], steps["index"]["facts"]["kind"]) == ("none", "code")


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
    assert client.get("/api/documents").json()["total"] == 2
    (docs / "new.md").write_text("# New")
    (docs / "note.md").unlink()
    Site(tmp_path).read_docs()
    found = client.get("/api/documents").json()["documents"]
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
    found = client.get("/api/documents").json()["documents"]
    assert [(each["id"], each["status"]) for each in found] == [
        ("docs/a.md", "read"),
        ("docs/b.md", "copy"),
        ("docs/scan.png", "not read"),
        ("docs/torn.pdf", "failed"),
    ]
    assert (outcome.counts.failed, outcome.counts.not_read, outcome.counts.copies) == (1, 1, 1)
    assert client.get("/api/documents", params={"status": "failed"}).json()["total"] == 1
    steps = client.get("/api/document?id=docs/b.md").json()["steps"]
    assert (steps[0]["status"], steps[0]["note"]) == ("copy", "the same content as docs/a.md")


@pytest.mark.slow
def test_the_warnings_of_a_document_are_shown(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.write(**{"scan.html": "<nav>Only a menu</nav>"})
    site.read_docs()
    [step, *_] = make_client(site.data).get("/api/document?id=docs/scan.html").json()["steps"]
    assert (step["stage"], step["status"]) == ("doctags", "success")
    assert any("only navigation" in warning for warning in step["warnings"]), step
