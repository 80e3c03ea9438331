"""The originals of members of archives and of attachments: shown, and nothing beside them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from inorder.errors import ReadError
from inorder.serve.isolated import unpack_member
from tests.documents.archives.archive_files import make_archive, make_zip
from tests.documents.archives.test_attachments import make_mail
from tests.serve.conftest import make_client
from tests.serve.site import Site

pytestmark = [pytest.mark.req("VIS-2"), pytest.mark.process]
SECRET = "the combination is 4711"
NOTE = b"# The note\n\nThe lamp is in the box.\n"
OUTSIDE = b"# Outside\n\nA member with a name that leads out.\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Site:
    runs = Site(tmp_path_factory.mktemp("members"), dense="none")
    inner = make_zip({"deep.md": b"# Deep\n\nIn a box within a box.\n"})
    files = {"letters/note.md": NOTE, "../../secret.md": OUTSIDE, "inner.zip": inner}
    (runs.docs / "box.zip").write_bytes(make_zip(files))
    (runs.docs / "bag.tar.gz").write_bytes(make_archive("tar.gz", {"bag.md": b"# The bag\n\nOf a tar archive.\n"}))
    (runs.docs / "mail.eml").write_bytes(make_mail({"attached.md": b"# Attached\n\nTo a mail.\n"}).as_bytes())
    (runs.docs / "plain.md").write_bytes(b"# Plain\n\nA file of its own.\n")
    (runs.folder / "secret.md").write_text(SECRET)
    runs.read_docs()
    return runs


@pytest.fixture
def client(built: Site) -> Iterator[TestClient]:
    with make_client(built.data) as client:
        yield client


@pytest.fixture
def restored(built: Site) -> Iterator[Path]:
    """The archive, which is put back afterwards."""
    archive = built.docs / "box.zip"
    content = archive.read_bytes()
    yield archive
    archive.unlink(missing_ok=True)
    archive.write_bytes(content)


@pytest.mark.parametrize(
    ("item_id", "text"),
    [
        ("docs/box.zip/letters/note.md", "The lamp is in the box."),
        ("docs/box.zip/inner.zip/deep.md", "In a box within a box."),
        ("docs/bag.tar.gz/bag.md", "Of a tar archive."),
        ("docs/mail.eml/attached.md", "To a mail."),
    ],
)
def test_a_member_is_shown_and_saved(client: TestClient, item_id: str, text: str) -> None:
    found = client.get("/api/original", params={"id": item_id}).json()
    assert text in found["text"]
    assert text in found["html"]
    assert found["note"] == ""
    assert text in client.get("/api/download", params={"id": item_id}).text


def test_a_member_whose_name_leads_out_of_its_archive_is_read_from_the_archive(client: TestClient, built: Site) -> None:
    ids = [each["id"] for each in client.get("/api/files").json()["files"]]
    [item_id] = [each for each in ids if each.endswith("secret.md")]
    assert item_id.startswith("docs/box.zip/")
    assert client.get("/api/download", params={"id": item_id}).content == OUTSIDE


@pytest.mark.parametrize(
    "item_id",
    [
        "docs/box.zip/../plain.md",
        "docs/box.zip/../../secret.md",
        "docs/box.zip//etc/passwd",
        "docs/plain.md/secret.md",
        "docs/box.zip/letters/other.md",
        "docs/box.zip/letters/note.md/../../../../secret.md",
        "docs/box.zip/\x00",
    ],
)
@pytest.mark.parametrize("view", ["original", "download", "page"])
def test_an_id_that_is_no_document_is_not_found(client: TestClient, view: str, item_id: str) -> None:
    response = client.get(f"/api/{view}", params={"id": item_id})
    assert response.status_code in (400, 404)
    assert SECRET not in response.text


def test_an_archive_that_became_a_link_out_of_the_sources_is_not_opened(client: TestClient, restored: Path) -> None:
    elsewhere = restored.parent.parent / "elsewhere.zip"
    elsewhere.write_bytes(make_zip({"letters/note.md": SECRET.encode()}))
    restored.unlink()
    restored.symlink_to(elsewhere)
    response = client.get("/api/original", params={"id": "docs/box.zip/letters/note.md"})
    assert response.status_code == 404
    assert SECRET not in response.text


def test_a_member_that_has_changed_is_shown_with_a_note_and_one_that_is_gone_is_not(
    client: TestClient, restored: Path
) -> None:
    restored.write_bytes(make_zip({"letters/note.md": b"# Another note\n"}))
    found = client.get("/api/original", params={"id": "docs/box.zip/letters/note.md"}).json()
    assert (found["text"], found["note"]) == ("# Another note\n", "the file has changed since it was read")
    gone = client.get("/api/original", params={"id": "docs/box.zip/inner.zip/deep.md"})
    assert gone.json()["error"] == "box.zip has no member inner.zip/deep.md any more"
    restored.write_bytes(b"PK\x03\x04 and no more")
    damaged = client.get("/api/original", params={"id": "docs/box.zip/letters/note.md"})
    assert damaged.status_code == 400
    assert "Traceback" not in damaged.text


def test_a_file_that_is_no_archive_has_no_members() -> None:
    with pytest.raises(ReadError, match=r"note\.md is not an archive"):
        unpack_member(b"", "note.md", "x")
