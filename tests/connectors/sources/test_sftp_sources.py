"""`inorder run sftp://...` against paramiko's server."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from inorder.sources.fetching import Fetcher
from inorder.sources.remote_input import RemoteInput
from tests.sources.bucket import TEXTS, Bucket, write_files

pytest.importorskip("paramiko", reason="`make test-connectors` installs the package paramiko")
from tests.connectors.sources.sftp_server import SftpServer, serve_sftp

pytestmark = [pytest.mark.process, pytest.mark.slow]
OLD_S = 1_000_000_000
FILES = {**TEXTS, "b/ü %.md": b"# Names\n\nWith letters.\n"}


def put(folder: Path, files: dict[str, bytes]) -> None:
    """Files that were changed long ago, so that their times tell their versions apart."""
    write_files(folder, files)
    for name in files:
        os.utime(folder / name, (OLD_S, OLD_S))


@pytest.fixture
def sftp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SftpServer]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    put(tmp_path / "docs", FILES)
    with serve_sftp(tmp_path, tmp_path / "home") as server:
        yield server


@pytest.fixture
def place(tmp_path: Path) -> Bucket:
    return Bucket(tmp_path, {"HOME": str(tmp_path / "home")})


def find_address(sftp: SftpServer, user: str = "ann") -> str:
    return f"sftp://{user}@127.0.0.1:{sftp.port}/docs"


def test_documents_of_a_server_equal_those_of_the_same_files_and_only_changed_files_are_read_again(
    sftp: SftpServer, place: Bucket, tmp_path: Path
) -> None:
    source = find_address(sftp)
    assert place.command("run", source, "--data", "remote", "--workers", "2", "--quiet").code == 0
    assert place.run("run", "docs", "--data", "local").code == 0
    assert place.documents("remote") == place.documents("local")
    assert len(place.documents("remote")) == len(FILES)
    sftp.opened.clear()
    assert place.run("run", source, "--data", "remote").code == 0
    assert sftp.opened == []
    put(tmp_path / "docs", {"a.md": b"# Lamps\n\nPut out at dawn.\n"})
    (tmp_path / "docs" / "plain").unlink()
    assert place.run("run", source, "--data", "remote").code == 0
    assert sftp.opened == ["/docs/a.md"]
    assert place.run("run", "docs", "--data", "local").code == 0
    assert place.documents("remote") == place.documents("local")


def test_a_symbolic_link_is_reported_and_not_followed(sftp: SftpServer, place: Bucket, tmp_path: Path) -> None:
    (tmp_path / "docs" / "link.md").symlink_to("a.md")
    assert place.run("run", find_address(sftp)).code == 0
    assert "docs/link.md: not read: not a regular file (link)" in place.command("explain", "docs/link.md").stdout


def test_a_user_who_is_not_let_in_and_a_path_that_is_missing_are_one_line_and_exit_code_2(
    sftp: SftpServer, place: Bucket
) -> None:
    source = find_address(sftp, "bob")
    ended = place.run("run", source)
    assert (ended.code, ended.stderr) == (
        2,
        f"inorder: cannot list {source}: access denied (AuthenticationException); check the credentials\n",
    )
    source = f"{find_address(sftp)}/none"
    ended = place.run("run", source)
    assert (ended.code, ended.stderr) == (2, f"inorder: cannot list {source}: no such object or bucket\n")


def test_a_connection_that_is_lost_is_opened_again(
    sftp: SftpServer, place: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = RemoteInput.fetch

    def lose(source: RemoteInput, fetcher: Fetcher) -> bytes:
        sftp.drop_connections()
        return fetch(source, fetcher)

    monkeypatch.setattr(RemoteInput, "fetch", lose)
    ended = place.run("run", find_address(sftp), "--workers", "1")
    assert ended.code == 0, ended.stderr
    assert len(place.documents()) == len(FILES)


def test_a_server_that_does_not_answer_ends_the_run_which_can_be_repeated(
    sftp: SftpServer, place: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fetcher.__init__, "__defaults__", (lambda: 0.0, lambda _: None))
    sftp.close()
    ended = place.run("run", find_address(sftp))
    assert (ended.code, ended.stderr.count("\n")) == (1, 1)
    assert "nothing was changed, run the same command again" in ended.stderr


@pytest.mark.req("ROB-1")
def test_a_file_that_stops_arriving_fails_alone(
    sftp: SftpServer, place: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inorder.sources.web.WINDOW_S", 1.0)
    sftp.held = "/docs/a.md"
    try:
        ended = place.run("run", find_address(sftp), "--workers", "1")
    finally:
        sftp.let_go.set()
    assert ended.code == 3, ended.stderr
    [failure] = place.command("failures", "--json").stdout.splitlines()
    assert "docs/a.md" in failure
    assert "fewer than 1,000 bytes per second arrived in 1 s" in failure
    assert len(place.documents()) == len(FILES) - 1
