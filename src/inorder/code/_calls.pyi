from array import array

def encode_calls(
    calls: array[int],
    scopes: list[tuple[int, int, str]],
    starts: array[int],
    data: bytes,
    text_start: int,
    /,
) -> tuple[bytes, bytes, list[str]]: ...
