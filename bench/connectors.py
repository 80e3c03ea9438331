"""What goes into databases, and comes out of object stores, per second, beside other tools in the same run.

    python bench/connectors.py [--part postgres] [--part s3] [--documents 3000] [--json]

`make test-connectors` installs the servers; the tools that are compared are installed by `make bench-connectors`.
"""

import argparse
import json

from connecting import postgres, s3

PARTS = {"postgres": postgres.measure, "s3": s3.measure}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, action="append", help="what to measure; default: everything")
    parser.add_argument("--documents", type=int, default=3000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = {part: PARTS[part](options) for part in options.part or PARTS}
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
