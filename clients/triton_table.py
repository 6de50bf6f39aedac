"""Makes the page of the handbook about Triton's tests, and the results for its page about all clients.

    python clients/triton_table.py RESULTS REVISION FILE > docs/triton-tests.md

RESULTS is a directory that `triton_language.py` and `triton_tutorials.py` filled. REVISION names the sources that they
ran. FILE receives the outcomes for `results.py`.
"""

import collections
import json
import re
import sys
import textwrap
from importlib import metadata
from pathlib import Path

from results import NOT_APPLICABLE, Results
from triton_language import TARGETS, read
from triton_tutorials import ALL

# Why a failure is not Wavemill's: (outcome, part of the case, pattern of the reason, what it counts as, what it means).
KNOWN = [
    (
        "failed",
        "",
        "CompilationError|PassManager::run failed|Cannot select|failed to legalize",
        "not applicable",
        "Triton's compiler refuses it",
    ),
    ("crashed", "", "LLVM ERROR|Cannot select|Assertion", "not applicable", "Triton's compiler ends the process"),
    ("failed", "", "OutOfResources", "not applicable", "does not fit into the LDS of the target"),
    *(
        (
            "failed",
            f"::{test}",
            "CHECK: expected string not found in input",
            "not applicable",
            "the test compares the text of Triton's own IR with that of an older Triton, and runs no kernel",
        )
        for test in (
            "test_named_expr_without_prior_annotation_decays",
            "test_line_and_column_numbers",
            "test_use_name_loc_as_prefix",
        )
    ),
    (
        "failed",
        "::test_int_annotation[",
        "illegal store of 4 bytes at .*: 8 bytes past the end of `X`",
        "error of the test",
        "the test stores at `X + 3`, but `X` has one element",
    ),
]
# Outcomes with a reason of their own: the test skips the case, or expects what this compiler or target lacks; and those
# of tests that are wrong.
NO_FAILURES = {"skipped", "outdated", "imprecise", "reordered"}
TEST_ERRORS = {"racy", "cancelled"}
TITLES = {
    "failed": "Failed",
    "slow": "Slow",
    "error of the test": "Errors of the tests",
    "not applicable": "Not applicable",
}


def judge(case, outcome, reason):
    """`passed` or one of `TITLES`, and why."""
    if outcome in ("passed", "slow"):
        return outcome, reason
    if outcome in NO_FAILURES:
        return "not applicable", "the test skips it, without a reason" if reason == "Skipped" else reason
    if outcome in TEST_ERRORS:
        return "error of the test", reason
    for known, part, pattern, counts_as, meaning in KNOWN:
        if outcome == known and part in case and re.search(pattern, reason):
            return counts_as, f"{meaning}: {reason}"
    return "failed", reason


def short(reason):
    text = " ".join(reason.split())
    text = re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", text)
    # Directories of temporary files.
    text = re.sub(r"/\S*/tmp\w{8}/", "", text)
    return text if len(text) <= 160 else text[:157] + "..."


TUTORIALS = (
    "All run with `--no-bench --first-config`, and 07, 08 and 10 with `--pretend-cuda`. Their files are as they are. "
    "05 compares with PyTorch in f32 instead of f16, and 04 with Philox in numpy. 06 runs its own test with 2 heads, 128 "
    "tokens and 64 dimensions. 10 runs its own check at 256 x 256 x 512 in MXFP4. 08 needs "
    "`WAVEMILL_HOST_MEMORY=process`. The second table has what they print, or why they do not run."
)


def tutorials(results, version):
    """The outcomes of the tutorials."""
    latest, outcomes = {}, Results("Triton, its tutorials", version, TUTORIALS)
    path = results / "tutorials.jsonl"
    for line in path.read_text().splitlines() if path.exists() else ():
        entry = json.loads(line)
        latest[entry["case"], entry["target"]] = entry
    for tutorial in ALL.values():
        for target in TARGETS:
            entry = latest.get((tutorial.file, target))
            if tutorial.reason:
                outcome, reason = NOT_APPLICABLE, tutorial.reason
            elif target not in tutorial.targets:
                outcome, reason = NOT_APPLICABLE, f"it needs {', '.join(tutorial.targets)}"
            elif entry:
                outcome, reason = entry["outcome"], short(entry["reason"])
            else:
                continue
            outcomes.add(f"`{tutorial.file}`", target, outcome, reason)
    return outcomes


LANGUAGE = (
    "`python/test/unit/language`, with `--pretend-cuda`. A hash of their names chooses the cases, one of each test "
    "before all others. [Triton's tests](triton-tests.md) lists them, with the reasons."
)


def language(results, version):
    """The outcomes of the tests of the language. Prints the tables of all tests."""
    outcomes = Results("Triton, its tests of the language", version, LANGUAGE)
    every = {}
    for target in TARGETS:
        path = results / f"{target}.cases.json"
        every[target] = len(json.loads(path.read_text())["cases"]) if path.exists() else 0
    counts = {target: collections.Counter() for target in TARGETS}
    functions = collections.defaultdict(collections.Counter)
    reasons = collections.defaultdict(list)
    for target in TARGETS:
        for case, known in read(results / f"{target}.jsonl").items():
            if known is None:
                # The run was interrupted.
                continue
            outcome, why = judge(case, *known[:2])
            counts[target][outcome] += 1
            function = re.sub(r"^test/unit/language/|\[.*$", "", case, flags=re.DOTALL)
            functions[function, target][outcome] += 1
            if outcome != "passed":
                reasons[outcome, function, short(why)].append(target)
    print(f"| target | cases | that ran | passed | {' | '.join(TITLES)} |\n|---|{'--:|' * (3 + len(TITLES))}")
    for target, count in counts.items():
        for outcome, number in count.items():
            outcomes.add("tests of the language", target, outcome, count=number)
        numbers = (every[target], count.total(), *(count[outcome] for outcome in ("passed", *TITLES)))
        print(f"| {target} | {' | '.join(f'{number:,}' for number in numbers)} |")
    for outcome, title in TITLES.items():
        found = sorted(
            (function, why, targets) for (one, function, why), targets in reasons.items() if one == outcome
        )
        print(f"\n## {title}\n")
        if not found:
            print("None.")
            continue
        print("| test | cases | reason |\n|---|---|---|")
        for function, why, targets in found:
            cases = ", ".join(f"{count} {target}" for target, count in sorted(collections.Counter(targets).items()))
            text = why.replace("|", "\\|")
            print(f"| `{function}` | {cases} | {text} |")
    print("\n## All tests\n\nCases that passed, of those that ran and are applicable:\n")
    print(f"| test | {' | '.join(TARGETS)} |\n|---|{'---:|' * len(TARGETS)}")
    for function in sorted({function for function, _ in functions}):
        cells = []
        for target in TARGETS:
            count = functions[function, target]
            applicable = count.total() - count["not applicable"] - count["error of the test"]
            cells.append(f"{count['passed']} of {applicable}" if count else "")
        print(f"| `{function}` | {' | '.join(cells)} |")
    return outcomes


def main():
    results, revision, file = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    version = f"{metadata.version('triton')}, sources of {revision}"
    text = (
        f"Triton's own tests, run by [Wavemill's back end](triton.md). [Clients](clients.md) has the totals, and "
        f"Triton's tutorials. `.ci/triton-clients` makes this page. Triton is {metadata.version('triton')}; the tests are "
        f"those of {revision}, which are not a part of this repository."
    )
    print("# Triton's tests\n\n" + textwrap.fill(text, 100) + "\n")
    text = (
        "`python/test/unit/language`, with `--pretend-cuda`. A hash of their names chooses the cases, one of each test before "
        "all others. A case is slow if it takes longer than a limit of processor time. It is not applicable if the test "
        "itself skips it on this target, if Triton cannot compile it for the target, if the test expects another version of "
        "the compiler, or if it expects matrix instructions of a target that has none. Errors of the test are stores that it "
        "has no right to, races between the waves of its kernel, and tolerances that no sum in f32 keeps. On gfx90a, the "
        "products of matrices that PyTorch makes as references read denormal numbers of 16 bits as zero, as on MI200."
    )
    print(textwrap.fill(text, 100) + "\n")
    every = [tutorials(results, version), language(results, version)]
    file.write_text(json.dumps([one.data() for one in every], indent=1) + "\n")


if __name__ == "__main__":
    main()
