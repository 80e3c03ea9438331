"""The application: pages, the JSON API, metrics, and the guards in front of them."""

from functools import partial
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from .api.endpoint import ApiHandler, make_json
from .api.metrics import answer_metrics
from .api.openapi import OPENAPI_PATH, describe_api
from .api.routes import ENDPOINTS
from .api.runs import LIVE_PATH, LiveStreams
from .catalog import Catalog
from .options import ServeOptions
from .request_metrics import MeasuredApp, RequestMetrics
from .security.access import METRICS_PATH, AccessGuard
from .security.answers import SecurityHeaders, make_refusal
from .security.limits import RequestLimits

PAGES = {
    "/search": "index.html",
    "/files": "index.html",
    "/document": "index.html",
    "/code": "index.html",
    "/runs": "runs.html",
}
"""The file of each page; its script shows what the path names."""
_MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def make_app(options: ServeOptions, port: int | None = None) -> ASGIApp:
    """The application for these options. Raises OperatorError if a DATA directory cannot be read."""
    catalog = Catalog(options.data)
    metrics = RequestMetrics()
    api = ApiHandler(catalog)
    static = _StaticFiles()
    routes = [Route(endpoint.path, partial(api.answer, endpoint)) for endpoint in ENDPOINTS]
    routes += [Route(page, partial(static.answer, name=name)) for page, name in PAGES.items()]
    routes += [
        Route("/", _redirect_home),
        Route("/favicon.ico", partial(static.answer, name="icon.svg")),
        Route("/static/{name}", static.answer),
        Route(LIVE_PATH, LiveStreams(catalog, metrics).answer),
        Route(OPENAPI_PATH, _serve_openapi),
        Route(METRICS_PATH, lambda request: answer_metrics(catalog, metrics)),
    ]
    handlers: dict[Any, Any] = {HTTPException: _refuse, Exception: _report_bug}
    app: ASGIApp = Starlette(routes=routes, exception_handlers=handlers)
    app = AccessGuard(app, options, options.port if port is None else port)
    app = SecurityHeaders(RequestLimits(app))
    return MeasuredApp(app, metrics, frozenset(route.path for route in routes))


async def _serve_openapi(request: Request) -> Response:
    return make_json(describe_api())


async def _redirect_home(request: Request) -> Response:
    return RedirectResponse("/search", 303)


async def _refuse(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return make_refusal(status, "no such page" if status == 404 else "the request was refused")


async def _report_bug(request: Request, error: Exception) -> Response:
    return make_refusal(500, f"this is a bug in inorder: {type(error).__name__}")


class _StaticFiles:
    """The files of the pages, read once. A name that is not in the package is not found, whatever it contains."""

    def __init__(self) -> None:
        folder, report = files("inorder.serve") / "static", files("inorder.report.page")
        self._files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
        self._files |= {"report.css": (report / "style.css").read_bytes()}
        self._files |= {"report.js": (report / "script.js").read_bytes()}

    async def answer(self, request: Request, name: str = "") -> Response:
        """Answer with the file of this name, or of the one in the path."""
        name = name or request.path_params["name"]
        content = self._files.get(name)
        if content is None:
            return make_refusal(404, "no such file")
        kind = _MEDIA_TYPES.get(name.rpartition(".")[2], "application/octet-stream")
        return Response(content, headers={"content-type": kind, "cache-control": "no-cache"})
