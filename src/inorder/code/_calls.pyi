def encode_calls(
    calls: list[tuple[int, int]],
    scopes: list[tuple[int, int, str]],
    starts: list[int],
    data: bytes,
    text_start: int,
    /,
) -> tuple[bytes, bytes, list[str]]: ...
