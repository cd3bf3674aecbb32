#!/usr/bin/env python3
"""Tests the kit: a relay and the client of adapters/reference.py pass, and the forty faults of faults.py fail in the
case of their clause.

usage: test_conformance.py [--verbose] PORT    a relay with the accounts of program.py listens on PORT
"""

import contextlib
import io
import json
import shlex
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "reference"), str(HERE)]

import client_kit  # noqa: E402
import faults  # noqa: E402
import program  # noqa: E402
import report  # noqa: E402
from kit import FAILED, INCONCLUSIVE, play  # noqa: E402

JOBS = 8
# A fault is often something that does not come, so these cases wait less. Other processes may delay acknowledgements.
FAULTY, CORRECT = ["--timeout", "3", "--slack", "2"], ["--slack", "2"]


def case_of(cases, name):
    return next(case for case in cases if case.id == name)


def relay_fault(name, port):
    """The outcome of the case that has to find the fault."""
    case, _, made = faults.RELAY[name]
    with faults.serving(name, port) as proxy:
        options = program.parsed(["--relay", f"127.0.0.1:{proxy}", *FAULTY])
        return play(case_of(program.RELAY, case), options)


def client_fault(name, _):
    command = f"{sys.executable} {shlex.quote(str(HERE / 'faults.py'))} client {shlex.quote(name)} {{port}}"
    options = program.parsed(["--client", command, *FAULTY])
    return play(case_of(program.CLIENT, faults.CLIENTS[name][0]), options, client_kit.Relay)


def main(arguments):
    verbose, port = "--verbose" in arguments, int(arguments[-1])
    began, wrong, all_outcomes = time.monotonic(), [], []
    with ThreadPoolExecutor(JOBS) as several:
        for table, judge in ((faults.RELAY, relay_fault), (faults.CLIENTS, client_fault)):
            outcomes = several.map(lambda name: judge(name, port), table)
            for (name, (case, clauses, _)), outcome in zip(table.items(), outcomes):
                all_outcomes.append(outcome)
                right = outcome.status == FAILED and outcome.clause in clauses
                if not right:
                    wrong.append(f"{name}: {case} {outcome.status}, {outcome.clause} instead of {clauses}: "
                                 f"{outcome.expected}; {outcome.received}")
                elif verbose:
                    print(f"found: {name} ({case}, {outcome.clause}: {outcome.received[:100]})")
    command = f"{sys.executable} {shlex.quote(str(HERE / 'adapters' / 'reference.py'))} {{host}} {{port}}"
    for judged in (["--files", "--relay", f"127.0.0.1:{port}"], ["--client", command]):
        options = program.parsed(judged + CORRECT)
        outcomes = program.judged(program.chosen(program.RELAY if options.relay else program.CLIENT, []), options)
        if any(outcome.status in (FAILED, INCONCLUSIVE) for outcome in outcomes):
            wrong.append(report.as_text(outcomes))
        all_outcomes += outcomes
    failures = ElementTree.fromstring(report.as_junit(all_outcomes).encode()).get("failures")
    if int(failures) != json.loads(report.as_json(all_outcomes))["summary"][FAILED]:
        wrong.append("the reports differ")
    if verbose:
        with contextlib.redirect_stdout(io.StringIO()) as listed:
            program.main(["--list"])
        print(listed.getvalue().splitlines()[-2], f"{time.monotonic() - began:.1f} s")
    if len(faults.RELAY) != 20 or len(faults.CLIENTS) != 20:
        wrong.append(f"{len(faults.RELAY)} and {len(faults.CLIENTS)} faults, not twenty each")
    if wrong:
        sys.exit("test_conformance.py: " + "\n".join(wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
