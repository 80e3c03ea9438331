"""DATA as a dataset: read it in Python, and export it for other tools."""
