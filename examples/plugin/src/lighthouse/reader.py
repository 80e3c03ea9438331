"""Reads files of the type `.lamp`: a title, and lines of the form `name: text`."""

from inorder.plugins import Document, Heading, Paragraph, ReadError, Title


class LampReader:
    """A heading and a paragraph for each line."""

    extensions = ("lamp",)

    def read(self, data: bytes, name: str) -> Document:
        """Read one file."""
        try:
            first, *lines = data.decode().splitlines()
        except ValueError as error:
            raise ReadError(f"not a lamp: {error}") from None
        document = Document(name=name, mimetype="text/x-lamp", blocks=[Title(text=first)])
        for line in lines:
            heading, _, text = line.partition(": ")
            document.blocks += [Heading(text=heading, level=1), Paragraph(text=text)]
        return document


lamp = LampReader()
