"""Check a store: the structure of its database, and the content of every row against its hash."""

import contextlib
from collections.abc import Callable, Iterator

from inorder.errors import IntegrityError

from .database import REMEDY, StoreReader, find_damage, translate_store_errors
from .rows import StoredItem


def find_problems(path: str, on_item: Callable[[StoredItem], None]) -> Iterator[str]:
    """What is wrong with rows of a store, one line per problem. Reads every row, and calls `on_item` with it. Raises
    IntegrityError if the database itself is damaged."""
    with translate_store_errors(path, "it cannot be read"):
        if damage := find_damage(path):
            raise IntegrityError(f"{path}: {damage}; {REMEDY}")
    with contextlib.closing(StoreReader(path)) as reader:
        for item in reader.iterate():
            on_item(item)
            try:
                reader.read(item.item_id)
                _ = item.extras
            except IntegrityError as error:
                yield str(error).removeprefix(f"{path}: ")
