"""The JSON API: one file per subject. `routes.py` lists the endpoints, and `openapi.py` documents them."""
