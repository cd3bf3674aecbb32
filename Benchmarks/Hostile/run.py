"""One attack from beginning to end, and its results."""

import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import pair
from attack import Attacker, Gate, carry_out, processes
from client import Client, Unexpected
from guesses import VICTIM
from password_client import PasswordClient
from relay import Relay, add_users

READY_SECONDS = 60
SETTLE_SECONDS = 2  # Between the end of an attack and the last look at the relay's memory.
TOGETHER_SECONDS = 20
P99_BAR = 0.020
QUIET_FACTOR = 3
BUDGET_FACTOR = 1.2
WELCOME_BAR = 2
THROUGHPUT_BAR = 0.9  # While secrets are guessed.
NEWCOMER = "newcomer"
DESCRIPTORS_PROCESSOR_BAR = 0.15  # A hundred messages a second included.


class Settings(NamedTuple):
    martlet: str
    budget: int
    has_budget: bool  # Whether the tool takes one.
    loops: int
    seconds: float  # None for each attack's own.
    quiet_seconds: float


@dataclass
class Figures:
    name: str
    text: str
    seconds: float
    quiet: tuple  # (p50, p99) in seconds
    honest: tuple
    lost: int
    repeated: int
    ends: list
    welcome: float  # Seconds until a new client received welcome, during the attack or after it; None if never.
    rss_before: int
    rss_peak: int
    rss_after: int
    processor: float  # Of the relay, in processors.
    tally: dict
    throughput: float = 0.0  # Of the pair during the attack, as a part of that before it.
    missed: list = field(default_factory=list)


def percentiles(samples):
    """(p50, p99) in seconds; None without values."""
    ordered = sorted(latency for _, latency in samples)
    if not ordered:
        return None
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]


def started(run, *arguments):
    process = processes.Process(target=run, args=arguments, daemon=True)
    process.start()
    return process


def one(attack, settings):
    seconds = settings.seconds or attack.seconds
    settings = settings._replace(budget=attack.budget or settings.budget)
    options = [*attack.options, *budget_options(settings)]
    groups = [(run, attack.name, count) for run, count in attack.groups]
    with tempfile.NamedTemporaryFile() as file:
        access = ["--allow-all"]
        if attack.password:
            add_users(settings.martlet, file.name, (pair.PUBLISHER, pair.READER, NEWCOMER, VICTIM), attack.password)
            access = ["--passwords", file.name, "--plaintext"]
        relay = Relay(settings.martlet, options, attack.descriptors, settings.loops, access)
        figures = measured(relay, attack.name, attack.text, groups, seconds, settings, attack.password)
    judge(figures, settings, attack)
    return figures


def all_together(attacks, settings):
    """All attacks at the same time, with one process each. Only memory and losses are checked."""
    relay = Relay(settings.martlet, budget_options(settings), None, settings.loops)
    groups = [(run, attack.name, 1) for attack in attacks
              if not attack.descriptors and not attack.password for run, _ in attack.groups]
    seconds = max(settings.seconds or TOGETHER_SECONDS, 2)
    figures = measured(relay, "together", "all attacks at the same time", groups, seconds, settings)
    judge(figures, settings, None)
    return figures


def seconds_until_welcome(port, password=None):
    """The time until a new client receives welcome; None if it receives none."""
    began = time.monotonic()
    try:
        client = PasswordClient(port, NEWCOMER, password) if password else Client(port, NEWCOMER, "")
        client.connect()
        waited = time.monotonic() - began
        client.leave()
        return waited
    except (Unexpected, OSError):
        return None


def budget_options(settings):
    return ["--memory", str(settings.budget)] if settings.has_budget else []


def measured(relay, name, text, groups, seconds, settings, password=None):
    """Runs the pair alone, then during the attack, then ends both."""
    gate, begun, ended, reports = Gate(), processes.Event(), processes.Event(), processes.Queue()
    running = []
    try:
        running.append(started(pair.talk, relay.port, reports, begun, ended, password))
        begun.wait(READY_SECONDS)
        attackers = 0
        for run, of, count in groups:
            for number in range(count):
                running.append(started(carry_out, run, Attacker(gate, relay.port, number, seconds, of)))
                attackers += 1
        for _ in range(attackers):
            gate.ready.acquire(timeout=READY_SECONDS)
        quiet = (time.monotonic(), time.monotonic() + settings.quiet_seconds)
        time.sleep(settings.quiet_seconds)
        before, processor = relay.resident(), relay.processor_seconds()
        relay.forget_most_resident()
        began = time.monotonic()
        gate.start.set()
        time.sleep(seconds / 2)
        welcome = seconds_until_welcome(relay.port, password)
        time.sleep(max(began + seconds - time.monotonic(), 0))
        attack = (began, time.monotonic())
        processor = (relay.processor_seconds() - processor) / (attack[1] - attack[0])
        peak = relay.most_resident()
        tally = Counter()
        for _ in range(attackers):
            tally.update(gate.results.get())
        welcome = welcome or seconds_until_welcome(relay.port, password)
        time.sleep(SETTLE_SECONDS)
        ended.set()
        report = reports.get(timeout=READY_SECONDS)
        peak, after = max(peak, relay.most_resident()), relay.resident()
        within = [[sample for sample in report.samples if first <= sample[0] < last] for first, last in (quiet, attack)]
        rates = [
            sum(first <= due + latency < last for due, latency in report.samples) / (last - first)
            for first, last in (quiet, attack)]
        found = Figures(
            name, text, seconds, percentiles(within[0]), percentiles(within[1]), report.lost, report.repeated,
            report.ends, welcome, before, peak, after, processor, dict(tally),
            rates[1] / rates[0] if rates[0] else 0.0)
        if not relay.is_alive:
            found.missed.append("the relay has ended")
        return found
    finally:
        for process in running:
            process.join(5)
            if process.is_alive():
                process.kill()
                process.join()
        if relay.stop() != 0:
            print(f"hostile: the relay did not end in order after {name}", flush=True)


def judge(figures, settings, attack):
    """The requirements that an attack does not meet."""
    missed = figures.missed
    bar = max(P99_BAR, QUIET_FACTOR * figures.quiet[1]) if figures.quiet else P99_BAR
    if attack and not figures.honest:
        missed.append("the pair has received nothing")
    elif attack and figures.honest[1] > bar:
        missed.append(f"p99 {1000 * figures.honest[1]:.0f} ms, at most {1000 * bar:.0f} ms")
    # A relay without free descriptors cannot accept a new client.
    if attack and not attack.descriptors and (figures.welcome is None or figures.welcome > WELCOME_BAR):
        result = "no welcome" if figures.welcome is None else f"welcome after {figures.welcome:.1f} s"
        missed.append(f"{result} for a new client")
    if attack and attack.guesses:
        figures.tally["% of honest throughput"] = round(100 * figures.throughput)
        if figures.throughput < THROUGHPUT_BAR:
            missed.append(f"{100 * figures.throughput:.0f} % of the throughput, at least {100 * THROUGHPUT_BAR:.0f} %")
        if figures.tally.get("accepted"):
            missed.append(f"{figures.tally['accepted']} guesses accepted")
        if not settings.seconds and figures.tally.get("guesses", 0) < attack.guesses:
            missed.append(f"{figures.tally.get('guesses', 0):,} guesses, at least {attack.guesses:,}")
    if attack and figures.tally.get("members reset"):
        missed.append("a member was reset because of frames of others")
    if figures.lost or figures.repeated:
        missed.append(f"{figures.lost} lost, {figures.repeated} repeated")
    if attack and figures.ends:
        missed.append(f"the pair received {', '.join(sorted(set(figures.ends)))}")
    most = BUDGET_FACTOR * settings.budget
    if figures.rss_peak > most:
        missed.append(f"{figures.rss_peak >> 20} MiB, at most {int(most) >> 20} MiB")
    if attack and attack.each:
        limit, peers = attack.each
        each = (figures.rss_peak - figures.rss_before) // peers
        figures.tally["bytes of memory for each"] = each
        if each > limit:
            missed.append(f"{each >> 10} KiB for each of {peers} peers, at most {limit >> 10} KiB")
    if attack and attack.descriptors and figures.processor > DESCRIPTORS_PROCESSOR_BAR:
        missed.append(f"{100 * figures.processor:.0f} % of a processor")

