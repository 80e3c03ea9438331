"""Files that travel to a worker on another machine and back. No cluster is needed: a parcel is a parcel."""

import errno
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

import inorder
from inorder.engines.ray import engine as ray
from inorder.engines.threads import ThreadEngine
from inorder.errors import InfrastructureError
from inorder.stage import file_transfer
from inorder.stage.contracts import StageError
from inorder.stage.data_layout import DataLayout
from inorder.stage.file_transfer import RemoteWork, StageFileTransfer
from inorder.stage.files.file_stat import FileStat
from inorder.stage.worker import StageResult, StageTask, StageWork
from tests.stage.jobs import STAGE, Place, steady, tree
from tests.stage.workers import obey

LONG_AGO_S = 3600.0
both = pytest.mark.parametrize("sees_files", [True, False], ids=["seen", "sent"])


def borrow(item: inorder.WorkItem, ctx: Any) -> dict[str, Any]:
    """Read one file of DATA besides the input."""
    glossary = ctx.data / "glossary.txt"
    ctx.output("loud").write_text(glossary.read_text() if glossary.exists() else "no glossary")
    return {}


def say_everything(item: inorder.WorkItem, ctx: Any) -> dict[str, Any]:
    """Warn, remove, deliver, and write two outputs of very different sizes."""
    ctx.warn(f"odd: {item.inputs['text']}")
    ctx.warn(f"odd: {ctx.data / 'old.txt'}")
    ctx.remove(ctx.data / "old.txt")
    ctx.deliver({"rows": [1, 2]})
    ctx.output("loud").write_bytes(b"\x07" * 2**20)
    ctx.output("small").write_bytes(b"s")
    return {}


def complain(item: inorder.WorkItem, ctx: Any) -> None:
    """Fail with a word about the input and another about DATA."""
    raise ValueError(f"{item.inputs['text']} is not in {ctx.data}")


def where(item: inorder.WorkItem, ctx: Any) -> dict[str, Any]:
    """Tell where the inputs are, in DATA or anywhere."""
    ctx.output("loud").write_text("here")
    return {name: os.path.relpath(path, ctx.data) for name, path in item.inputs.items()}


class Trip:
    """The driver, and one worker of a node that has a temporary folder of its own."""

    def __init__(self, place: Place, node: Path) -> None:
        self.place = place
        self.node = node
        self.layout = DataLayout(str(place.data), STAGE)
        self.layout.create_folders()
        self.transfer = StageFileTransfer(self.layout.data, self.layout.staging, 2**20)
        self.transfer.prepare()

    def work(self, worker: Callable[..., Any]) -> StageWork:
        return StageWork(worker, STAGE, self.place.options(), self.layout.staging)

    def plainly(self, item: inorder.WorkItem, worker: Callable[..., Any] = obey) -> Any:
        """What a worker of this machine makes of it."""
        return self.work(worker)(StageTask(item))

    def there(self, sent: Any, worker: Callable[..., Any] = obey, *, sees_files: bool) -> Any:
        """What a worker of the node makes of it, as it comes back."""
        remote = pickle.loads(pickle.dumps(RemoteWork(self.work(worker))))
        sent = pickle.loads(pickle.dumps(sent))
        if sees_files:
            return carried(remote(sent))
        with gone(self.place.sources), gone(self.place.data):
            return carried(remote(sent))

    def travel(self, item: inorder.WorkItem, worker: Callable[..., Any] = obey, *, sees_files: bool) -> Any:
        """There and back."""
        departed = self.transfer.pack_item(StageTask(item), sees_files=sees_files)
        assert departed is not None
        return self.transfer.unpack_value(self.there(departed[0], worker, sees_files=sees_files))

    def contents(self, result: StageResult) -> dict[str, bytes]:
        """What was made, by the path it is for."""
        assert all(path.startswith(f"{self.layout.staging}/") for path in result.staged)
        return {
            path: Path(staged).read_bytes() for (path, _, _), staged in zip(result.outputs, result.staged, strict=True)
        }

    def left(self) -> list[str]:
        """What lies in the temporary folder of the node."""
        return sorted(os.listdir(self.node))


def carried(value: Any) -> Any:
    """A value that has travelled with its buffers beside it."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])


@contextmanager
def gone(path: Path) -> Iterator[None]:
    """The node has no such folder."""
    path.rename(f"{path}.away")
    try:
        yield
    finally:
        assert not path.exists(), "the worker has made it anew"
        Path(f"{path}.away").rename(path)


@pytest.fixture
def node(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("node")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def trip(place: Place, node: Path) -> Trip:
    return Trip(place, node)


# ---- the same as at home


@both
@pytest.mark.req("RUN-4", "RUN-5")
def test_what_comes_back_is_what_a_worker_of_this_machine_makes(trip: Trip, sees_files: bool) -> None:
    item = trip.place.item("a")
    plain, result = trip.plainly(item), trip.travel(item, sees_files=sees_files)
    assert trip.contents(result) == trip.contents(plain)
    assert list(trip.contents(result)) == ["loud/a.txt", "loud/a.txt.fp.json"]
    assert result._replace(staged=[], inputs=[]) == plain._replace(staged=[], inputs=[])
    assert not set(result.staged) & set(plain.staged), "two attempts share a file"
    assert trip.left() == []


@both
def test_inputs_are_told_as_the_driver_knows_them(trip: Trip, sees_files: bool) -> None:
    item = trip.place.item("a")
    sent, _ = trip.transfer.pack_item(StageTask(item), sees_files=sees_files) or (None, 0)
    [(path, stat, digest)] = trip.transfer.unpack_value(trip.there(sent, sees_files=sees_files)).inputs
    assert (path, stat) == (str(item.inputs["text"]), sent.task.stats["text"])
    assert stat.signature == FileStat.read(path).signature
    assert digest == trip.plainly(item).input_sha256


@both
def test_an_input_may_be_named_from_the_current_folder(
    trip: Trip, sees_files: bool, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    item = trip.place.item("a")
    monkeypatch.chdir(trip.place.folder)
    item = msgspec.structs.replace(item, inputs={"text": "sources/a"})
    departed = trip.transfer.pack_item(StageTask(item), sees_files=sees_files)
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert departed is not None
    result = trip.transfer.unpack_value(trip.there(departed[0], sees_files=sees_files))
    assert [path for path, _, _ in result.inputs] == ["sources/a"]
    assert trip.contents(result)["loud/a.txt"] == b"TEXT OF A\n"


@both
def test_an_output_may_be_named_by_its_whole_path(trip: Trip, sees_files: bool) -> None:
    item = trip.place.item("a", outputs={"loud": trip.place.data / "loud" / "a.txt"})
    plain, result = trip.plainly(item), trip.travel(item, sees_files=sees_files)
    assert trip.contents(result) == trip.contents(plain)
    assert list(trip.contents(result)) == ["loud/a.txt", "loud/a.txt.fp.json"]


@both
def test_several_inputs_of_one_name_stay_apart(trip: Trip, sees_files: bool) -> None:
    inputs = {}
    for name in ("text", "other"):
        folder = trip.place.sources / name
        folder.mkdir()
        inputs[name] = folder / "same.txt"
        inputs[name].write_text(f"the {name}")
    item = trip.place.item("a", inputs=inputs)
    plain, result = trip.plainly(item), trip.travel(item, sees_files=sees_files)
    assert trip.contents(result) == trip.contents(plain)
    assert [path for path, _, _ in result.inputs] == [str(inputs["text"]), str(inputs["other"])]


@both
def test_a_worker_finds_the_inputs_of_data_at_their_place_in_data(trip: Trip, sees_files: bool) -> None:
    inside = trip.place.data / "made" / "before.txt"
    inside.parent.mkdir()
    inside.write_text("x")
    item = trip.place.item("a", inputs={"inside": inside, "outside": trip.place.source("o", "x")})
    extras = trip.travel(item, where, sees_files=sees_files).extras
    assert extras["inside"] == "made/before.txt"
    assert extras["outside"].startswith("../")
    assert extras["outside"].endswith("/o")


def test_a_worker_of_the_node_has_nothing_but_what_was_sent(trip: Trip) -> None:
    (trip.place.data / "glossary.txt").write_text("words")
    alone, reading = trip.place.item("a"), trip.place.item("b", reads=["glossary.txt", "not-there.txt"])
    assert trip.contents(trip.travel(alone, borrow, sees_files=False))["loud/a.txt"] == b"no glossary"
    assert trip.contents(trip.travel(reading, borrow, sees_files=False))["loud/b.txt"] == b"words"
    assert trip.contents(trip.travel(alone, borrow, sees_files=True))["loud/a.txt"] == b"words"


@both
def test_what_a_worker_warns_of_removes_and_delivers_comes_along(trip: Trip, sees_files: bool) -> None:
    item = trip.place.item("a", outputs={"loud": "loud/a.bin", "small": "small/a.bin"})
    plain = trip.plainly(item, say_everything)
    result = trip.travel(item, say_everything, sees_files=sees_files)
    assert result.warnings == plain.warnings == [f"odd: {trip.place.sources}/a", f"odd: {trip.place.data}/old.txt"]
    assert result.removals == plain.removals == ["old.txt"]
    assert result.delivery == {"rows": [1, 2]}
    assert trip.contents(result) == trip.contents(plain)


@both
def test_a_worker_that_skips_its_item_brings_no_files(trip: Trip, sees_files: bool) -> None:
    item = trip.place.item("a", "skip")
    plain, skipped = trip.plainly(item), trip.travel(item, sees_files=sees_files)
    assert skipped.reason == plain.reason == "not wanted"
    assert skipped.value._replace(inputs=[]) == plain.value._replace(inputs=[])
    assert [path for path, _, _ in skipped.value.inputs] == [str(trip.place.sources / "a")]
    assert trip.left() == trip.place.staged()[1:] == []


@both
def test_an_item_that_is_done_already_takes_nothing_along(trip: Trip, sees_files: bool) -> None:
    task = StageTask(trip.place.item_as_it_is("gone"), "it is done", {"pages": 1}, "cafe", ("old.txt",))
    departed = trip.transfer.pack_item(task, sees_files=sees_files)
    assert departed is not None
    assert departed[1] == 0
    skipped = trip.transfer.unpack_value(trip.there(departed[0], sees_files=sees_files))
    assert skipped == trip.work(obey)(task)


@both
@pytest.mark.parametrize("do", ["fail", "write and fail", "stage error", "disk", "unreachable", "forget", "empty"])
def test_an_item_that_fails_fails_in_the_same_words_and_leaves_nothing(trip: Trip, do: str, sees_files: bool) -> None:
    item = trip.place.item("a", do)
    with pytest.raises(Exception) as plain:  # noqa: PT011
        trip.plainly(item)
    with pytest.raises(Exception) as caught:  # noqa: PT011
        trip.travel(item, sees_files=sees_files)
    assert (type(caught.value), str(caught.value)) == (type(plain.value), str(plain.value))
    assert trip.left() == trip.place.staged()[1:] == []


@both
def test_a_failure_names_files_as_the_driver_knows_them(trip: Trip, sees_files: bool) -> None:
    item = trip.place.item("a")
    said = file_transfer.classify_error(raised_by(lambda: trip.travel(item, complain, sees_files=sees_files)))
    plain = file_transfer.classify_error(raised_by(lambda: trip.plainly(item, complain)))
    assert said.message == f"ValueError: {trip.place.sources}/a is not in {trip.place.data}"
    assert msgspec.structs.replace(said, detail="") == msgspec.structs.replace(plain, detail="")
    assert str(trip.node) not in said.detail


def find_the_disk_full(item: inorder.WorkItem, ctx: Any) -> None:
    raise OSError(errno.ENOSPC, "no room", str(ctx.data / "loud"))


@both
def test_that_the_disk_is_full_can_be_told_from_the_classify_error_an_item(trip: Trip, sees_files: bool) -> None:
    error = raised_by(lambda: trip.travel(trip.place.item("a"), find_the_disk_full, sees_files=sees_files))
    assert isinstance(error, OSError)
    assert (error.errno, error.filename) == (errno.ENOSPC, f"{trip.place.data}/loud")


def raised_by(call: Callable[[], Any]) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    return caught.value


# ---- what stays, and what cannot be


def test_what_is_too_large_stays_at_home(trip: Trip) -> None:
    text = trip.place.source("a", "x" * 2**20)
    assert trip.transfer.pack_item(StageTask(trip.place.item("a")), sees_files=False) is not None
    text.write_text("x" * (2**20 + 1))
    assert trip.transfer.pack_item(StageTask(trip.place.item("a")), sees_files=False) is None
    assert trip.transfer.pack_item(StageTask(trip.place.item("a")), sees_files=True) is not None
    (trip.place.data / "glossary.txt").write_text("y" * 2**20)
    assert trip.transfer.pack_item(StageTask(trip.place.item("b", reads=["glossary.txt"])), sees_files=False) is None


def test_what_is_sent_along_is_counted(trip: Trip) -> None:
    (trip.place.data / "glossary.txt").write_text("y" * 1000)
    trip.place.source("a", "x" * 10)
    departed = trip.transfer.pack_item(StageTask(trip.place.item("a", reads=["glossary.txt"])), sees_files=False)
    assert departed is not None
    assert departed[1] == 1010
    assert len(pickle.dumps(departed[0])) > 1010


@pytest.mark.parametrize("kind", ["input", "read", "read outside of DATA"])
def test_a_folder_stays_at_home(trip: Trip, kind: str) -> None:
    folder = trip.place.data / "shards"
    folder.mkdir()
    trip.place.source("outside", "x")
    fields: dict[str, Any] = {"input": {"inputs": {"text": folder}}, "read": {"reads": ["shards"]}}.get(
        kind, {"reads": ["../sources/outside"]}
    )
    item = trip.place.item("a", **fields)
    assert trip.transfer.pack_item(StageTask(item), sees_files=False) is None
    departed = trip.transfer.pack_item(StageTask(item), sees_files=True)
    assert departed is not None
    assert departed[0].files is None


def test_what_stays_at_home_is_done_there_by_the_same_worker(trip: Trip) -> None:
    item = trip.place.item("a")
    result = RemoteWork(trip.work(obey))(StageTask(item))
    assert trip.contents(result) == trip.contents(trip.plainly(item))


def test_an_input_that_changes_while_it_is_read_fails_in_a_way_that_may_pass(
    trip: Trip, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = trip.place.item("a")

    def read_too_late(path: str) -> bytes:
        content = Path(path).read_bytes()
        trip.place.source("a", "something else by now")
        return content

    monkeypatch.setattr(file_transfer, "read_regular", read_too_late)
    with pytest.raises(StageError, match=r"/sources/a changed while it was read") as caught:
        trip.transfer.pack_item(StageTask(item), sees_files=False)
    assert (caught.value.category, caught.value.retryable) == ("io", True)


@pytest.mark.parametrize("change", ["another size", "another time", "not there"])
def test_a_node_that_sees_something_else_says_so(trip: Trip, change: str) -> None:
    item = trip.place.item("a")
    path = Path(item.inputs["text"])
    departed = trip.transfer.pack_item(StageTask(item), sees_files=True)
    assert departed is not None
    if change == "another size":
        facts = path.stat()
        path.write_text("much longer than it was before")
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    elif change == "another time":
        os.utime(path, ns=(0, 0))
    else:
        path.unlink()
    with pytest.raises(StageError) as caught:
        trip.there(departed[0], sees_files=True)
    said = f"this node does not see the input {path} as the driver does; put it on storage that all nodes share, "
    assert str(caught.value) == f"{said}or send files with --set ray_files=send"
    assert (caught.value.category, caught.value.retryable, caught.value.item_id) == ("io", True, "a")
    assert trip.place.called() == []


@both
def test_an_input_that_is_not_there_fails_its_item(trip: Trip, sees_files: bool) -> None:
    item = trip.place.item_as_it_is("gone")
    with pytest.raises(FileNotFoundError, match="sources/gone"):
        trip.transfer.pack_item(StageTask(item), sees_files=sees_files)


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ({"loud": "../outside"}, "cannot be published"),
        ({"loud": "/outside"}, "lies outside of DATA"),
        ({"loud": "manifests/a"}, "this path is reserved"),
        ({"loud": "taken"}, "the output 'taken' cannot be published: a folder has its path"),
        ({"loud": "file/a"}, "the output 'file/a' cannot be published: one of its parent folders is a file"),
        ({"loud": "a", "again": "a"}, "two files of the item would be published as 'a'"),
    ],
)
def test_an_output_without_a_place_in_data_is_refused_before_it_leaves(
    trip: Trip, outputs: dict[str, str], said: str
) -> None:
    (trip.place.data / "taken").mkdir()
    (trip.place.data / "file").touch()
    item = trip.place.item("a", outputs=outputs)
    with pytest.raises(StageError, match=said) as plain:
        trip.plainly(item)
    with pytest.raises(StageError) as caught:
        trip.transfer.pack_item(StageTask(item), sees_files=False)
    assert (str(caught.value), caught.value.category) == (str(plain.value), "config")


def test_a_result_that_cannot_be_written_ends_the_run_and_not_the_item(trip: Trip) -> None:
    departed = trip.transfer.pack_item(StageTask(trip.place.item("a")), sees_files=False)
    assert departed is not None
    brought = trip.there(departed[0], sees_files=False)
    shutil.rmtree(trip.layout.staging)
    with pytest.raises(InfrastructureError, match="a result cannot be written to"):
        trip.transfer.unpack_value(brought)


# ---- the temporary folder of a node


def leftover(node: Path, name: str) -> None:
    folder = node / name
    folder.mkdir()
    (folder / "half").write_text("done")


def test_the_first_item_of_a_worker_clears_away_what_killed_ones_have_left(trip: Trip) -> None:
    leftover(trip.node, "inorder-tmp-abc")
    leftover(trip.node, "somebody-elses")
    (trip.node / "inorder-tmp-link").symlink_to(trip.place.folder)
    trip.travel(trip.place.item("a"), sees_files=False)
    assert trip.left() == ["inorder-tmp-link", "somebody-elses"]
    assert trip.place.folder.exists()


def test_a_worker_looks_for_leftovers_once(trip: Trip, monkeypatch: pytest.MonkeyPatch) -> None:
    sweeps: list[int] = []
    monkeypatch.setattr(file_transfer, "remove_abandoned_folders", lambda: sweeps.append(1))
    remote = RemoteWork(trip.work(obey))
    for name in ("a", "b", "c"):
        departed = trip.transfer.pack_item(StageTask(trip.place.item(name)), sees_files=False)
        assert departed is not None
        remote(departed[0])
    assert len(sweeps) == 1


# ---- a whole stage


class Elsewhere(ThreadEngine):
    """Stands in for the engine on Ray: every item travels, and is done by threads of this process."""

    sees_files = False
    transfers: list[StageFileTransfer]

    def __init__(self, function: RemoteWork, workers: int | None, *, timeout_s: Any, files: Any, **_: Any) -> None:
        self.transfers.append(files)

        def do(task: StageTask) -> Any:
            departed = files.pack_item(task, sees_files=self.sees_files)
            if departed is None:
                return function(task)
            return files.unpack_value(carried(function(pickle.loads(pickle.dumps(departed[0])))))

        super().__init__(do, workers or 2, timeout_s=timeout_s)


DEEDS = ["shout", "skip", "fail", "write and fail", "unreachable", "forget", "empty", "stage error"]


@pytest.mark.slow
@both
@pytest.mark.req("RUN-5", "RUN-7")
def test_a_stage_whose_items_travel_leaves_what_one_at_home_leaves(
    place: Place,
    node: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    sees_files: bool,
) -> None:
    transfers: list[StageFileTransfer] = []
    monkeypatch.setattr(
        ray, "RayEngine", type("Chosen", (Elsewhere,), {"sees_files": sees_files, "transfers": transfers})
    )
    home = Place(tmp_path_factory.mktemp("home"))
    for one, engine in ((home, "local"), (place, "ray")):
        items = [one.item(f"item-{number:02}", DEEDS[number % len(DEEDS)]) for number in range(24)]
        items.append(one.item("outside", outputs={"loud": "../outside"}))
        items.append(one.item_as_it_is("gone"))
        outcome = one.run(items, engine=engine, retries=1)
        assert outcome.scheduled == 26
    here, there = (str(steady(one.lines()[1:])).replace(str(one.folder), "HERE") for one in (home, place))
    assert there == here
    assert place.published() == home.published()
    assert (os.listdir(node), place.staged()) == ([], [])
    assert place.run(items, engine="local", retries=1).skipped >= 3, "a later run at home trusts what was made there"
    config = place.lines()[0]["options"]
    assert (config["engine"], config["ray"]["files"], config["ray"]["address"]) == ("ray", "auto", None)
    [files] = transfers
    assert not [path for path, content in tree(place.data).items() if files.marker_secret.encode() in content]
