"""Inputs of items that are no files: members of archives, objects of remote sources, and results in the library."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, ClassVar

import msgspec

from inorder.errors import IntegrityError
from inorder.files.surrogates import escape_fields, restore_fields
from inorder.library.reader import LibraryReader
from inorder.sources.remote_input import RemoteInput
from inorder.stage.contracts import StageError
from inorder.stage.inputs import AddressedInput

if TYPE_CHECKING:
    from inorder.documents.archives.members import MemberInput

_ENCODER = msgspec.msgpack.Encoder()
_RESULT = msgspec.msgpack.Decoder(tuple[bytes, list[str]])
_REMOTE, _MEMBER = b"r", b"m"


def encode_source(source: AddressedInput) -> bytes:
    """Encode what reads a member of an archive, or an object of a remote source, for as long as a plan keeps it."""
    try:
        data = _ENCODER.encode(source)
    except UnicodeEncodeError:
        data = _ENCODER.encode(escape_fields(source))
    return (_REMOTE if isinstance(source, RemoteInput) else _MEMBER) + data


def decode_source(data: bytes) -> "MemberInput | RemoteInput":
    """Decode what `encode_source` has encoded."""
    if data[:1] == _REMOTE:
        remote = msgspec.msgpack.decode(data[1:], type=RemoteInput)
        return restore_fields(remote, remote.address)
    from inorder.documents.archives.members import MemberInput  # with all that unpacks archives

    member = msgspec.msgpack.decode(data[1:], type=MemberInput)
    return restore_fields(member, member.address)


class ResultInput(AddressedInput, frozen=True, kw_only=True):
    """What an earlier step made of a file. Its `sha256` is the hash of that result.

    Workers on the driver's machine read it from the library. To nodes of a cluster it is sent: they do not open the
    library, which the driver writes to, over a network file system.
    """

    is_sent: ClassVar[bool] = True
    data: str
    item_id: str
    step: str

    def read(self) -> bytes:
        """Read the content and the texts, as `decode_result` decodes them. Raises as `load` does."""
        with closing(LibraryReader(self.data)) as library:
            return _ENCODER.encode(self.load(library))

    def load(self, library: LibraryReader) -> tuple[bytes, Sequence[str]]:
        """Return the content and the texts of the result. Raises StageError if there is no such result any more, or it
        is damaged."""
        try:
            found = library.read_committed(self.item_id, self.step)
        except IntegrityError as error:
            message = f"the result of {self.step} is damaged: {error}; run with --force"
            raise StageError(message, category="io") from None
        if found is None or found.output.hex() != self.sha256:
            raise StageError(f"the result of {self.step} changed while it was read", category="io", retryable=True)
        return found.content, found.texts


def decode_result(content: bytes) -> tuple[bytes, Sequence[str]]:
    """Return the content and the texts of a result that came with its item."""
    return _RESULT.decode(content)


def list_results(data: str, results: Mapping[tuple[str, str], bytes]) -> dict[str, ResultInput]:
    """Return the inputs of an item that reads results, which are given by file and step, with their hashes."""
    return {
        name_result(item_id, step): ResultInput(
            address=f"{item_id} ({step})", sha256=output.hex(), data=data, item_id=item_id, step=step
        )
        for (item_id, step), output in results.items()
    }


def name_result(item_id: str, step: str) -> str:
    """Return the name of an input that is the result of a step for a file."""
    return f"{step} of {item_id}"
