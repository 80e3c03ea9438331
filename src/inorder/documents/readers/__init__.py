"""One reader for every kind of document. Each gives the same plain model (`documents/model.py`)."""
