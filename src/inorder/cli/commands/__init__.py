"""The commands: one file per command, in a folder per group, imported when it is run or explains itself."""

GROUPS = {
    "Make": {
        "run": ("Make folders searchable, or update them", "docs src"),
        "watch": ("Run again whenever a source changes", "docs src"),
        "plan": ("Show what a run would do, and why", "docs src"),
        "export": ("Write Parquet, JSON lines, files or a database", "chunks --to tables"),
    },
    "Find": {
        "search": ("Search documents and code", '"lamp oil" --only document'),
        "symbols": ("List the definitions in a source file", "src/lamp.py"),
        "graph": ("Show callers and callees of a function", "light_lamp"),
        "mcp": ("Serve the index to coding assistants", "--data .inorder"),
        "eval": ("Measure how well questions are answered", "queries.jsonl qrels.tsv"),
    },
    "Look": {
        "inspect": ("Summarize the contents of DATA", ""),
        "show": ("Print one document", "oil.md --as text"),
        "serve": ("Show runs, documents and search in a browser", "--open"),
        "report": ("Write a page about runs and DATA", "--output report.html"),
        "sources": ("List the sources of DATA, or move one", ""),
        "answers": ("List the answers of models, or remove some", ""),
        "config": ("List settings, and where they come from", "show"),
    },
    "Mend": {
        "failures": ("List what failed, why, and what would help", "--verbose"),
        "retry": ("Run what failed again", ""),
        "explain": ("Explain what a run would do with one file", "docs/oil.md"),
        "verify": ("Check DATA for missing or damaged files", ""),
        "forget": ("Remove a source and all its files", "src"),
    },
    "Build your own": {
        "stage": ("Run a stage of your own", "jobs:count docs"),
        "doctags": ("Convert documents to DocTags", "docs"),
        "chunk": ("Split documents into chunks", "--tokens-max 400"),
        "embed": ("Compute vectors for chunks", "--dense hash:64"),
        "index": ("Build the search index", "src"),
        "extract": ("Extract fields with a model", "--plan --schema oil.json --model openai:http://host#m"),
        "plugins": ("List plug-ins, and what is wrong with them", ""),
        "manifest": ("Print rows of the manifests", "--last-run"),
        "journal": ("Print what a journal holds", ".inorder/journal/count.journal"),
    },
}
"""Every command with its one-line help and the arguments of its example, by group. The folder of a group is called as
the last word of its title."""
COMMANDS = {name: text for group in GROUPS.values() for name, (text, _) in group.items()}
EXAMPLES = {
    "": 'inorder run docs src && inorder search "lamp oil"',
    **{name: f"inorder {name} {rest}".strip() for group in GROUPS.values() for name, (_, rest) in group.items()},
    "config show": "inorder config show chunk",
    "config diff": "inorder config diff --set workers=2",
    "config trust": "inorder config trust",
    "config keys": "inorder config keys queue",
}
"""A command line for each help text."""


def find_module(name: str) -> str:
    """The module of a command. The command is the function, or Typer app, that has its name in there."""
    [group] = (group for group, members in GROUPS.items() if name in members)
    return f"{__name__}.{group.split()[-1].lower()}.{name}"
