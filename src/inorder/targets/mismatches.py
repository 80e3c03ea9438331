"""What is said about a collection that does not fit the index."""

from inorder.errors import OperatorError

from .base import TargetLayout

_REMEDY = "choose another --collection, or write everything again with --recreate"


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
