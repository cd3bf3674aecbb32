"""The command line of the conformance kit."""

import argparse
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import client_cases
import client_kit
import relay_frames
import relay_links
import relay_rooms
import report
from kit import FAILED, INCONCLUSIVE, MUST, PASSED, Case, Context, play

RELAY = relay_frames.CASES + relay_links.CASES + relay_rooms.CASES
CLIENT = client_cases.CASES
DESCRIPTION = """Judges an implementation of the Martlet protocol, clause by clause. README.md of Specs/conformance
specifies the accounts that a judged relay needs, and the contract of a judged client."""


class Parser(argparse.ArgumentParser):
    """A parser with the exit code of sysexits(3) for a command line that is not valid."""

    def error(self, message):
        self.exit(64, f"{self.format_usage()}{self.prog}: {message}\n")


def address(value):
    host, colon, port = value.rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 65_536:
        raise argparse.ArgumentTypeError(f"{value} is not HOST:PORT")
    return host.strip("[]"), int(port)


def account(value):
    name, colon, token = value.partition(":")
    if not colon or not name:
        raise argparse.ArgumentTypeError(f"{value} is not NAME:TOKEN")
    return name, token


def parsed(arguments):
    parser = Parser("martlet-conformance", description=DESCRIPTION)
    parser.add_argument("--relay", type=address, metavar="HOST:PORT", help="judge the relay at this address")
    parser.add_argument("--client", metavar="COMMAND", help="judge this client; {host} and {port} are replaced")
    parser.add_argument("--account", type=account, action="append", metavar="NAME:TOKEN", default=[],
                        help="an account of the relay, given twice [ada:open-sesame and bob:swordfish]")
    parser.add_argument("--tls", action="store_true", help="connect to the relay by TLS")
    parser.add_argument("--ca", metavar="FILE", help="trust the certificates in FILE")
    parser.add_argument("--files", action="store_true", help="the relay has files for browsers (C-131)")
    parser.add_argument("--room", metavar="PREFIX", default=f"conformance {random.getrandbits(40):x}",
                        help="prefix of the names of rooms, which have to be new [at random]")
    parser.add_argument("--only", metavar="TEXT", action="append", default=[],
                        help="play the cases whose ID begins with TEXT, or that judge this clause")
    parser.add_argument("--timeout", type=float, default=5, metavar="S", help="deadline of each step [5 s]")
    parser.add_argument("--slack", type=float, default=0.25, metavar="S",
                        help="time added to the 25 ms of W-49 [0.25 s]")
    parser.add_argument("--jobs", type=int, default=8, metavar="N", help="cases played at a time [8]")
    parser.add_argument("--json", metavar="FILE", help="write a report in JSON to FILE")
    parser.add_argument("--junit", metavar="FILE", help="write a report of JUnit to FILE")
    parser.add_argument("--verbose", action="store_true", help="report passed cases too")
    parser.add_argument("--list", action="store_true", help="list the cases, and clauses that no case judges")
    options = parser.parse_args(arguments)
    options.account = options.account or [("ada", "open-sesame"), ("bob", "swordfish")]
    if not options.list and (options.relay is None) == (options.client is None):
        parser.error("exactly one of --relay and --client is required")
    if options.relay and len(options.account) < 2:
        parser.error("two accounts are required")
    return options


def chosen(cases, only):
    """The cases that were asked for, long ones first, and last the one that makes a relay delay an account (C-67)."""
    found = [c for c in cases if not only or any(c.id.startswith(o) or o in c.clauses for o in only)]
    return sorted(found, key=lambda case: (not case.id.endswith("-timeout"), "same-answer" in case.id))


def listing(cases):
    known, judged = report.clauses(), report.judged_by(cases)
    for case in cases:
        print(f"{case.id:28} {case.level:6} {' '.join(case.clauses):16} {case.title}")
    print(f"{len(cases)} cases judge {len(judged & known.keys())} of {len(known)} clauses; not judged:")
    print(" ".join(clause for clause in known if clause not in judged))


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
    with ThreadPoolExecutor(options.jobs) as several:
        return list(several.map(lambda case: play(case, options, make), cases))


def main(arguments=None):
    options = parsed(arguments)
    cases = RELAY if options.relay else CLIENT if options.client else RELAY + CLIENT
    if options.list:
        return listing(cases)
    outcomes = judged(chosen(cases, options.only), options)
    for path, form in ((options.json, report.as_json), (options.junit, report.as_junit)):
        if path:
            with open(path, "w") as file:
                file.write(form(outcomes) + "\n")
    print(report.as_text(outcomes, options.verbose))
    bad = {outcome.status for outcome in outcomes}
    sys.exit(1 if FAILED in bad else 69 if INCONCLUSIVE in bad or not outcomes else 0)
