"""Requests that cannot be answered, and the error responses for them."""

from inorder.errors import InorderError


class RequestError(InorderError):
    """A request that is refused. Its message is shown to the client."""

    status = 400


class NotFound(RequestError):
    """There is no such DATA, document, run or page."""

    status = 404


class TooLarge(RequestError):
    """What is asked for exceeds a limit."""

    status = 413


class TooBusy(RequestError):
    """Too many requests at the same time, or one that takes too long."""

    status = 503
