"""The commands: one file per command, in a folder per group, imported when it is run."""

GROUPS = {
    "pipeline": {
        "run": "Process documents and code, all stages",
        "watch": "Run again whenever a source changes",
        "doctags": "Convert documents to DocTags",
        "chunk": "Split documents into chunks",
        "embed": "Compute vectors for chunks",
        "index": "Build the search index",
        "stage": "Run a stage of your own",
        "plan": "Show what a run would do, and why",
        "explain": "Explain what a run would do with one file",
        "retry": "Run failed items again",
        "config": "Show settings and where they come from",
    },
    "search": {
        "search": "Search documents and code",
        "symbols": "List the definitions in a source file",
        "graph": "Show callers and callees of a function",
        "mcp": "Serve the index to coding assistants",
        "serve": "Show runs, documents and search in a browser",
        "eval": "Measure how well questions are answered",
    },
    "data": {
        "show": "Print one document",
        "export": "Write Parquet, JSON lines or files",
        "failures": "List failed items and their errors",
        "sources": "List the sources of DATA, or move one",
        "forget": "Remove a source and all its files",
        "verify": "Check DATA for missing or damaged files",
        "inspect": "Summarize the contents of DATA",
        "report": "Write a page about runs and DATA",
        "manifest": "Print rows of the manifests",
        "journal": "Print what a journal holds",
    },
}
"""Every command with its one-line help, by group."""

COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}


def find_module(name: str) -> str:
    """The module of a command. The command is the function, or Typer app, that has its name in there."""
    [group] = (group for group, members in GROUPS.items() if name in members)
    return f"{__name__}.{group}.{name}"
