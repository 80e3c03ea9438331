"""Commands over DATA that was made of remote sources."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from inorder.serve.problems import NotFound
from inorder.serve.sources import read_source
from inorder.stage.sources import join_address
from tests.sources.bucket import TEXTS, Bucket, patch_call


@pytest.fixture
def indexed(bucket: Bucket) -> Bucket:
    bucket.put(TEXTS)
    ended = bucket.run("run", "memory://bucket")
    assert ended.code == 0, bucket.command("failures", "-v").stdout
    return bucket


@pytest.mark.slow
def test_plan_and_explain_say_that_an_object_has_changed_or_is_gone(indexed: Bucket) -> None:
    indexed.put({"a.md": b"# Changed\n", "new.md": b"# New\n"})
    indexed.remove("plain")
    for arguments in ((), ("memory://bucket",)):
        lines = indexed.command("plan", *arguments).stdout.splitlines()
        assert any(line.startswith("changed   bucket/a.md  doctags: if the content of the object") for line in lines)
        assert "new       bucket/new.md  doctags, chunk, index, embed:dense" in lines
        assert "removed   bucket/plain" in lines
        assert lines[-1] == "3 files: 1 new, 1 changed, 1 unchanged; 1 removed"
    for name in ("bucket/a.md", "memory://bucket/a.md"):
        shown = indexed.command("explain", name).stdout
        assert "doctags may run: if the content of the object has changed" in shown
    assert indexed.command("explain", "bucket/plain").stdout.startswith("bucket/plain: removed: it is no longer there")
    assert "no such object" in indexed.command("explain", "memory://bucket/never.md").stdout


@pytest.mark.slow
def test_show_and_search_name_the_address(indexed: Bucket) -> None:
    for name in ("bucket/a.md", "memory://bucket/a.md"):
        assert "Lit at dusk." in indexed.command("show", name).stdout
    ended = indexed.command("search", "fog horn", "--json")
    assert json.loads(ended.stdout)["hits"][0]["path"] == "memory://bucket/b/c.txt"
    assert "removed" not in indexed.command("search", "fog horn").stderr


@pytest.mark.slow
def test_verify_reads_data_alone(indexed: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = patch_call(monkeypatch, "info", lambda path: None)
    indexed.put({"a.md": b"# Changed\n"})
    ended = indexed.command("verify")
    assert (ended.code, listed) == (0, []), ended.stdout


@pytest.mark.slow
def test_the_report_and_inspect_read_data_alone(indexed: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = patch_call(monkeypatch, "info", lambda path: None)
    assert indexed.command("report", "-o", "report.html").code == 0
    assert "bucket/a.md" in (indexed.folder / "report.html").read_text()
    assert indexed.command("inspect").code == 0
    assert listed == []


@pytest.mark.slow
def test_retry_reads_the_object_as_it_is_now(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket.put(TEXTS)

    def fail(path: str) -> None:
        if path.endswith("a.md"):
            raise PermissionError

    with monkeypatch.context() as patch:
        patch_call(patch, "cat_file", fail)
        assert bucket.run("doctags", "memory://bucket").code == 3
    bucket.put({"a.md": b"# Now\n"})
    assert bucket.run("retry").code == 0
    assert b"Now" in bucket.documents()["bucket/a.md"]


@pytest.mark.slow
def test_serve_says_that_a_remote_original_is_not_shown(indexed: Bucket) -> None:
    with pytest.raises(NotFound, match="is in the remote source memory://bucket"):
        read_source(str(indexed.folder / ".inorder"), "document", "bucket/a.md", 1000)


@pytest.mark.parametrize(
    ("address", "joined"),
    [
        ("s3://bucket", "s3://bucket/a/b"),
        ("s3://bucket/docs/", "s3://bucket/docs/a/b"),
        ("zip://docs::/box.zip", "zip://docs/a/b::/box.zip"),
        ("zip://::/box.zip", "zip://a/b::/box.zip"),
    ],
)
def test_the_address_of_a_document_is_that_of_its_source_and_its_key(address: str, joined: str) -> None:
    assert join_address(address, "a/b") == joined


@pytest.mark.slow
def test_a_committed_object_that_changes_before_an_interrupted_run_resumes_is_read_by_the_next_run(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bucket.put(TEXTS)

    def stop(path: str) -> None:
        if path.endswith("plain"):
            raise PermissionError

    with monkeypatch.context() as patch:
        patch_call(patch, "cat_file", stop)
        assert bucket.run("doctags", "memory://bucket", "--error-budget", "0", "--workers", "1").code == 4
    assert "bucket/a.md" in bucket.documents()
    bucket.put({"a.md": b"# Changed\n"})
    for _ in range(2):
        assert bucket.run("doctags", "memory://bucket").code == 0
    assert b"Changed" in bucket.documents()["bucket/a.md"]


@pytest.mark.process
def test_log_messages_of_packages_of_stores_are_not_shown() -> None:
    """In a process of its own: pytest sets up logging."""
    code = (
        "import logging; from inorder.sources.address import parse_address;"
        "from inorder.sources.limits import FetchLimits;"
        "from inorder.sources.stores import open_store;"
        "open_store(parse_address('memory://bucket'), FetchLimits());"
        "[logging.getLogger(name).error('SESAME') for name in ('gcsfs', 'paramiko.transport', 'azure.core')]"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr == ""
