#!/usr/bin/env python3
"""Tests the kit: a relay and the client of adapters/reference.py pass, the forty faults of faults.py fail in the case
of their clause, wrong command lines are refused, programs that are no clients are reported, and an interruption ends
the client.

usage: test_conformance.py [--verbose] PORT    a relay with the accounts of program.py listens on PORT
"""

import contextlib
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
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
# A relay that does not exist, and command lines with a part of the message that refuses them.
NONE = ["--relay", "127.0.0.1:1"]
REFUSED = [
    ([], "exactly one"), ([*NONE, "--client", "x"], "exactly one"), (["--client", "a 'b"], "quotation"),
    (["--client", " "], "a command"), (["--client", "x", "--tls"], "--tls requires"),
    (["--client", "x", "--account", "a:b"], "--account requires"), (["--relay", "ws://localhost"], "HOST:PORT"),
    (["--relay", "localhost:65536"], "HOST:PORT"), (["--relay", "::1:7"], "HOST:PORT"), ([*NONE, "--ca", "x"], "--tls"),
    ([*NONE, "--tls", "--ca", "/no/such"], "cannot use /no/such"), ([*NONE, "--account", "a:b"], "twice"),
    ([*NONE, "--account", "a:b", "--account", "a:c"], "two names"), ([*NONE, "--account", " a:b"], "W-31"),
    ([*NONE, "--account", "a:" + 4097 * "b"], "4096 bytes"), ([*NONE, "--room", 200 * "x"], "at most"),
    ([*NONE, "--room", "a\tb"], "W-31"), ([*NONE, "--room", "\udcff"], "W-31"),
    ([*NONE, "--only", "nosuch"], "no case"), (["--list", "--only", "nosuch"], "no case"),
    ([*NONE, "--only", "frame", "--only", "client"], "only client"),
    *(([*NONE, "--jobs", jobs], "--jobs") for jobs in ("0", "-3", "x", "1.5")),
    *(([*NONE, "--timeout", seconds], "--timeout") for seconds in ("0", "-1", "nan", "inf", "x")),
    ([*NONE, "--slack", "-1"], "--slack"), ([*NONE, "--json", "/no/such"], "cannot use /no/such"),
    ([*NONE, "--junit", "/"], "cannot use /"), (["--list", "--json", "x"], "writes no report"),
    ([*NONE, "--json", "x", "--junit", "x"], "same file"),
]
# Command lines, their exit codes and a part of what they write.
ANSWERED = [
    (NONE, 69, "1 inconclusive; 0 clauses judged"), ([*NONE, "--json", "/dev/full"], 74, "1 inconclusive"),
    (["--relay", "martlet://127.0.0.1:1/"], 69, "no connection"), (["--help"], 0, "Exit codes: 0 all cases"),
    (["--list", "--only", "frame-split"], 0, "many in one write\n1 cases judge 9 of"),
    (["--client", "sh -c 'printf \"\\377\" >&2; exit 7'", "--only", "client-early"], 69, "standard error \\xff\n"),
    (["--client", "sh -c 'printf \"\\033[1m\" >&2; exit 7'", "--only", "client-ack"], 69, "standard error \\x1b[1m\n"),
    (["--client", "sh -c 'exit 7'"], 69, "does not connect: the end of the program with status 7\n"),
    (["--client", "false"], 69, f" {len(program.CLIENT)} inconclusive; 0 clauses judged"),
    (["--client", "yes", "--only", "client-text"], 69, "does not connect: 200 lines"),
    (["--client", "/no/such", "--only", "client-text"], 69, "does not start"),
]


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


def outcome(arguments):
    """The exit code of a command line, and what it writes."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        try:
            code = program.run(arguments)
        except SystemExit as end:
            code = end.code
    return code, out.getvalue()


def of_command_lines():
    """What is wrong with the answers to command lines."""
    for arguments, code, part in [(arguments, 64, part) for arguments, part in REFUSED] + ANSWERED:
        found, text = outcome(arguments)
        if found != code or part not in text:
            yield f"{arguments}: {found} instead of {code}, without {part!r}: {text[-500:]}"
    with subprocess.Popen([sys.executable, str(HERE), "--list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as kit:
        kit.stdout.close()
        if (errors := kit.stderr.read()) or kit.wait() != 0:
            yield f"--list without a reader: {kit.returncode}, {errors.decode()}"


def of_interruption():
    """What is wrong when the kit is interrupted while a client runs."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder, "pipe")
        os.mkfifo(pipe)
        command = f"sh -c 'echo $$ >{pipe}; exec sleep 100'"
        kit = subprocess.Popen([sys.executable, str(HERE), "--client", command, "--only", "client-text"],
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        client = int(pipe.read_text())
        kit.send_signal(signal.SIGINT)
        if kit.wait() != 130:
            yield f"an interruption: {kit.returncode} instead of 130"
        with contextlib.suppress(ProcessLookupError):
            os.kill(client, signal.SIGKILL)
            yield "an interruption: the client still runs"


def main(arguments):
    verbose, port = "--verbose" in arguments, int(arguments[-1])
    began, wrong, all_outcomes = time.monotonic(), [*of_command_lines(), *of_interruption()], []
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
        print(outcome(["--list"])[1].splitlines()[-2], f"{time.monotonic() - began:.1f} s")
    if len(faults.RELAY) != 20 or len(faults.CLIENTS) != 20:
        wrong.append(f"{len(faults.RELAY)} and {len(faults.CLIENTS)} faults, not twenty each")
    if wrong:
        sys.exit("test_conformance.py: " + "\n".join(wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
