"""Outcomes of cases of clients, and the table of them in docs/clients.md.

    python clients/results.py FILE...

writes the sections of the clients in FILE... into docs/clients.md, and leaves the other sections as they are. Files of
one client become one section. A file has one client, or a list of them.
"""

import json
import re
import sys
import textwrap
from collections import Counter
from pathlib import Path

PASSED, FAILED, NOT_APPLICABLE = "passed", "failed", "not applicable"

PAGE = Path(__file__).resolve().parents[1] / "docs" / "clients.md"


class Results:
    """The outcomes of the cases of a client, which has a version; `about` is what the section says before its table."""

    def __init__(self, client, version, about=""):
        self.client, self.version, self.about, self.outcomes = client, version, about, []

    def add(self, case, target, outcome, reason="", count=1):
        """Adds an outcome of a case on a target; `count` is the number of tests that it stands for."""
        self.outcomes.append(
            {"case": case, "target": target, "outcome": outcome, "reason": reason or "", "count": count}
        )

    def count(self, outcome):
        """How many tests had this outcome."""
        return sum(one["count"] for one in self.outcomes if one["outcome"] == outcome)

    def data(self):
        """What a file has of them."""
        return {"client": self.client, "version": self.version, "about": self.about, "outcomes": self.outcomes}

    def write(self, path):
        """Writes them to a file."""
        Path(path).write_text(json.dumps(self.data(), indent=1) + "\n")


def section(results):
    """The section of a client: a table of cases, with a column for each target, and the reasons below it."""
    outcomes = results["outcomes"]
    targets = list(dict.fromkeys(one["target"] for one in outcomes))
    counts = {}
    for one in outcomes:
        counts.setdefault(one["case"], {}).setdefault(one["target"], Counter())[one["outcome"]] += one["count"]
    about = f"Version {results['version']}. {results.get('about', '')}"
    lines = [f"## {results['client']}", "", textwrap.fill(about, 100, break_on_hyphens=False), ""]
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
                others = [one for one in count if one not in (PASSED, FAILED, NOT_APPLICABLE)]
                order = (PASSED, FAILED, *others, NOT_APPLICABLE)
                cells.append(", ".join(f"{count[one]:,} {one}" for one in order if count[one]))
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
        found = json.loads(Path(path).read_text())
        for results in found if isinstance(found, list) else [found]:
            known = clients.setdefault(results["client"], results)
            if known is not results:
                known["outcomes"] += results["outcomes"]
    for results in clients.values():
        page = update(page, results)
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
