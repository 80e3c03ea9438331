"""One process in the story of a run: it begins or goes on, until the run ends or something ends the process.

It keeps books on what it did, which outlive it: which items its workers were given, which seqs its sinks took, and how
much the run had promised to keep whatever happens.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from inorder.core.commands import Command, RetryScheduled, Summary
from inorder.core.events import CancelRequested, Committed, Event
from inorder.core.plan import PlanItem
from inorder.engines.base import Batch, Task
from inorder.errors import InfrastructureError
from inorder.host.trouble import trouble
from inorder.journal.records import Header
from inorder.journaled import Job, JournaledRun
from inorder.sinks.base import Entry, Position, Sink, Trace
from inorder.sinks.manifest import ManifestSink
from inorder.sinks.outputs import OutputsSink, sweep

from .clock import VirtualClock
from .crash_story import HEAD, JOURNAL, MANIFEST, ROOT, STAGING, Story, described, files_of, row_of, staging_of
from .disk import Disk
from .engine import SimEngine, _Worker
