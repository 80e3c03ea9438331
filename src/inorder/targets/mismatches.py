"""What is said about a collection that does not fit the index, and about a place that cannot be written."""

from inorder.errors import InfrastructureError, InorderError, OperatorError, require

from .base import TargetLayout

_NO_SPACE = ("No space left on device", "Disk quota exceeded", "File too large")
_UNUSABLE = (
    "Permission denied",
    "Read-only file system",
    "read-only",
    "Not a directory",
    "Is a directory",
    "File exists",
    "File name too long",
    "No such file",
)
_REMEDY = "choose another --collection, or write everything again with `inorder export --recreate`"


def require_identifier(collection: str) -> None:
    """Raise OperatorError for a collection that cannot be the name of a table or a schema."""
    require(
        collection.isidentifier(),
        f"--collection must be a name of letters, digits and underscores; got {collection!r}",
    )


def wrong_dimensions(address: str, collection: str, known: int, layout: TargetLayout) -> OperatorError:
    """The error for vectors of another length than those that the target holds."""
    return OperatorError(
        f"{address}: the vectors of the collection {collection} have {known} dimensions, and those of"
        f" {layout.provider} have {layout.dimensions}; {_REMEDY}"
    )


def other_version(address: str, collection: str, found: object, known: int) -> OperatorError:
    """The error for tables of another version of inorder."""
    return OperatorError(
        f"{address}: the collection {collection} has version {found}, and this version of inorder writes {known};"
        f" {_REMEDY}"
    )


def other_content(address: str, collection: str) -> OperatorError:
    """The error for something that was not written by inorder."""
    return OperatorError(f"{address}: {collection} holds something else than an export; choose another --collection")


def failed_access(address: str, doing: str, problem: str) -> InorderError:
    """The error for a file or folder that cannot be opened or written. Only a disk that is full, or that fails, can
    become usable again."""
    problem = " ".join(problem.split())[:300]
    for reason in _NO_SPACE:
        if reason in problem:
            return InfrastructureError(f"{address} {doing}: {reason}; make room, and run again to resume")
    if any(each in problem for each in _UNUSABLE):
        return OperatorError(f"{address} {doing}: {problem}")
    return InfrastructureError(f"{address} {doing}: {problem}; run again to resume")
