"""Runs inside the environment of the `verifiers` library: a task and a function of it, judged by our adapter.

    python verifiers_run.py FOLDER

FOLDER holds the module `users_tasks`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from verify import verifier

ITEM = {"answer": "4", "prompt": "2 + 2"}
ASKED = (
    ("Sum", {}, ("4", " 4\n", "5", "5, or maybe something longer")),
    ("Boxed", {}, ("4",)),
    ("Keyed", {}, ("4",)),
    ("alone", {}, ("4", "5")),
    ("Missing", {}, ("4",)),
)


def main(folder: str) -> None:
    found = {}
    for name, params, completions in ASKED:
        judge = verifier("verifiers", object=f"users_tasks:{name}", path=folder, timeout=60.0, **params)
        found[name] = [asdict(judge(ITEM, completion)) for completion in completions]
        judge.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
