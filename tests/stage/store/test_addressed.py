"""Inputs that have an address in place of a file: their hash decides, and their content is read where it is needed."""

import pickle
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.stage.data_layout import DataLayout
from inorder.stage.file_transfer import RemoteWork, SentItem, StageFileTransfer
from inorder.stage.store.inputs import AddressedInput
from inorder.stage.worker import StageTask, StageWork
from tests.stage.jobs import Place

pytestmark = pytest.mark.req("DOC-4")


class Paragraph(AddressedInput, frozen=True, kw_only=True):
    """A line of a file."""

    file: str
    number: int

    def read(self) -> bytes:
        return Path(self.file).read_bytes().splitlines()[self.number]


class Anywhere(Paragraph, frozen=True, kw_only=True):
    """A line of a file that every node can read."""

    is_local = False


def shout(item: inorder.WorkItem, context: inorder.StageContext) -> dict[str, int]:
    text = context.read_input("line").upper()
    context.output("loud").write_bytes(text)
    return {"letters": len(text)}


def make_item(place: Place, number: int, kind: type[Paragraph] = Paragraph) -> inorder.WorkItem:
    file = place.sources / "lines.txt"
    line = file.read_text().splitlines()[number]
    source = kind(address=f"{file}/{number}", sha256=f"{line}!", size=len(line), file=str(file), number=number)
    return inorder.WorkItem(item_id=f"lines.txt/{number}", inputs={"line": source}, outputs={"loud": f"loud/{number}"})


def test_a_line_of_a_file_is_processed_again_only_when_its_hash_changes(place: Place) -> None:
    place.source("lines.txt", "one\ntwo\n")
    make = lambda: [make_item(place, number) for number in range(2)]  # noqa: E731
    assert place.run(make(), shout).succeeded == 2
    assert (place.data / "loud/1").read_bytes() == b"TWO"
    row = place.lines()[-1]
    assert (row["input_path"], row["input_sha256"]) == (f"{place.sources}/lines.txt/1", "two!")
    assert place.run(make(), shout).skipped == 2
    place.source("lines.txt", "one\nthree\n")
    outcome = place.run(make(), shout)
    assert (outcome.succeeded, outcome.skipped) == (1, 1)
    assert (place.data / "loud/1").read_bytes() == b"THREE"


@pytest.mark.parametrize("kind", [Paragraph, Anywhere])
@pytest.mark.parametrize("sees_files", [True, False])
def test_the_content_travels_only_to_a_node_that_cannot_read_it(
    place: Place, kind: type[Paragraph], sees_files: bool
) -> None:
    place.source("lines.txt", "one\ntwo\n")
    layout = DataLayout(str(place.data), "shout")
    layout.create_folders()
    transfer = StageFileTransfer(layout.data, layout.staging, 2**20)
    packed = transfer.pack_item(StageTask(make_item(place, 1, kind)), sees_files=sees_files)
    assert packed is not None
    sent: SentItem = pickle.loads(pickle.dumps(packed[0]))
    source: Any = sent.task.item.inputs["line"]
    assert source.content == (b"two" if kind.is_local and not sees_files else None)
    assert packed[1] == (3 if source.content else 0)
    work = RemoteWork(StageWork(shout, "shout", place.options(), layout.staging))
    result: Any = transfer.unpack_value(work(sent))
    assert result.extras == {"letters": 3}
    assert result.input_sha256 == "two!"


def test_content_that_is_too_large_to_send_is_read_on_the_driver(place: Place) -> None:
    place.source("lines.txt", "one\ntwo\n")
    transfer = StageFileTransfer(str(place.data), str(place.data), 2)
    assert transfer.pack_item(StageTask(make_item(place, 0)), sees_files=False) is None
