"""Outcomes of cases of clients, and the table of them in docs/clients.md.

    python clients/results.py FILE...

writes the sections of the clients in FILE... into docs/clients.md, and leaves the other sections as they are. Files of
one client become one section.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

PASSED, FAILED, NOT_APPLICABLE = "passed", "failed", "not applicable"

PAGE = Path(__file__).resolve().parents[1] / "docs" / "clients.md"


class Results:
    """The outcomes of the cases of a client, which has a version."""

    def __init__(self, client, version):
        self.client, self.version, self.outcomes = client, version, []

    def add(self, case, target, outcome, reason="", count=1):
        """Adds an outcome of a case on a target; `count` is the number of tests that it stands for."""
        self.outcomes.append(
            {"case": case, "target": target, "outcome": outcome, "reason": reason or "", "count": count}
        )

    def count(self, outcome):
        """How many tests had this outcome."""
        return sum(one["count"] for one in self.outcomes if one["outcome"] == outcome)

    def write(self, path):
        """Writes them to a file."""
        text = json.dumps({"client": self.client, "version": self.version, "outcomes": self.outcomes}, indent=1)
        Path(path).write_text(text + "\n")


def section(results):
    """The section of a client: a table of cases, with a column for each target, and the reasons below it."""
    outcomes = results["outcomes"]
    targets = list(dict.fromkeys(one["target"] for one in outcomes))
    counts = {}
    for one in outcomes:
        counts.setdefault(one["case"], {}).setdefault(one["target"], Counter())[one["outcome"]] += one["count"]
    lines = [f"## {results['client']}", "", f"Version {results['version']}.", ""]
    lines += ["| case | " + " | ".join(targets) + " |", "|---|" + "---|" * len(targets)]
    for case, of in counts.items():
        cells = []
        for target in targets:
            count = of.get(target, Counter())
            total = sum(count.values())
            if total == 0:
                cells.append("not run")
            elif total == 1:
                cells.append(next(iter(count)))
            else:
                cells.append(", ".join(f"{count[o]} {o}" for o in (PASSED, FAILED, NOT_APPLICABLE) if count[o]))
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    reasons = {}
    for one in outcomes:
        if one["reason"]:
            key = (one["case"], one["outcome"], one["reason"])
            reasons.setdefault(key, {}).setdefault(one["target"], 0)
            reasons[key][one["target"]] += one["count"]
    if reasons:
        lines += ["", "| case | target | outcome | tests | reason |", "|---|---|---|---|---|"]
        for (case, outcome, reason), of in reasons.items():
            count = "/".join(str(number) for number in dict.fromkeys(of.values()))
            text = reason.replace("|", "\\|")
            lines.append(f"| {case} | {', '.join(of)} | {outcome} | {count} | {text} |")
    return "\n".join(lines) + "\n"


def update(page, results):
    """The page with the section of a client replaced, or added at the end."""
    new = section(results)
    heading = re.escape(f"## {results['client']}\n")
    found = re.search(rf"^{heading}.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    if found:
        after = page[found.end() :]
        return page[: found.start()] + new + ("\n" if after else "") + after
    return page.rstrip("\n") + "\n\n" + new


def main():
    page, clients = PAGE.read_text(), {}
    for path in sys.argv[1:]:
        results = json.loads(Path(path).read_text())
        known = clients.setdefault(results["client"], results)
        if known is not results:
            known["outcomes"] += results["outcomes"]
    for results in clients.values():
        page = update(page, results)
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
