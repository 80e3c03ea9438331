"""Addresses of sources: what is accepted, what is refused, and the ids of items."""

from pathlib import Path

import pytest

from inorder.errors import OperatorError
from inorder.sources.address import parse_address, resolve_source
from inorder.stage.sources import is_address, name_source, quote_key
from tests.sources.bucket import Bucket


@pytest.mark.parametrize(
    ("text", "protocol", "location", "path"),
    [
        ("s3://bucket", "s3", "", "bucket/"),
        ("s3a://bucket/a/b", "s3", "", "bucket/a/b"),
        ("s3://bucket/a//../b/", "s3", "", "bucket/a//../b/"),
        ("gcs://bucket/a", "gs", "", "bucket/a"),
        ("abfss://container@account.dfs.core.windows.net/a", "az", "", "container@account.dfs.core.windows.net/a"),
        ("https://host/a%20b.pdf?x=1", "https", "host", "https://host/a%20b.pdf?x=1"),
        ("sftp://user@host:2022/a/b", "sftp", "user@host:2022", "/a/b"),
        ("zip://a/b::/box.zip", "zip", "/box.zip", "a/b"),
        ("zip:///box.zip", "zip", "/box.zip", ""),
        ("zip://a::s3://bucket/box.zip", "zip", "s3://bucket/box.zip", "a"),
        ("memory://a/b", "memory", "", "/a/b"),
    ],
)
def test_an_address_has_a_store_and_a_path(text: str, protocol: str, location: str, path: str) -> None:
    assert parse_address(text) == (protocol, location, path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ftp://host/a", "unknown protocol 'ftp'"),
        ("s3://", "has no bucket"),
        ("https:///a", "has no host"),
        ("sftp:///a", "has no host"),
        ("zip://", "has no archive"),
        ("s3://a::s3://b", "can be chained"),
    ],
)
def test_an_address_that_cannot_be_read_is_refused(text: str, reason: str) -> None:
    with pytest.raises(OperatorError, match=reason):
        parse_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "s3://id:SESAME@bucket/a",
        "sftp://user:SESAME@host/a",
        "zip://a::s3://id:SESAME@bucket/box.zip",
        "zip://a::https://host/box.zip?sig=SESAME",
    ],
)
def test_an_address_with_credentials_is_refused_without_repeating_them(bucket: Bucket, text: str) -> None:
    for command in ("run", "plan"):
        ended = bucket.command(command, text)
        assert ended.code == 2
        assert "must not contain credentials" in ended.stderr
        assert "SESAME" not in ended.stdout + ended.stderr
    assert list(bucket.folder.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    ["s3://id:SES/AME@bucket/a", "sftp://user:SES/AME@host/a", "az://a:SES?AME@b"],
)
def test_a_password_with_a_slash_is_refused_without_repeating_a_part_of_it(bucket: Bucket, text: str) -> None:
    ended = bucket.command("run", text)
    assert (ended.code, ended.stderr.count("\n")) == (2, 1)
    assert "must not contain credentials" in ended.stderr
    assert "behind the host write @ as %40" in ended.stderr
    assert "SES" not in ended.stderr
    assert "AME" not in ended.stderr


@pytest.mark.parametrize("text", ["https://ho[st/a.pdf", "https://ho\u2100st/a.pdf?x=SESAME"])
def test_an_address_that_is_not_one_is_refused_with_one_line(bucket: Bucket, text: str) -> None:
    ended = bucket.command("run", text)
    assert (ended.code, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert "is not a valid address" in ended.stderr


@pytest.mark.parametrize("text", ["https://host:8080/@me/a.pdf", "s3://arn:aws:s3:eu:1:accesspoint/x/a@b"])
def test_an_at_sign_behind_the_host_is_part_of_the_path(text: str) -> None:
    assert parse_address(text).path.endswith(text.rpartition("@")[2])


def test_a_file_address_is_the_path(tmp_path: Path) -> None:
    assert resolve_source(f"file://{tmp_path}/a%20b") == tmp_path / "a b"
    assert resolve_source("a") == Path("a").absolute()
    assert not is_address(Path("s3://a"))


@pytest.mark.parametrize(
    ("protocol", "extra"),
    [("s3", "s3"), ("gs", "gcs"), ("az", "azure"), ("https", "http"), ("sftp", "sftp"), ("zip", "remote")],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, protocol: str, extra: str
) -> None:
    for module in ("fsspec", "s3fs", "gcsfs", "adlfs", "aiohttp", "paramiko"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    ended = bucket.command("run", f"{protocol}://place/a.zip")
    assert ended.code == 2
    assert len(ended.stderr.splitlines()) == 1
    assert f"pip install 'inorder[{extra}]'" in ended.stderr


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("s3://bucket", "bucket"),
        ("s3://bucket/a/b/", "b"),
        ("s3://bucket/a/..", "a"),
        ("https://host/a%20b.pdf?x=/y", "a b.pdf"),
        ("https://host/", "host"),
        ("zip://docs::/box.zip", "docs"),
        ("zip://::s3://bucket/box.zip", "box.zip"),
        ("memory://", "memory"),
    ],
)
def test_a_root_is_named_after_the_last_part_of_its_address(source: str, name: str) -> None:
    assert name_source(source) == name


@pytest.mark.parametrize(
    ("key", "quoted"),
    [
        ("a/b.md", "a/b.md"),
        ("a//b", "a/%2F/b"),
        ("/a", "%2F/a"),
        ("../a/.", "%2E%2E/a/%2E"),
        ("a%2F\0\udcff", "a%252F%00%FF"),
    ],
)
def test_keys_are_quoted_so_that_ids_are_unique_and_safe_as_paths(key: str, quoted: str) -> None:
    assert quote_key(key) == quoted


def test_a_stage_that_takes_only_paths_refuses_an_address(bucket: Bucket) -> None:
    module = "import inorder\nstage = inorder.Stage(name='mine', plan=lambda *_: None, worker=print)\n"
    (bucket.folder / "mine_of_paths.py").write_text(module)
    ended = bucket.command("stage", "mine_of_paths:stage", "memory://bucket")
    assert ended.code == 2
    assert "stage mine reads local files and directories, and cannot read memory://bucket" in ended.stderr
