"""Sources that are missing, unreadable, oddly named, or change under the feet of whoever reads them."""

import os
from pathlib import Path
from typing import Any

import pytest

import inorder
from tests.stage.jobs import Place


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_a_source_that_is_not_there_fails_its_item_alone(place: Place, policy: str) -> None:
    gone = place.item("gone")
    os.unlink(gone.inputs["text"])
    place.run([place.item("a"), gone, place.item("b")], policy=policy, retries=2)
    assert place.statuses() == {"a": "success", "gone": "failure", "b": "success"}
    row = place.row("gone")
    assert (row["error"]["category"], row["attempts"], row["input_sha256"]) == ("input", 1, "")
    assert place.called() == ["a", "b"]


def test_a_source_that_is_a_folder_fails_its_item_alone(place: Place) -> None:
    (place.sources / "folder").mkdir()
    place.run([place.item("folder"), place.item("b")])
    assert place.statuses() == {"folder": "failure", "b": "success"}
    assert place.row("folder")["error"]["category"] == "input"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_source_that_may_not_be_read_fails_its_item_alone(place: Place) -> None:
    item = place.item("secret")
    os.chmod(item.inputs["text"], 0)
    place.run([item])
    assert place.row("secret")["error"]["category"] == "input"


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.req("RUN-4")
def test_a_source_that_changes_while_it_is_read_is_read_again(place: Place, policy: str) -> None:
    outcome = place.run([place.item("a", "touch input", meta={"failures": 1})], policy=policy, retries=3)
    assert outcome.succeeded == 1
    assert place.row("a")["attempts"] == 2
    assert place.loud("a") == "TEXT OF A\nMORE\n"
    assert place.staged() == []
    assert place.run([place.item("a")]).skipped == 1


def test_a_source_that_never_stands_still_fails_and_publishes_nothing(place: Place) -> None:
    place.run([place.item("a", "touch input")], retries=2)
    row = place.row("a")
    assert row["error"]["category"] == "io"
    assert row["error"]["message"].endswith("sources/a changed while it was read")
    assert row["attempts"] == 3
    assert place.published() == {}


@pytest.mark.req("RUN-17")
def test_a_source_rewritten_in_place_with_its_old_mtime_while_it_is_read_fails(place: Place) -> None:
    def worker(item: inorder.WorkItem, ctx: Any) -> None:
        path = Path(item.inputs["text"])
        before = path.stat()
        ctx.output("loud").write_text(path.read_text().upper())
        path.write_text(path.read_text()[::-1])
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    item = place.item("a")
    os.utime(item.inputs["text"], ns=(0, 0))
    place.run([item], worker)
    assert place.row("a")["error"]["message"].endswith("sources/a changed while it was read")
    assert place.published() == {}


@pytest.mark.req("RUN-17")
@pytest.mark.parametrize("fingerprinting", [True, False])
def test_a_source_that_gets_a_link_or_other_permissions_has_not_changed(place: Place, fingerprinting: bool) -> None:
    def worker(item: inorder.WorkItem, ctx: Any) -> None:
        path = Path(item.inputs["text"])
        os.link(path, ctx.output("loud"))
        path.chmod(0o640)

    outcome = place.run([place.item("a")], worker, fingerprinting=fingerprinting)
    assert (outcome.succeeded, place.row("a")["attempts"]) == (1, 1)
    assert place.run([place.item("a")], worker, fingerprinting=fingerprinting).skipped == 1


def test_a_source_that_vanishes_while_it_is_read_fails_its_item(place: Place) -> None:
    def worker(item: inorder.WorkItem, ctx: Any) -> None:
        ctx.output("loud").write_text("x")
        os.unlink(item.inputs["text"])

    place.run([place.item("a")], worker)
    assert place.row("a")["error"]["category"] == "input"
    assert place.published() == {}


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_a_file_name_that_is_no_text_goes_all_the_way(place: Place, policy: str) -> None:
    name = os.fsdecode(b"caf\xe9")
    (place.sources / name).write_text("text\n")
    item = place.item(name, outputs={"loud": "loud/cafe.txt"})
    broken = place.item(os.fsdecode(b"na\xefve"), "fail", outputs={"loud": "loud/naive.txt"})
    outcome = place.run([item, broken], policy=policy, attempts_log=True, verbose=True, progress="lines")
    assert (outcome.succeeded, outcome.failed) == (1, 1)
    assert place.loud("cafe") == "TEXT\n"
    [good, bad] = place.rows().values()
    assert good["doc_id"] == "caf\\udce9"
    assert good["input_path"].endswith("/sources/caf\\udce9")
    assert bad["doc_id"] == "na\\udcefve"
    assert outcome.errors[0].item_id == "na\\udcefve"
    assert place.telemetry(outcome)[-1]["event"] == "run_ended"
    assert place.run([item]).skipped == 1


def test_a_data_folder_whose_name_is_no_text_can_be_used(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"d\xe9p\xf4t")
    folder.mkdir()
    place = Place(folder)
    assert place.run([place.item("a")]).succeeded == 1
    assert place.run([place.item("a")]).skipped == 1
    assert "d\\udce9p\\udcf4t" in place.lines()[0]["options"]["data"]


def test_several_sources_are_one_fingerprint(place: Place) -> None:
    style = place.source("style", "bold")
    item = place.item("a", inputs={"text": place.source("a", "text\n"), "style": style})
    place.run([item])
    both = place.row("a")["input_sha256"]
    assert place.run([item]).skipped == 1
    place.source("style", "slim")
    assert place.run([item]).succeeded == 1
    assert place.row("a")["input_sha256"] != both
