"""`inorder run gs://...` against the server of the package `gcp-storage-emulator`."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from tests.sources.bucket import TEXTS, Bucket, write_files

pytestmark = [pytest.mark.process, pytest.mark.slow]
SOURCE = "gs://handbook/docs"
FILES = {**TEXTS, "b/u %.md": b"# Names\n\nWith letters.\n"}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    pytest.importorskip("gcsfs", reason="`make test-connectors` installs the package gcsfs")
    server_module = pytest.importorskip("gcp_storage_emulator.server", reason="`make test-connectors` installs it")
    server = server_module.create_server("127.0.0.1", 0, in_memory=True, default_bucket="handbook")
    server.start()
    host, port = server._api._httpd.server_address
    values = {"STORAGE_EMULATOR_HOST": f"http://{host}:{port}", "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    yield values
    server.stop()


class GoogleBucket:
    """Puts and removes objects below `docs/`."""

    def __init__(self, host: str) -> None:
        self._host = host

    def put(self, objects: dict[str, bytes]) -> None:
        for key, content in objects.items():
            path = f"upload/storage/v1/b/handbook/o?uploadType=media&name={quote(f'docs/{key}', safe='')}"
            self._send("POST", path, content)

    def remove(self, key: str) -> None:
        self._send("DELETE", f"storage/v1/b/handbook/o/{quote(f'docs/{key}', safe='')}")

    def _send(self, method: str, path: str, content: bytes | None = None) -> None:
        headers = {"Content-Type": "application/octet-stream"}
        urlopen(Request(f"{self._host}/{path}", content, headers, method=method)).close()


@pytest.fixture
def objects(environment: dict[str, str]) -> GoogleBucket:
    return GoogleBucket(environment["STORAGE_EMULATOR_HOST"])


@pytest.fixture
def place(tmp_path: Path, environment: dict[str, str]) -> Bucket:
    return Bucket(tmp_path, environment)


def test_documents_of_a_bucket_equal_those_of_the_same_files_and_only_changed_objects_are_read_again(
    objects: GoogleBucket, place: Bucket, tmp_path: Path
) -> None:
    objects.put(FILES)
    write_files(tmp_path / "docs", FILES)
    assert place.command("run", SOURCE, "--data", "remote", "--workers", "2", "--quiet").code == 0
    assert place.run("run", "docs", "--data", "local").code == 0
    assert place.documents("remote") == place.documents("local")
    assert len(place.documents("remote")) == len(FILES)
    changed = {"a.md": b"# Lamps\n\nPut out at dawn.\n"}
    objects.put(changed)
    objects.remove("plain")
    write_files(tmp_path / "docs", changed)
    (tmp_path / "docs" / "plain").unlink()
    planned = place.command("plan", SOURCE, "--data", "remote").stdout.splitlines()
    assert [line.split()[:2] for line in planned if line.startswith("changed")] == [["changed", "docs/a.md"]]
    for source, data in ((SOURCE, "remote"), ("docs", "local")):
        assert place.run("run", source, "--data", data).code == 0
    assert place.documents("remote") == place.documents("local")


def test_a_bucket_and_a_prefix_that_are_missing_are_one_line_and_exit_code_2(place: Bucket) -> None:
    for source in ("gs://handbook/none", "gs://none/docs"):
        ended = place.run("run", source)
        assert (ended.code, ended.stderr) == (2, f"inorder: cannot list {source}: no such object or bucket\n")
