"""What reads content that is no file of its own, as a plan keeps it until its item is made."""

from typing import TYPE_CHECKING

import msgspec

from inorder.sources.remote_input import RemoteInput
from inorder.stage.store.inputs import AddressedInput

if TYPE_CHECKING:
    from inorder.documents.archives.members import MemberInput

_ENCODER = msgspec.msgpack.Encoder()
_REMOTE, _MEMBER = b"r", b"m"


def encode_source(source: AddressedInput) -> bytes:
    """Encode what reads a member of an archive, or an object of a remote source."""
    return (_REMOTE if isinstance(source, RemoteInput) else _MEMBER) + _ENCODER.encode(source)


def decode_source(data: bytes) -> "MemberInput | RemoteInput":
    """Decode what `encode_source` has encoded."""
    if data[:1] == _REMOTE:
        return msgspec.msgpack.decode(data[1:], type=RemoteInput)
    from inorder.documents.archives.members import MemberInput  # with all that unpacks archives

    return msgspec.msgpack.decode(data[1:], type=MemberInput)
