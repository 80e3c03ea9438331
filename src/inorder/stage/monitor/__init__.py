"""Observes a run: counts, durations, progress, telemetry. Nothing here decides anything."""
