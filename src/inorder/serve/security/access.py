"""Who may read: the host that a request names, the origin that it comes from, and the token that it presents.

A page of another site can make a browser send requests to this server, also under a name that resolves to 127.0.0.1
since a moment (DNS rebinding). So the name in `Host` must be one of ours, and a request that says where it comes from
must come from ourselves. An address in `Host` cannot be rebound: it is what the browser connected to.

The token is compared in constant time. A visit with `?token=` sets a cookie and is redirected to the same page without
the token, so that it stays neither in the address bar nor in a history of links.
"""

import hmac
import ipaddress
import socket
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from inorder.serve.options import ServeOptions, is_loopback

from .answers import make_refusal

TOKEN_PARAMETER = "token"
METRICS_PATH = "/metrics"
_OPEN_PATHS = ("/static/style.css",)
"""What the page that asks for the token needs."""
_REFUSED_SITES = ("cross-site", "same-site")
_COOKIE_S = 30 * 24 * 3600


class AccessGuard:
    """Answers requests that may not pass, and hands over the others."""

    def __init__(self, app: ASGIApp, options: ServeOptions, port: int) -> None:
        self._app = app
        self._options = options
        self._names = {name.lower() for name in ("localhost", *options.allowed_hosts)}
        if not options.is_loopback:
            self._names |= {options.host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
        self._token = options.token.encode()
        self.cookie = f"inorder_{port}"
        """Cookies do not distinguish ports: two servers on one host need two names."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._check(scope) if scope["type"] == "http" else make_refusal(400, "only HTTP is served here")
        await (refusal or self._app)(scope, receive, send)

    def _check(self, scope: Scope) -> Response | None:
        """The answer to a request that may not pass; None: it may."""
        headers = Headers(scope=scope)
        if scope["method"] not in ("GET", "HEAD"):
            refusal = make_refusal(405, "only GET and HEAD are allowed")
            refusal.headers["Allow"] = "GET, HEAD"  # RFC 9110 requires it
            return refusal
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_known_host(hosts[0]):
            return make_refusal(421, "this server is not known under that name; see `inorder serve --allow-host`")
        if not _is_own_origin(headers, hosts[0]):
            return make_refusal(403, "requests from other sites are refused")
        return self._check_token(scope, headers)

    def _is_known_host(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self._options.is_loopback

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        if not self._token:
            return None
        path = scope["path"]
        if path in _OPEN_PATHS or (path == METRICS_PATH and self._is_local_metrics(scope)):
            return None
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        if TOKEN_PARAMETER in given:
            if not self._is_token(given[TOKEN_PARAMETER]):
                return make_refusal(401, "wrong token; open the address that `inorder serve` printed")
            return self._admit(path, {name: value for name, value in given.items() if name != TOKEN_PARAMETER})
        kind, _, credentials = headers.get("authorization", "").partition(" ")
        if (kind.lower() == "bearer" and self._is_token(credentials)) or self._is_token(self._read_cookie(headers)):
            return None
        return make_refusal(401, "open the address that `inorder serve` printed: it contains the token")

    def _is_local_metrics(self, scope: Scope) -> bool:
        """Metrics have no content of documents. Prometheus on this machine may read them without a token."""
        client = scope.get("client")
        return self._options.is_loopback and (client is None or is_loopback(client[0]))

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token)

    def _read_cookie(self, headers: Headers) -> str:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return ""
        return "" if found is None else found.value

    def _admit(self, path: str, query: dict[str, str]) -> Response:
        target = f"/{path.lstrip('/')}"
        response = RedirectResponse(f"{target}?{urlencode(query)}" if query else target, 303)
        response.set_cookie(
            self.cookie, self._options.token, max_age=_COOKIE_S, path="/", httponly=True, samesite="strict"
        )
        return response


def _is_own_origin(headers: Headers, host: str) -> bool:
    """Whether a request comes from a page of this server, from the address bar, or from a program."""
    origin = headers.get("origin")
    if origin is not None:
        try:
            found = urlsplit(origin)
        except ValueError:
            return False
        if found.scheme not in ("http", "https") or found.netloc.lower() != host.lower():
            return False
    is_navigation = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return is_navigation or headers.get("sec-fetch-site") not in _REFUSED_SITES
