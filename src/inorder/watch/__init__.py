"""Keeps DATA current: runs again whenever a source has changed.

    sources ─▶ feed ─▶ gather window ─▶ run ─▶ (again)

An event decides only *when* the next run starts, never what it does: every run lists the sources and compares them with
DATA. So an event that is lost, doubled or late costs time, and never a document.
"""
