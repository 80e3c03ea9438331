"""moto's S3 server in a thread of the tests. It can kill a process at a chosen request."""

import logging
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.command_line import GUARD_S

BUCKET = "bucket"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "hidden-from-all-output",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class MotoServer:
    """moto's S3 server on a free port of the loopback interface."""

    def __init__(self) -> None:
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._application = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> None:
        """Serve until `close`."""
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()

    def _serve(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        answer: Iterable[bytes] = self._application(environ, start_response)
        return answer


class S3Server(MotoServer):
    """The server, and the process that it is to kill."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._left = 0
        self._is_applied = False
        self._victim = 0
        self._has_victim = threading.Event()
        self._hold_at = 0
        self._is_held = threading.Event()
        self._may_go_on = threading.Event()

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which clients find it."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL": self.endpoint}

    def arm(self, requests: int, *, is_applied: bool) -> None:
        """Kill the victim at the request with this number from now on, after it was applied or before."""
        with self._lock:
            self._left, self._is_applied = requests, is_applied
            self._has_victim.clear()

    def disarm(self) -> None:
        """Kill nothing any more."""
        with self._lock:
            self._left = 0
            self._has_victim.set()

    def set_victim(self, pid: int) -> None:
        """Name the process to kill. The server waits for this when the request comes first."""
        self._victim = pid
        self._has_victim.set()

    def hold(self, requests: int) -> None:
        """Answer the request with this number from now on only after `go_on`."""
        with self._lock:
            self._hold_at = requests
            self._is_held.clear()
            self._may_go_on.clear()

    def wait_until_held(self) -> None:
        """Wait for the request to be held."""
        assert self._is_held.wait(GUARD_S)

    def go_on(self) -> None:
        """Answer the request that is held."""
        self._may_go_on.set()

    def _serve(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        with self._lock:
            self._left -= 1
            self._hold_at -= 1
            is_last, is_held = self._left == 0, self._hold_at == 0
        if is_held:
            self._is_held.set()
            self._may_go_on.wait(GUARD_S)
        if is_last and not self._is_applied:
            self._kill()
        body = super()._serve(environ, start_response)
        if is_last and self._is_applied:
            self._kill()
        return body

    def _kill(self) -> None:
        self._has_victim.wait()
        os.kill(self._victim, signal.SIGKILL)


@contextmanager
def serve_s3() -> Iterator[S3Server]:
    """A server, with the bucket `BUCKET`."""
    import boto3

    server = S3Server()
    server.start()
    try:
        client = boto3.client(
            "s3",
            endpoint_url=server.endpoint,
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            region_name=CREDENTIALS["AWS_DEFAULT_REGION"],
        )
        client.create_bucket(Bucket=BUCKET)
        yield server
    finally:
        server.close()
