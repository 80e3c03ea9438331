"""Trouble that looks like an item's own, and is the machine's."""

from errno import EDQUOT, ENOSPC

from inorder.core.events import Event, Finished
from inorder.errors import InfrastructureError

_FULL = (ENOSPC, EDQUOT)


def require_room(event: Event) -> None:
    """Stop at the first item that found the disk full, before anything is made of its failure: every item after it
    would fail in the same way, and none of them is to blame."""
    if type(event) is not Finished:
        return
    for envelope in event.envelopes:
        error = envelope.payload if envelope.failure is not None else None
        if isinstance(error, OSError) and error.errno in _FULL:
            raise InfrastructureError(
                f"a worker found the disk full ({error}); make room and run the same again: what is committed stays"
            )
