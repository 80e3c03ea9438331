"""Runs over remote sources, through the command line."""

import json
import shutil
from pathlib import Path

import pytest

from tests.sources.bucket import TEXTS, Bucket, patch_call, write_files


@pytest.mark.slow
def test_documents_of_a_bucket_equal_those_of_the_same_files(bucket: Bucket, tmp_path: Path) -> None:
    objects = {**TEXTS, "odd name %.txt": b"Percent.\n", "mislabelled.csv": b"%PDF-1.4\n1 0 obj\nnot a PDF\n"}
    bucket.put({f"docs/{key}": content for key, content in objects.items()})
    write_files(tmp_path / "docs", objects)
    remote = bucket.run("doctags", "memory://bucket/docs", "--data", "remote")
    local = bucket.run("doctags", "docs", "--data", "local")
    assert remote.code == local.code == 3
    assert bucket.documents("remote") == bucket.documents("local")
    assert len(bucket.documents("remote")) == 4


@pytest.mark.slow
def test_a_second_run_fetches_nothing(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket.put(TEXTS)
    assert bucket.run("doctags", "memory://bucket").code == 0
    fetched = patch_call(monkeypatch, "cat_file", lambda path: None)
    assert bucket.run("doctags", "memory://bucket").code == 0
    assert fetched == []


@pytest.mark.slow
def test_only_what_is_new_is_fetched_and_deletions_are_found_by_difference(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put(TEXTS)
    assert bucket.run("run", "memory://bucket").code == 0
    bucket.remove("a.md")
    bucket.put({"renamed.md": TEXTS["a.md"], "b/c.txt": b"The other fog horn.\n"})
    fetched = patch_call(monkeypatch, "cat_file", lambda path: None)
    assert bucket.run("run", "memory://bucket").code == 0
    assert sorted(fetched) == ["/bucket/b/c.txt", "/bucket/renamed.md"]
    assert sorted(bucket.documents()) == ["bucket/b/c.txt", "bucket/plain", "bucket/renamed.md"]
    found = json.loads(bucket.command("search", "other fog horn", "--json").stdout)
    assert "memory://bucket/b/c.txt" in {hit["path"] for hit in found["hits"]}


@pytest.mark.slow
def test_documents_of_another_source_stay(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put(TEXTS)
    write_files(tmp_path / "local", {"x.md": b"# X\n"})
    assert bucket.run("doctags", "memory://bucket/b").code == 0
    assert bucket.run("doctags", "local").code == 0
    assert sorted(bucket.documents()) == ["b/c.txt", "local/x.md"]


def test_two_sources_with_the_same_base_name_have_different_ids(bucket: Bucket) -> None:
    bucket.put({"one/docs/a.md": b"# One\n", "two/docs/a.md": b"# Two\n"})
    assert bucket.run("doctags", "memory://bucket/one/docs", "memory://bucket/two/docs/").code == 0
    assert sorted(bucket.documents()) == ["docs/a.md", "docs~2/a.md"]


@pytest.mark.slow
def test_hidden_and_ignored_objects_are_left_out_as_in_folders(bucket: Bucket, tmp_path: Path) -> None:
    objects = {
        ".hidden.md": b"# H\n",
        ".git/a.md": b"# G\n",
        ".inorderignore": b"drafts/\n*.log\n",
        "drafts/a.md": b"# D\n",
        "kept/.inorderignore": b"!keep.log\nsecret.md\n",
        "kept/keep.log": b"kept\n",
        "kept/other.log": b"log\n",
        "kept/secret.md": b"# S\n",
        "secret.md": b"# S\n",
    }
    bucket.put({f"docs/{key}": content for key, content in objects.items()})
    write_files(tmp_path / "docs", objects)
    assert bucket.run("doctags", "memory://bucket/docs", "--data", "remote").code == 0
    assert bucket.run("doctags", "docs", "--data", "local").code == 0
    assert bucket.documents("remote") == bucket.documents("local")
    assert sorted(bucket.documents("remote")) == ["docs/kept/keep.log", "docs/secret.md"]


def test_a_name_that_no_reader_knows_is_skipped_without_a_request(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put({"a.mp4": b"film", "b.png": b"\x89PNG\r\n", "empty.md": b"", "c.md": b"# C\n"})
    fetched = patch_call(monkeypatch, "cat_file", lambda path: None)
    assert bucket.run("doctags", "memory://bucket").code == 0
    assert fetched == ["/bucket/c.md"]
    assert sorted(bucket.documents()) == ["bucket/c.md"]


@pytest.mark.slow
def test_a_listing_that_fails_half_way_ends_the_run_and_deletes_nothing(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put({**TEXTS, "z/last.md": b"# Z\n"})
    assert bucket.run("doctags", "memory://bucket").code == 0
    before = bucket.documents()

    def fail(path: str) -> None:
        if path.endswith("/b"):
            raise OSError(5, "the store is on fire")

    with monkeypatch.context() as patch:
        patch.setattr("inorder.sources.fetching._BACKOFF_S", 0.0)
        patch_call(patch, "ls", fail)
        ended = bucket.run("doctags", "memory://bucket")
    assert ended.code == 1
    assert "cannot list memory://bucket: the store failed" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert bucket.documents() == before
    assert bucket.run("doctags", "memory://bucket").code == 0
    assert bucket.documents() == before


@pytest.mark.slow
@pytest.mark.parametrize("address", ["memory://bucket/nothing", "memory://elsewhere"])
def test_an_empty_or_missing_source_is_an_error_and_not_a_deletion(bucket: Bucket, address: str) -> None:
    bucket.put(TEXTS)
    assert bucket.run("doctags", "memory://bucket").code == 0
    before = bucket.documents()
    for key in TEXTS:
        bucket.remove(key)
    for source in (address, "memory://bucket"):
        ended = bucket.run("doctags", source)
        assert ended.code == 2
        assert source in ended.stderr
    assert bucket.documents() == before


@pytest.mark.slow
def test_a_folder_without_objects_is_an_error_and_not_a_deletion(bucket: Bucket) -> None:
    bucket.put({"docs/a.md": b"# A\n"})
    assert bucket.run("doctags", "memory://bucket/docs").code == 0
    bucket.filesystem.makedirs("/bucket/docs", exist_ok=True)
    bucket.remove("docs/a.md")
    ended = bucket.run("doctags", "memory://bucket/docs")
    assert ended.code == 2
    assert "no objects below memory://bucket/docs" in ended.stderr
    assert list(bucket.documents()) == ["docs/a.md"]


def test_an_object_that_is_gone_before_it_is_read_fails_as_a_file_does(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put(TEXTS)

    def remove(path: str) -> None:
        if path.endswith("a.md"):
            raise FileNotFoundError(path)

    patch_call(monkeypatch, "cat_file", remove)
    assert bucket.run("doctags", "memory://bucket").code == 3
    [failure] = json.loads(bucket.command("failures", "--json").stdout)["failures"]
    assert failure["error"]["category"] == "provider"
    assert failure["error"]["message"] == "memory://bucket/a.md: no such object or bucket"


@pytest.mark.req("SRC-1")
@pytest.mark.parametrize("error", [PermissionError, FileNotFoundError, ValueError], ids=["denied", "missing", "other"])
def test_an_object_that_cannot_be_fetched_keeps_its_results_and_is_fetched_by_the_next_run(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    bucket.put(TEXTS)
    assert bucket.run("doctags", "memory://bucket").code == 0
    before = bucket.documents()
    bucket.put({"a.md": b"# Another\n"})

    def fail(path: str) -> None:
        if path.endswith("a.md"):
            raise error(path)

    with monkeypatch.context() as patch:
        patch_call(patch, "cat_file", fail)
        assert bucket.run("doctags", "memory://bucket").code == 3
        assert bucket.documents() == before
        assert bucket.run("doctags", "memory://bucket").code == 3
    assert bucket.run("doctags", "memory://bucket").code == 0
    assert b"Another" in bucket.documents()["bucket/a.md"]


@pytest.mark.slow
def test_an_object_that_changes_while_it_is_read_fails_and_is_read_by_the_next_run(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put(TEXTS)
    changes = iter([b"# Changed\n"])

    def change(path: str) -> None:
        if path.endswith("a.md") and (content := next(changes, None)):
            bucket.put({"a.md": content})

    with monkeypatch.context() as patch:
        patch_call(patch, "cat_file", change)
        assert bucket.run("doctags", "memory://bucket").code == 3
    [failure] = json.loads(bucket.command("failures", "--json").stdout)["failures"]
    assert failure["error"]["category"] == "provider"
    assert "changed after it was listed" in failure["error"]["message"]
    assert bucket.run("doctags", "memory://bucket").code == 0
    assert b"Changed" in bucket.documents()["bucket/a.md"]


def test_a_store_that_is_busy_is_asked_again(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket.put(TEXTS)
    answers = iter([TimeoutError(), ConnectionResetError(), b"# La"])

    def fail(path: str) -> bytes | None:
        answer = next(answers, None)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr("inorder.sources.fetching._BACKOFF_S", 0.0)
    patch_call(monkeypatch, "cat_file", fail)
    assert bucket.run("doctags", "memory://bucket").code == 0
    assert len(bucket.documents()) == 3


@pytest.mark.process
@pytest.mark.slow
def test_worker_processes_read_an_archive_in_place(bucket: Bucket, tmp_path: Path) -> None:
    write_files(tmp_path / "docs", TEXTS)
    shutil.make_archive(str(tmp_path / "box"), "zip", tmp_path, "docs")
    for source, data in (("zip://docs::box.zip", "remote"), ("docs", "local")):
        assert bucket.command("doctags", source, "--data", data, "--workers", "2", "--quiet").code == 0
    assert bucket.documents("remote") == bucket.documents("local")


@pytest.mark.slow
def test_an_archive_that_was_replaced_is_opened_again(bucket: Bucket, tmp_path: Path) -> None:
    for text in (b"# First\n", b"# Second\n"):
        write_files(tmp_path / "docs", {"a.md": text})
        shutil.make_archive(str(tmp_path / "next"), "zip", tmp_path, "docs")
        (tmp_path / "next.zip").replace(tmp_path / "box.zip")
        assert bucket.run("doctags", "zip://docs::box.zip").code == 0
        assert text[2:-1] in bucket.documents()["docs/a.md"]
