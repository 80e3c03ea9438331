"""The page of a report: one HTML file without any request."""
