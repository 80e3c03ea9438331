"""`inorder serve`: runs, documents and search of DATA in a browser, and metrics for Prometheus.

The server reads files and never writes: it takes no lock that a run needs. Pages are static files with small modules of
JavaScript that show what the JSON API returns; `api/openapi.py` documents it. `security/` decides which requests are
answered. What a document contains is data: it reaches the page as text, or as HTML that was sanitised.
"""
