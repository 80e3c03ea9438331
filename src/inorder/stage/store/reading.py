"""Reads an input of an item: a file, a result in the store of another stage, or content with an address."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from inorder.stage.contracts import StageError

from .inputs import AddressedInput, Input, StoredInput

if TYPE_CHECKING:
    from .rows import StoredItem


def read_content(source: Input) -> bytes:
    """Return the content of an input. Raises StageError if one that is not a file has changed since the plan was read,
    or cannot be read."""
    if isinstance(source, AddressedInput):
        return source.read() if source.content is None else source.content
    if not isinstance(source, StoredInput):
        with open(source, "rb", buffering=0) as file:
            return file.read()
    if source.content is not None:
        return source.content
    from .database import open_store  # a worker that reads only files needs no database

    store = open_store(source.data, source.stage)
    found = None if store is None else store.read(source.item_id)
    return _require_same(source, found)


def read_many(sources: Sequence[Input]) -> Iterator[bytes]:
    """Yield the content of each of these inputs. Those that lie in one store are read at once: they should not be too
    many. Raises as `read_content` does."""
    stored = [each for each in sources if isinstance(each, StoredInput) and each.content is None]
    if len(stored) < len(sources) or len({(each.data, each.stage) for each in stored}) != 1:
        yield from map(read_content, sources)
        return
    from .database import open_store  # a worker that reads only files needs no database

    store = open_store(stored[0].data, stored[0].stage)
    found = {} if store is None else store.read_all([each.item_id for each in stored])
    for source in stored:
        yield _require_same(source, found.get(source.item_id))


def _require_same(source: StoredInput, found: "tuple[StoredItem, bytes] | None") -> bytes:
    if found is None or found[0].sha256 != source.sha256:
        raise StageError(f"the input {source} changed while it was read", category="io", retryable=True)
    return found[1]
