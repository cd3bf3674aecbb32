"""The command line of the conformance kit."""

import argparse
import os
import random
import re
import shlex
import signal
import ssl
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import client_cases
import client_kit
import relay_frames
import relay_links
import relay_rooms
import report
from kit import FAILED, INCONCLUSIVE, MUST, PASSED, PLAYED, Case, Context, play
from martlet_registry import VALUES, Tag
from martlet_tlv import ACCOUNT, InvalidValue

RELAY = relay_frames.CASES + relay_links.CASES + relay_rooms.CASES
CLIENT = client_cases.CASES
DESCRIPTION = """Judges an implementation of the Martlet protocol, clause by clause. README.md of Specs/conformance
specifies the accounts that a judged relay needs, and the contract of a judged client."""
CODES = """Exit codes: 0 all cases have passed or do not apply, 1 a case has failed, 64 the command line is invalid or
names a file that cannot be used, 69 a case is inconclusive, 74 a report cannot be written."""
ACCOUNTS = [("ada", "open-sesame"), ("bob", "swordfish")]
PORT, MAX_TOKEN, MAX_NAME = "7227", VALUES[Tag.CREDENTIAL].most, VALUES[Tag.ROOM].most


class Parser(argparse.ArgumentParser):
    """A parser with the exit code of sysexits(3) for a command line that is not valid."""

    def error(self, message):
        self.exit(64, f"{self.format_usage()}{self.prog}: {message}\n")

    def print_help(self, file=None):
        wrote(sys.stdout, self.format_help())


def invalid(value, expected):
    return argparse.ArgumentTypeError(f"{value!r} is not {expected}")


def address(value):
    """Host and port, and whether the URL of an address requires TLS."""
    found = re.fullmatch(r"(?:(martlets?)://)?(\[[^][/]+\]|[^][:/]+)(?::([0-9]{1,5}))?/?", value)
    if not found or not 0 < int(found[3] or PORT) < 65_536:
        raise invalid(value, "HOST:PORT, martlet://HOST:PORT or martlets://HOST:PORT")
    return found[2].strip("[]"), int(found[3] or PORT), found[1] == "martlets"


def named(value, expected, more=""):
    """The value, which is a valid name with the text behind it."""
    try:
        ACCOUNT.read((value + more).encode())
        return value
    except (InvalidValue, UnicodeError):
        raise invalid(value, expected) from None


def account(value):
    name, colon, token = value.partition(":")
    if not colon or len(os.fsencode(token)) > MAX_TOKEN:
        raise invalid(value, f"NAME:TOKEN with a token of at most {MAX_TOKEN} bytes")
    return named(name, "the name of an account (W-31)"), token


def room(value):
    """A prefix with which every case has a valid name of a room."""
    longest = " " + max((case.id for case in RELAY), key=len) + " 2"
    return named(value, f"the begin of a name (W-31), of at most {MAX_NAME - len(longest)} bytes", longest)


def command(value):
    try:
        words = shlex.split(value)
    except ValueError as problem:
        raise invalid(value, f"a command: {problem}") from None
    if not words:
        raise invalid(value, "a command")
    return words


def number(kind, least, most):
    def read(value):
        try:
            found = kind(value)
        except ValueError:
            found = least - 1
        if not least <= found <= most:
            raise invalid(value, f"a number from {least} to {most}")
        return found
    return read


def parsed(arguments):
    is_installed = Path(sys.argv[0]).name == "martlet-conformance.pyz"
    name = "martlet conformance" if is_installed else f"python3 {sys.argv[0]}"
    parser = Parser(name, description=DESCRIPTION, epilog=CODES)
    parser.add_argument("--relay", type=address, metavar="HOST:PORT", help="judge the relay at this address or URL")
    parser.add_argument("--client", type=command, metavar="COMMAND",
                        help="judge this client; {host} and {port} are replaced")
    parser.add_argument("--account", type=account, action="append", metavar="NAME:TOKEN", default=[],
                        help="an account of the relay, given twice [ada:open-sesame and bob:swordfish]")
    parser.add_argument("--tls", action="store_true", help="connect to the relay by TLS")
    parser.add_argument("--ca", metavar="FILE", help="with --tls: trust the certificates in FILE")
    parser.add_argument("--files", action="store_true", help="the relay has files for browsers (C-131)")
    parser.add_argument("--room", type=room, metavar="PREFIX",
                        help="prefix of the names of rooms, which have to be new [at random]")
    parser.add_argument("--only", metavar="TEXT", action="append", default=[],
                        help="play the cases whose ID begins with TEXT, or that judge this clause")
    parser.add_argument("--timeout", type=number(float, 0.1, 600), default=5, metavar="S",
                        help="deadline of each step [5 s]")
    parser.add_argument("--slack", type=number(float, 0, 600), default=0.25, metavar="S",
                        help="time added to the 25 ms of W-49 [0.25 s]")
    parser.add_argument("--jobs", type=number(int, 1, 256), default=8, metavar="N",
                        help="cases played at a time [8]")
    parser.add_argument("--json", metavar="FILE", help="write a report in JSON to FILE")
    parser.add_argument("--junit", metavar="FILE", help="write a report of JUnit to FILE")
    parser.add_argument("--verbose", action="store_true", help="report passed cases too")
    parser.add_argument("--list", action="store_true", help="list the cases, and clauses that no case judges")
    options = parser.parse_args(arguments)
    complete(options, parser.error)
    return options


def complete(options, error):
    """Checks the options together, and opens the files that they name."""
    if options.relay and options.client or not (options.relay or options.client or options.list):
        error("exactly one of --relay and --client is required")
    for name in ("account", "tls", "ca", "files", "room"):
        if options.client and getattr(options, name):
            error(f"--{name} requires --relay")
    if options.list and (options.json or options.junit):
        error("--list writes no report")
    if options.json and options.json == options.junit:
        error("--json and --junit name the same file")
    options.account = options.account or ACCOUNTS
    if len(options.account) != 2 or options.account[0][0] == options.account[1][0]:
        error("--account is given twice, with two names")
    options.room = options.room or f"conformance {random.getrandbits(40):x}"
    if options.relay:
        *host_and_port, is_secure = options.relay
        options.relay, options.tls = tuple(host_and_port), options.tls or is_secure
    if options.ca and not options.tls:
        error("--ca requires --tls")
    options.cases = RELAY if options.relay else CLIENT if options.client else RELAY + CLIENT
    for text in options.only:
        if not selected(options.cases, [text]):
            error(f"--only {text}: no case has a name that begins with it or judges such a clause")
    path = options.ca
    try:
        if options.tls:
            options.trust = ssl.create_default_context(cafile=path)
            options.trust.set_alpn_protocols(["martlet/1"])
        options.reports = []
        for path, form in ((options.json, report.as_json), (options.junit, report.as_junit)):
            if path:
                options.reports.append((open(path, "w", encoding="utf-8"), form))
    except OSError as problem:
        error(f"cannot use {path}: {problem.strerror or problem}")


def selected(cases, only):
    """The cases that were asked for."""
    return [c for c in cases if not only or any(c.id.startswith(text) or text in c.clauses for text in only)]


def chosen(cases, only):
    """The cases that were asked for, long ones first, and last the one that makes a relay delay an account (C-67)."""
    return sorted(selected(cases, only), key=lambda case: (not case.id.endswith("-timeout"), "same-answer" in case.id))


def wrote(file, text):
    """Whether the file takes the text. A reader that leaves, such as head, is no fault."""
    try:
        print(text, file=file, flush=True)
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())  # For the rest of the buffer.
        if isinstance(problem, BrokenPipeError):
            return True
        print(f"cannot write {file.name}: {problem.strerror}", file=sys.stderr)
        return False
    return True


def listing(cases):
    known, judged = report.clauses(), report.judged_by(cases)
    lines = [f"{case.id:28} {case.level:6} {' '.join(case.clauses):16} {case.title}" for case in cases]
    lines.append(f"{len(cases)} cases judge {len(judged & known.keys())} of {len(known)} clauses; not judged:")
    return "\n".join([*lines, " ".join(clause for clause in known if clause not in judged)])


def admission(context):
    for account in (0, 1):
        context.admitted(account)


ADMISSION = Case("admission", ["C-27"], MUST, "the relay admits both accounts", admission)


def judged(cases, options):
    """The outcomes of the cases, in their order."""
    make = client_kit.Relay if options.client else Context
    if options.relay:
        outcomes = [play(ADMISSION, options)]
        if outcomes[0].status != PASSED:
            return outcomes
    several = ThreadPoolExecutor(options.jobs)
    try:
        return list(several.map(lambda case: play(case, options, make), cases))
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        several.shutdown(wait=False, cancel_futures=True)
        for context in list(PLAYED):  # Ends the judged clients.
            context.close()
        os._exit(130)


def run(arguments=None):
    """Runs the kit; returns its exit code."""
    options = parsed(arguments)
    if options.list:
        return 0 if wrote(sys.stdout, listing(selected(options.cases, options.only))) else 74
    outcomes = judged(chosen(options.cases, options.only), options)
    was_written = wrote(sys.stdout, report.as_text(outcomes, options.verbose))
    for file, form in options.reports:
        was_written &= wrote(file, form(outcomes))
    bad = {outcome.status for outcome in outcomes}
    return 74 if not was_written else 1 if FAILED in bad else 69 if INCONCLUSIVE in bad else 0


def main():
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.reconfigure(errors="backslashreplace")
    sys.exit(run())
