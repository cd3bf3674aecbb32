"""Scenarios about the process of a relay: its descriptors, clock, logs and signals."""

import json
import os
import signal
import socket
import subprocess
import threading
import time

from faults import Faults
from programs import Failure, Listener, Load, Relay, Sender, check_once_in_order, random_file, wait_until


def descriptors(place):
    """More clients than a relay has descriptors for; others are accepted when some leave."""
    limit, count = (64, 60) if place.is_quick else (128, 160)
    relay = Relay(place, wrapper=["prlimit", f"--nofile={limit}:{limit}"])
    sender = Sender(place, relay, "lobby", "ada")
    first = Listener(place, relay, "lobby", "first")
    sender.write(10)
    first.wait_for("ada.10")
    idle = []
    mark = relay.mark()
    for number in range(count):
        idle.append(socket.create_connection(("127.0.0.1", relay.port)))
    relay.wait_for("acceptingPaused", mark)
    place.check(True, "the log states that accepting has paused")
    many = [Listener(place, relay, "lobby", f"reader{number}") for number in range(20)]
    file = random_file(place.folder / "file", 300_000)
    late = Sender(place, relay, "lobby", "late")
    late.write(10)
    sender.write(10)
    first.wait_for("ada.20")
    place.check(True, "connected clients continue")
    stay_until = time.monotonic() + (3 if place.is_quick else 20)
    while time.monotonic() < stay_until:
        place.check(relay.process.poll() is None, "the relay lives", relay.tail())
        time.sleep(0.1)
    place.succeed("store", "check", relay.store)
    for end in idle:
        end.close()
    late.finish()
    for listener in many:
        listener.wait_for("late.10")
    sender.finish()
    for listener in [first, *many]:
        listener.wait_for(sender.written[-1])
        check_once_in_order(place, listener.lines, [sender, late], "all are accepted when others leave, and get all")
    place.check(relay.upload(file, "lobby", "uploader").returncode == 0, "attachments")
    place.check(relay.download("lobby", "file") == file.read_bytes(), "attachments")
    place.check(relay.stop() == 0, "the relay ends with 0")


def clock_steps(place):
    """The wall clock of a relay and of senders steps by days while they run."""
    faults = Faults(place)
    relay = Relay(place, "--history-age", "7", "--attachment-lifetime", "30", env=faults.environment)
    sender = Sender(place, relay, "lobby", "ada")
    listener = Listener(place, relay, "lobby", "listener")
    file = random_file(place.folder / "file", 100_000)
    place.check(relay.upload(file, "lobby", "uploader").returncode == 0, "an attachment is stored")
    # The store observes its clock once a minute, and at its start.
    pause = 1 if place.is_quick else 125
    for days in [40, 0, -400, 0]:
        sender.write(10)
        listener.wait_for(sender.written[-1])
        faults.change(days)
        time.sleep(pause)
        sender.write(10)
        listener.wait_for(sender.written[-1])
        place.check(True, "messages during a step of the clock")
        place.check(relay.stop() == 0, "a relay ends and starts during a step")
        relay.start()
        time.sleep(1 if place.is_quick else 65)
        place.check(relay.download("lobby", "file") == file.read_bytes(), "attachments remain", f"{days} days")
        lines = relay.lines("lobby")
        place.check(lines == sender.written, "messages remain, in order, once", f"{days} days: {len(lines)} lines")
    relay.wait_for("clockJumped")
    place.check(True, "the log states the jumps")
    sender.finish()
    wrong_devices(place, relay, listener, sender)
    place.succeed("store", "check", relay.store)
    place.check(relay.stop() == 0, "the relay ends with 0")


def wrong_devices(place, relay, listener, first):
    """Devices whose clock is wrong when they store a message, while they wait, or when they send it."""
    senders = [first]
    for name, before, after in [("past", -18_000, 0), ("future", 40, 0), ("forward", 0, 40), ("backward", 0, -400)]:
        faults = Faults(place, name=name)
        faults.change(before)
        relay.stop()
        sender = Sender(place, relay, "lobby", name, env=faults.environment)
        sender.write(5)
        sender.wait_until_stored()
        if name == "forward":
            faults.change(after)
        else:
            sender.process.kill()
            sender.process.wait()
            faults.change(after)
            sender.start()
        relay.start()
        sender.write(5)
        sender.finish()
        listener.wait_for(sender.written[-1])
        senders.append(sender)
    check_once_in_order(place, listener.lines, senders, "devices with a wrong clock send everything, in order, once")


def log_rotation(place):
    """Logs that are renamed or truncated under load: no record is lost or in a line with another."""
    audit = place.folder / "audit"
    relay = Relay(place, "--audit", audit)
    accounts = SignIns(place, relay)
    rounds = 2 if place.is_quick else 10
    aside, plain = [], []
    for number in range(rounds):
        for name in (signal.SIGUSR1, signal.SIGHUP):
            accounts.some()
            aside.append(audit.with_name(f"audit.{number}.{name.name}"))
            audit.rename(aside[-1])
            accounts.some()
            mark = relay.mark()
            relay.send(name)
            relay.wait_for("auditReopened" if name == signal.SIGUSR1 else "reloaded", mark)
            accounts.some()
            # The audit log has a writer of its own, which may be later than the log.
            wait_until(lambda: audit.stat().st_size > 0, f"records in the new audit log after {name.name}")
            place.check(True, f"a renamed audit log continues in a new file after {name.name}")
        # A copy and a truncation, between which nothing is written.
        relay.send(signal.SIGSTOP)
        for file, copies in [(audit, aside), (relay.log, plain)]:
            copy = file.with_name(f"{file.name}.{number}.copy")
            copy.write_bytes(file.read_bytes())
            os.truncate(file, 0)
            copies.append(copy)
        relay.send(signal.SIGCONT)
        accounts.some()
    accounts.stop()
    place.check(relay.stop() == 0, "the relay ends with 0")
    check_records(place, [*aside, audit], accounts.names, "audit log")
    check_records(place, [*plain, relay.log], accounts.names, "log")
    check_closed_reader(place)


class SignIns:
    """Accounts that sign in one after another, in a thread. Each is recorded once."""

    def __init__(self, place, relay):
        self.place, self.relay, self.names, self.is_on = place, relay, [], True
        self.failure = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while self.is_on:
            name = f"account{len(self.names)}"
            done = self.place.command("history", *self.relay.to("lobby", name), "--limit", "1")
            if done.returncode != 0:
                self.failure = done.stderr.decode()
                return
            self.names.append(name)

    def some(self):
        count = len(self.names) + 3
        wait_until(lambda: len(self.names) >= count or self.failure, "sign-ins")

    def stop(self):
        self.is_on = False
        self.thread.join()
        if self.failure:
            raise Failure(self.failure)


def check_records(place, files, names, what):
    found = []
    for file in files:
        data = file.read_bytes()
        place.check(data.endswith(b"\n"), f"each file of the {what} ends with a complete line", file.name)
        for line in data.splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                place.check(False, f"each line of the {what} is one record", f"{file.name}: {line[:300]!r}")
            place.check(record["event"] not in ("linesDropped", "auditRecordsLost"), f"the {what} loses no record")
            if record["event"] == "signedIn":
                found.append(record["account"])
    place.check(found == names, f"the {what} has each record once, in order",
                f"{len(found)} of {len(names)}: {[name for name in names if name not in found][:5]}")


def check_closed_reader(place):
    """A program that reads the log ends before the relay."""
    relay = Relay(place, store="piped")
    relay.stop()
    reader, writer = os.pipe()
    relay.process = place.start(relay.command, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.STDOUT)
    os.close(writer)
    text = os.read(reader, 4096)
    os.close(reader)
    place.check(b"listening" in text, "a relay whose log has no reader continues")
    place.check(relay.lines("lobby", "x") == [], "a relay whose log has no reader continues")
    place.check(relay.stop() == 0, "the relay ends with 0")


def start_and_stop(place):
    """Signals, second relays on one store or port, exit codes."""
    relay = Relay(place)
    sender = Sender(place, relay, "lobby", "ada")
    listener = Listener(place, relay, "lobby", "listener")
    load = Load(sender)
    listener.wait_for("ada.20")
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        relay.send(number)
    place.check(relay.reload()["event"] == "reloaded", "SIGUSR1, SIGUSR2 and SIGHUP do not end the relay")

    second = place.command("serve", "--allow-all", "--listen", "127.0.0.1:0", "--store", relay.store)
    place.check(second.returncode == 73, "a second relay on the store: 73", second)
    place.check(str(relay.store).encode() in second.stderr, "with the name of the folder", second.stderr)
    second = place.command("serve", "--allow-all", "--listen", f"127.0.0.1:{relay.port}")
    place.check(second.returncode == 73 and str(relay.port).encode() in second.stderr,
                "a second relay on the address: 73, with the address", second)
    second = place.command("serve", "--allow-all", "--listen", f"127.0.0.1:{relay.port}", "--json",
                           "--store", place.folder / "second")
    place.check(json.loads(second.stdout)["event"] == "startFailed", "with --json as JSON", second)
    for action in (["compact"], ["restore"], ["import"], ["reset-roles"], ["trust-clock"]):
        more = [relay.store] if action == ["restore"] else []
        done = place.command("store", *action, relay.store, *more, input=b"")
        place.check(done.returncode == 73, "actions that change a store in use: 73", f"{action}: {done}")
    check_usage(place)

    ends = [signal.SIGTERM, signal.SIGINT, signal.SIGKILL] * (1 if place.is_quick else 5)
    for number in ends:
        count = len(listener.lines)
        wait_until(lambda: len(listener.lines) > count + 20, "more lines")
        code = relay.stop(number)
        place.check(code == (0 if number != signal.SIGKILL else -9), "SIGTERM and SIGINT under load: 0", code)
        if number != signal.SIGKILL:
            place.check(relay.events()[-1]["event"] == "ended", "the last line of the log is the end")
        relay.start()
    load.stop()
    sender.finish()
    listener.wait_for(sender.written[-1])
    check_once_in_order(place, listener.lines, [sender], "no line is lost or repeated by these ends")
    end_twice(place, relay)


def check_usage(place):
    missing = place.folder / "missing"
    for code, words in [
        (66, ["--tokens", missing]),
        (66, ["--allow-all", "--rooms", missing]),
        (66, ["--allow-all", "--certificate", missing, "--key", missing]),
        (64, []),
        (64, ["--allow-all", "--no-such-option"]),
        (64, ["--allow-all", "--listen", "nowhere"]),
        (73, ["--allow-all", "--audit", place.folder / "no" / "audit"]),
        (73, ["--allow-all", "--store", "/proc/none/store"]),
        (73, ["--allow-all", "--listen", "192.0.2.1:7227", "--plaintext"]),
    ]:
        if "--listen" not in words:
            words = ["--listen", "127.0.0.1:0", *words]
        done = place.command("serve", *words)
        place.check(done.returncode == code and done.stderr, "a start that fails: its code and its reason",
                    f"{words}: {done}")


def end_twice(place, relay):
    """A second signal ends a relay that waits for its clients; one within half a second is the same."""
    relay.drain = "30"
    relay.stop()
    for first, second, expected in [(signal.SIGTERM, signal.SIGTERM, 143), (signal.SIGTERM, signal.SIGINT, 130),
                                    (signal.SIGINT, signal.SIGTERM, 143)]:
        relay.start()
        stopped = Listener(place, relay, "lobby", "stopped", has_cursor=False)
        sender = Sender(place, relay, "lobby", f"once{second}{first}")
        sender.write(1)
        stopped.wait_for(sender.written[0])
        sender.finish()
        # A client that does not answer keeps the relay waiting.
        stopped.process.send_signal(signal.SIGSTOP)
        relay.send(first)
        time.sleep(0.8)
        if relay.process.poll() is None:
            code = relay.stop(second)
            place.check(code == expected, "a second signal ends a relay at once: 143 or 130", code)
        stopped.process.kill()
        stopped.process.wait()
