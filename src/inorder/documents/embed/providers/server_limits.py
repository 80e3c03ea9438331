"""What a server is asked at most."""

import msgspec

from inorder.errors import require


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Every limit of a provider behind a server, with its reason."""

    in_flight: int = 4
    """Requests at the same time: enough to hide the network, few enough for a small server."""
    rate_per_s: float | None = None
    """Requests per second in the long run, retries included; None: no limit but the server's own."""
    burst: int = 1
    """Requests at once after a pause; read with a rate only."""
    texts_max: int = 32
    """Texts in a request. TEI refuses more than 32 unless it was told otherwise."""
    attempts_max: int = 5
    """Requests made for the same texts before giving up."""
    backoff_s: float = 0.5
    """Before the second attempt; doubled for each one after it."""
    backoff_s_max: float = 30.0
    """The longest wait that we choose by ourselves. The server may ask for longer."""
    deadline_s: float = 120.0
    """For a request with all its retries and waits. What cannot be had by then is not waited for."""
    answer_bytes_max: int = 64 * 2**20
    """Of an answer: more than 32 vectors can ever take, so that a server gone wrong does not fill the memory."""

    def __post_init__(self) -> None:
        for name in ("in_flight", "burst", "texts_max", "attempts_max", "answer_bytes_max"):
            require(getattr(self, name) >= 1, f"option {name} must be at least 1, got {getattr(self, name)}")
        for name in ("backoff_s", "backoff_s_max", "deadline_s"):
            require(getattr(self, name) > 0, f"option {name} must be above 0, got {getattr(self, name)}")
