"""Which requests are answered: tokens, hosts, origins, methods."""

import pytest
from starlette.testclient import TestClient

from inorder.errors import OperatorError
from inorder.serve.options import ServeOptions
from tests.serve.conftest import TOKEN, make_client
from tests.serve.site import Site

pytestmark = pytest.mark.req("VIS-2")
WITH_TOKEN = {"authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize("path", ["/", "/search", "/api/data", "/api/search?q=lamp", "/api/openapi.json", "/nothing"])
def test_without_the_token_nothing_is_answered(guarded: TestClient, path: str) -> None:
    response = guarded.get(path)
    assert response.status_code == 401
    assert TOKEN not in response.text


def test_a_visit_with_the_token_gets_a_cookie_and_an_address_without_it(guarded: TestClient) -> None:
    response = guarded.get(f"/search?q=lamp+oil&token={TOKEN}")
    assert response.status_code == 303
    assert response.headers["location"] == "/search?q=lamp+oil"
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert guarded.get("/api/data").status_code == 200, "the cookie is enough from now on"


def test_a_redirect_never_leads_to_another_host(guarded: TestClient) -> None:
    response = guarded.get(f"http://127.0.0.1:8765//evil.example/x?token={TOKEN}")
    assert response.headers["location"] == "/evil.example/x"


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "ü"])
def test_a_wrong_token_is_refused(guarded: TestClient, token: str) -> None:
    assert guarded.get("/search", params={"token": token}).status_code == 401
    assert guarded.get("/search", headers={"authorization": f"Bearer {token}".encode()}).status_code == 401
    assert guarded.get("/search", headers={"cookie": f"inorder_8765={token}".encode()}).status_code == 401


def test_a_program_presents_the_token_in_a_header(guarded: TestClient) -> None:
    assert guarded.get("/api/data", headers=WITH_TOKEN).status_code == 200


def test_metrics_need_a_token_unless_only_this_machine_can_ask(site: Site, guarded: TestClient) -> None:
    assert guarded.get("/metrics").status_code == 200
    remote = make_client(site.data, token=TOKEN, host="0.0.0.0", address="http://192.0.2.7:8765")
    assert remote.get("/metrics").status_code == 401
    assert remote.get("/metrics", headers=WITH_TOKEN).status_code == 200


def test_an_address_that_others_reach_is_refused_without_a_token() -> None:
    with pytest.raises(OperatorError, match=r"--no-token is refused with --host 0\.0\.0\.0"):
        ServeOptions(data=("x",), host="0.0.0.0")


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST", "[::1]:8765", "127.8.8.8"])
def test_names_of_this_machine_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/api/data", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.7", "", "a@b@c", "[::"],
)
def test_a_name_that_another_site_rebinds_to_this_machine_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/api/data", headers={"host": host}).status_code == 421


def test_a_further_name_can_be_allowed(site: Site) -> None:
    client = make_client(site.data, token=TOKEN, allowed_hosts=("lamps.example",), address="http://lamps.example:8765")
    assert client.get("/api/data", headers=WITH_TOKEN).status_code == 200


def test_two_host_headers_are_refused(client: TestClient) -> None:
    headers = [("host", "localhost"), ("host", "evil.example")]
    assert client.get("/api/data", headers=headers).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "file://127.0.0.1:8765"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
    ],
)
def test_a_request_from_a_page_of_another_site_is_refused(client: TestClient, headers: dict[str, str]) -> None:
    assert client.get("/api/data", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://127.0.0.1:8765"},
        {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"},
        {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
    ],
)
def test_own_pages_and_links_are_answered(client: TestClient, headers: dict[str, str]) -> None:
    assert client.get("/search", headers=headers).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_can_be_changed(client: TestClient, method: str) -> None:
    response = client.request(method, "/api/search?q=lamp")
    assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/search", "/api/data", "/static/app.js", "/metrics", "/nothing", "/static/nothing"])
def test_every_answer_has_the_headers_that_keep_content_from_being_executed(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


def test_the_page_has_no_inline_script_or_style(client: TestClient) -> None:
    page = client.get("/search").text
    assert "<script>" not in page
    assert "style=" not in page
    assert "onclick" not in page
