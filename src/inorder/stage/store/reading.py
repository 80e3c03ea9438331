"""Reads an input of an item, whether it is a file or a result in the store of another stage."""

from pathlib import Path

from inorder.stage.contracts import StageError

from .inputs import Input, StoredInput


def is_stored(source: Input) -> bool:
    """Whether an input has the format of a store."""
    return isinstance(source, StoredInput)


def read_content(source: Input) -> bytes:
    """Return the content of an input. Raises StageError if a stored result has changed since the plan was read."""
    if not isinstance(source, StoredInput):
        return Path(source).read_bytes()
    if source.content is not None:
        return source.content
    from .database import open_store  # a worker that reads only files needs no database

    store = open_store(source.data, source.stage)
    found = None if store is None else store.read(source.item_id)
    if found is None or found[0].sha256 != source.sha256:
        raise StageError(f"the input {source} changed while it was read", category="io", retryable=True)
    return found[1]
