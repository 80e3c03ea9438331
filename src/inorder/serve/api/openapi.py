"""The JSON API as an OpenAPI document, made from the declared types."""

from collections.abc import Iterator
from typing import Any

import msgspec

from inorder.version import __version__

from .endpoint import Endpoint
from .routes import ENDPOINTS

OPENAPI_PATH = "/api/openapi.json"
_REF = "#/components/schemas/{name}"


class ApiError(msgspec.Struct, frozen=True):
    """A request that was refused, or failed."""

    error: str
    """One line."""


def describe_api() -> dict[str, Any]:
    """The OpenAPI document."""
    types = [endpoint.result for endpoint in ENDPOINTS if not isinstance(endpoint.result, str)]
    schemas, components = msgspec.json.schema_components([*types, ApiError], ref_template=_REF)
    by_type = dict(zip([*types, ApiError], schemas, strict=True))
    error = {"description": "The reason.", "content": _as_json(by_type[ApiError])}
    paths = {}
    for endpoint in ENDPOINTS:
        is_json = not isinstance(endpoint.result, str)
        content = _as_json(by_type[endpoint.result]) if is_json else {endpoint.result: {"schema": {}}}
        paths[endpoint.path] = {
            "get": {
                "operationId": endpoint.path.removeprefix("/api/").replace("/", "_"),
                "summary": endpoint.summary,
                "parameters": list(_list_parameters(endpoint)),
                "responses": {"200": {"description": "The result.", "content": content}, "default": error},
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "inorder serve",
            "version": __version__,
            "description": "Read-only. Present the token as `Authorization: Bearer TOKEN`, or as the cookie that the "
            "first visit sets.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _as_json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _list_parameters(endpoint: Endpoint[Any]) -> Iterator[dict[str, Any]]:
    [_], components = msgspec.json.schema_components([endpoint.params], ref_template=_REF)
    schema = components[endpoint.params.__name__]
    required = schema.get("required", ())
    for name, declared in schema.get("properties", {}).items():
        described = dict(declared)
        text = described.pop("description", "")
        found = {"name": name, "in": "query", "required": name in required, "schema": described}
        yield found | ({"description": text} if text else {})
