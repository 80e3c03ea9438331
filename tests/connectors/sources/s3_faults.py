"""moto's S3 server in a thread of the tests, with objects that tests put there directly, and faults on request."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote

from tests.connectors.s3_server import MotoServer
from tests.support.command_line import GUARD_S

BUCKET = "bucket"
KEY_ID = "AKIDVISIBLENOWHERE"
SECRET = "secret/that+nobody/may+read"
TOKEN = "session-token-that-nobody-may-read"


class SeenRequest(NamedTuple):
    """A request that the server got."""

    method: str
    path: str
    parameters: dict[str, list[str]]
    headers: dict[str, str]

    @property
    def is_listing(self) -> bool:
        return "list-type" in self.parameters

    @property
    def key(self) -> str:
        return self.path.removeprefix(f"/{BUCKET}/")


class Answer(NamedTuple):
    """What the server answers in place of moto."""

    status: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    held: threading.Event | None = None
    """The connection stays open behind the body until it is set."""


Fault = Callable[[SeenRequest], Answer | None]


def make_error(status: str, code: str, **headers: str) -> Answer:
    """An error of S3. Like the real one, it names the id of the access key."""
    body = f"<Error><Code>{code}</Code><Message>no</Message><AWSAccessKeyId>{KEY_ID}</AWSAccessKeyId></Error>"
    return Answer(status, body.encode(), tuple((name.replace("_", "-"), value) for name, value in headers.items()))


class FaultyS3(MotoServer):
    """The server. `fault` is asked before each request."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[SeenRequest] = []
        self.fault: Fault = lambda request: None

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which clients find it."""
        return {
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_SESSION_TOKEN": TOKEN,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": self.endpoint,
        }

    @property
    def gets(self) -> list[SeenRequest]:
        """The reads of objects."""
        return [each for each in self.requests if each.method == "GET" and not each.is_listing]

    def put(self, objects: Mapping[str, bytes]) -> None:
        for key, content in objects.items():
            self._backend.put_object(BUCKET, key, content)

    def remove(self, key: str) -> None:
        self._backend.delete_object(BUCKET, key)

    def reset(self) -> None:
        """An empty bucket, without faults."""
        self.fault = lambda request: None
        if BUCKET in self._backend.buckets:
            self._backend.buckets[BUCKET].keys.clear()
        else:
            self._backend.create_bucket(BUCKET, "us-east-1")
        self.requests.clear()

    @property
    def _backend(self) -> Any:
        from moto.s3.models import s3_backends

        return s3_backends["123456789012"]["aws"]

    def _serve(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        headers = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name[:5] == "HTTP_"}
        path = unquote(environ["RAW_URI"].partition("?")[0])
        parameters = parse_qs(environ["QUERY_STRING"], keep_blank_values=True)
        request = SeenRequest(environ["REQUEST_METHOD"], path, parameters, headers)
        self.requests.append(request)
        answer = self.fault(request)
        if answer is None:
            return super()._serve(environ, start_response)
        length = (
            ()
            if any(name == "Content-Length" for name, _ in answer.headers)
            else (("Content-Length", str(len(answer.body))),)
        )
        start_response(answer.status, [*answer.headers, *length])
        return _send(answer)


def _send(answer: Answer) -> Iterator[bytes]:
    yield answer.body
    if answer.held is not None:
        answer.held.wait(GUARD_S)


@contextmanager
def serve_s3() -> Iterator[FaultyS3]:
    """A server with the bucket `BUCKET`."""
    server = FaultyS3()
    server.start()
    try:
        yield server
    finally:
        server.close()
