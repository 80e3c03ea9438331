"""Objects of remote sources: how they are listed, and how workers fetch them.

The listing says which version of an object is there, and its name whether it may be a document or source code: others
are not fetched. What an object really is, its worker sees from the first bytes. Small objects that follow each other
are fetched at once.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from inorder.code.rules import CODE_IGNORE_FILES, IGNORED, find_reason_not_fetched
from inorder.documents.convert.kinds import guess_kind
from inorder.library.rows import HASH_BYTES
from inorder.sources.limits import FetchLimits
from inorder.sources.listing import RemoteListing, RemoteObject
from inorder.sources.remote_input import RemoteInput, count_group, read_group
from inorder.sources.visible import IgnoreCheck, is_hidden
from inorder.stage.context import StageContext
from inorder.stage.contracts import WorkItem
from inorder.stage.sources import IGNORE_FILE, name_source, quote_id, quote_key

from .sources.names import SourcePart
from .sources.walk import SPECIAL, ListedContent, ListedFile
from .visit import FILE, RESOURCES

if TYPE_CHECKING:
    from .resources import VisitResources


def list_remote(
    part: SourcePart, limits: FetchLimits, warn: Callable[[str], None] = lambda problem: None
) -> Iterator[ListedFile]:
    """Yield every object of a remote source, in the order of the ids. `warn` is called with each problem of an ignore
    file. Raises OperatorError or InfrastructureError if it
    cannot be listed to its end: what is missing from a listing would look as if it was removed."""
    listing = RemoteListing(part.location, limits)
    root = quote_id(part.name)
    if all(first <= second for first, second in pairwise(_list_ids(root, listing))):
        yield from _list(root, listing, warn)
    else:  # characters that are quoted in ids sort differently
        yield from sorted(_list(root, listing, warn), key=lambda file: file.item_id)


def _list_ids(root: str, listing: Iterable[RemoteObject]) -> Iterator[str]:
    return (_make_id(root, each.key) for each in listing)


def _make_id(root: str, key: str) -> str:
    return f"{root}/{quote_key(key)}" if key else root


def _list(root: str, listing: RemoteListing, warn: Callable[[str], None]) -> Iterator[ListedFile]:
    documents, code = IgnoreCheck(listing, (IGNORE_FILE,)), IgnoreCheck(listing, CODE_IGNORE_FILES, warn)
    for key, source, problem in listing:
        if is_hidden(key):
            continue
        is_document = not documents.is_ignored(key)
        name = name_source(source.address)
        not_code = IGNORED if code.is_ignored(key) else find_reason_not_fetched(key, name, source.size)
        if not is_document and not_code:
            continue
        kind = guess_kind(name, source.size)
        content = ListedContent(source, bytes.fromhex(source.sha256)[:HASH_BYTES], kind)
        not_read = problem if problem.startswith(SPECIAL) else ""
        problem = "" if not_read else problem
        found = ListedFile(_make_id(root, key), source.address, None, is_document, not_code, problem, content=content)
        yield found._replace(not_read=not_read)


class RemoteObjects:
    """The objects of a remote source, which are asked for in the order of the ids."""

    def __init__(self, listed: Iterator[ListedFile]) -> None:
        self._listed = listed
        self._current = next(listed, None)

    def find(self, item_id: str) -> ListedContent | None:
        """Return what an object is; None: it is not there any more, or cannot be read."""
        while self._current is not None and self._current.item_id < item_id:
            self._current = next(self._listed, None)
        found = self._current
        if found is None or found.item_id != item_id or found.problem or found.not_read:
            return None
        return found.content


def count_remote(items: Sequence[WorkItem]) -> int:
    """How many of these items are fetched at once."""
    return count_group([_find_remote(item) for item in items])


def fetch_remote(items: Sequence[WorkItem], context: StageContext) -> None:
    """Fetch the objects of these items at once."""
    resources: VisitResources = context.resources[RESOURCES]
    read_group([_find_remote(item) for item in items], resources.fetcher)


def _find_remote(item: WorkItem) -> RemoteInput | None:
    source = item.inputs.get(FILE)
    return source if isinstance(source, RemoteInput) else None
