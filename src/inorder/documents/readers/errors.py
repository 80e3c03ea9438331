"""What a reader raises when an input cannot be read. One line that a person understands, and nothing else escapes."""


class ReadError(Exception):
    """The file is not what it should be: damaged, encrypted, or of another kind. Trying again would not help."""

    category = "input"
    retryable = False
