"""Runs in which nothing has changed since the last one: known without a look at any item."""
