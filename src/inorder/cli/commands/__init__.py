"""The commands: one file per command, imported when it is run."""

COMMANDS = {
    "run": "Process documents and code, all stages",
    "doctags": "Convert documents to DocTags",
    "chunk": "Split documents into chunks",
    "embed": "Compute vectors for chunks",
    "index": "Build the search index",
    "search": "Search documents and code",
    "symbols": "List the definitions in a source file",
    "graph": "Show callers and callees of a function",
    "mcp": "Serve the index to coding assistants",
    "stage": "Run a stage of your own",
    "plan": "Show what a run would do, and why",
    "failures": "List failed items and their errors",
    "retry": "Run failed items again",
    "explain": "Explain what a run would do with one file",
    "verify": "Check DATA for missing or damaged files",
    "inspect": "Summarize the contents of DATA",
    "manifest": "Print rows of the manifests",
    "journal": "Print what a journal holds",
    "config": "Show settings and where they come from",
}
"""Every command with its one-line help. `NAME` is the function, or Typer app, `NAME` in `inorder.cli.commands.NAME`."""
