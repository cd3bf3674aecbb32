"""An attack and its processes."""

import multiprocessing
import os
import resource
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from peer import PAUSE, Gone, Link, cut

processes = multiprocessing.get_context("fork")
GRACE_SECONDS = 60
NICENESS = 10


@dataclass(frozen=True)
class Attack:
    """A case of the suite."""

    name: str
    text: str
    groups: tuple  # (function, number of processes) pairs; a function takes an Attacker.
    seconds: float = 6
    options: tuple = ()  # Of `martlet serve`.
    descriptors: int = None  # That the relay has.
    budget: int = None  # Of the relay's memory, in bytes; None for that of `--budget`.
    each: tuple = None  # (bytes, peers): the most memory that each peer may cost.
    is_prepared_slowly: bool = False
    guesses: int = None  # The least number of guesses, of which none may be accepted.
    password: str = None  # Of all accounts; None for a relay without authentication.


@dataclass
class Gate:
    """A barrier that attackers pass when all are ready, so that memory is measured before the attack."""

    ready: object = field(default_factory=lambda: processes.Semaphore(0))
    start: object = field(default_factory=processes.Event)
    results: object = field(default_factory=processes.SimpleQueue)


class Attacker:
    """One process of an attack. `tally` counts its actions, and the codes of the relay."""

    def __init__(self, gate, port, number, seconds, name):
        self.gate, self.port, self.number, self.seconds, self.name = gate, port, number, seconds, name
        self.tally, self.end = Counter(), None

    def begin(self):
        """Waits until the attack begins, after the preparations."""
        self.gate.ready.release()
        self.gate.start.wait(GRACE_SECONDS)
        self.end = time.monotonic() + self.seconds

    def is_on(self):
        return self.end is None or time.monotonic() < self.end

    def link(self, account=None, greets=True, **more):
        link = Link(self.port, account or f"{self.name}-{self.number}", **more)
        link.is_on = self.is_on
        self.tally["connections"] += 1
        return link.greet() if greets else link

    def flood(self, say, **more):
        """Connects, and sends the output of `say(link)` as fast as the relay reads. A closed connection is replaced."""
        self.begin()
        device = self.number + 1
        while self.is_on():
            link = None
            try:
                link = self.link(device=device, **more)
                for data in say(link):
                    link.send(data)
                    self.tally["bytes"] += len(data)
                    if not self.is_on():
                        break
            except (Gone, OSError) as why:
                self.ended(why)
            finally:
                if link:
                    self.tally["resets"] += len(link.resets)
                    cut(link.socket)

    def ended(self, why):
        if self.is_on():
            self.tally[f"ended: {why}"] += 1
            time.sleep(PAUSE)


def carry_out(run, attacker):
    """Runs the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.alarm(int(attacker.seconds + 2 * GRACE_SECONDS))
    os.nice(NICENESS)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        run(attacker)
    except (Gone, OSError) as why:
        attacker.tally[f"stopped: {why}"] += 1
    except Exception as error:  # A fault of the suite; the others go on.
        print(f"hostile: {attacker.name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    if attacker.end is None:
        attacker.gate.ready.release()
    attacker.gate.results.put(dict(attacker.tally))
    os._exit(0)
