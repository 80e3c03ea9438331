"""The names of steps and passes, and of what they write to DATA. Imports nothing, so that every command may use it."""

DOCTAGS, CHUNK, INDEX, EMBED, EXTRACT = "doctags", "chunk", "index", "embed", "extract"
FAMILIES = ("dense", "sparse")
STEPS = (DOCTAGS, CHUNK, INDEX, *(f"{EMBED}:{family}" for family in FAMILIES))
"""All steps, in their order."""
RUN = "run"
"""The name of the run in DATA: of its journal, its lock and its telemetry."""
READ = "pages"
"""The name of the pass in which a model reads pages."""
MODELS = "models"
"""The name of the pass of models that make vectors."""
ASKING = (READ, EXTRACT)
"""The passes in which a model is asked about parts of documents: to read pages, and to extract fields."""
PASSES = (RUN, *ASKING, MODELS)
"""All passes, in their order."""


def name_manifest(step: str) -> str:
    """Return the name of the manifest of a step: `embed-dense` for `embed:dense`."""
    return step.replace(":", "-")


MANIFESTS = {name_manifest(step): step for step in STEPS}
"""The steps by the names of their manifests."""
OURS = frozenset((*MANIFESTS, *PASSES))
"""The names of manifests and journals that belong to the pipeline, and not to a stage of a user."""


def is_chosen(step: str, name: str) -> bool:
    """Whether a name that a user gives means a step: that of the run, of the step, of its manifest or its command."""
    return name in (RUN, step, name_manifest(step), step.partition(":")[0])
