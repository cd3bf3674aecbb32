"""The programs of a scenario: relays, senders, listeners and single commands, which end with the scenario."""

import json
import os
import signal
import subprocess
import threading
import time

TIMEOUT = 60.0
# The longest pause between two attempts of a client to reconnect.
MAX_WAIT = "1"


class Failure(Exception):
    pass


class Unavailable(Exception):
    """This machine does not permit the scenario."""


def wait_until(is_so, what, seconds=TIMEOUT):
    """Waits until `is_so` returns a true value, and returns it."""
    deadline = time.monotonic() + seconds
    while True:
        value = is_so()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failure(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.01)


class Place:
    """A scenario: its folder, its programs, and the list of what it has checked."""

    def __init__(self, martlet, folder, is_quick):
        self.martlet, self.folder, self.is_quick = martlet, folder, is_quick
        self.checked = []
        self.running = []
        self.ends = []

    def at_end(self, body):
        self.ends.append(body)

    def check(self, is_so, text, detail=""):
        """Notes a check for the table; a failed one ends the scenario."""
        if not is_so:
            raise Failure(f"not true: {text}" + (f": {detail}" if detail != "" else ""))
        if text not in self.checked:
            self.checked.append(text)

    def start(self, command, **options):
        process = subprocess.Popen([str(word) for word in command], **options)
        self.running.append(process)
        return process

    def command(self, *words, wrapper=(), **options):
        """Runs `martlet` to its end."""
        command = [str(word) for word in [*wrapper, self.martlet, *words]]
        return subprocess.run(command, capture_output=True, timeout=TIMEOUT, **options)

    def succeed(self, *words, **options):
        """Runs `martlet`, which has to end with 0, and returns its standard output."""
        done = self.command(*words, **options)
        if done.returncode != 0:
            raise Failure(f"martlet {words[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def finish(self):
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        for body in reversed(self.ends):
            body()


class Relay:
    """`martlet serve` with a store. It has one port in all of its lives, and one log, in JSON."""

    def __init__(
            self, place, *options, store="store", access=("--allow-all",), scheme="martlet", wrapper=(), **more):
        self.place, self.options, self.access, self.wrapper = place, options, access, wrapper
        self.store = place.folder / store
        self.scheme, self.more, self.drain = scheme, more, "1"
        self.log = place.folder / f"{store.replace('/', '-')}.log"
        self.port = 0
        self.start()

    @property
    def command(self):
        return [*self.wrapper, self.place.martlet, "serve", *self.access, "--listen", f"127.0.0.1:{self.port}",
                "--json", "--max-connections-per-address", "0", "--drain", self.drain, "--store", self.store,
                *self.options]

    def start(self):
        mark = self.mark()
        self.process = self.place.start(
            self.command, stdin=subprocess.DEVNULL, stdout=self.log.open("ab"), stderr=subprocess.STDOUT, **self.more)
        self.port = self.wait_for("listening", mark)["port"]

    def mark(self):
        """A position in the log: the events after it are later ones."""
        return self.log.stat().st_size if self.log.exists() else 0

    def events(self, mark=0):
        data = self.log.read_bytes()[mark:]
        found = []
        for line in data[: data.rfind(b"\n") + 1].splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                raise Failure(f"the log has a line that is not JSON: {line!r}")
        return found

    def wait_for(self, event, mark=0, **members):
        def found():
            for each in self.events(mark):
                if each["event"] == event and all(each.get(name) == value for name, value in members.items()):
                    return each
            if self.process.poll() is not None:
                raise Failure(f"the relay ended with {self.process.returncode} before '{event}': {self.tail()}")
            return None
        try:
            return wait_until(found, f"the event {event} {members or ''}")
        except Failure as failure:
            raise Failure(f"{failure}; the log: {self.tail()}")

    def tail(self):
        return self.log.read_text(errors="replace")[-1500:]

    def send(self, number):
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM):
        """Ends the relay and returns its exit code."""
        self.send(number)
        try:
            return self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            raise Failure(f"the relay does not end after signal {number}: {self.tail()}")

    def reload(self):
        """Sends SIGHUP and returns the result that the log states."""
        mark = self.mark()
        self.send(signal.SIGHUP)
        def found():
            return next((each for each in self.events(mark) if each["event"] in ("reloaded", "reloadFailed")), None)
        return wait_until(found, "the result of a reload")

    def to(self, room, account, *options):
        """The options of a client's command."""
        host = "localhost" if self.scheme == "martlets" else "127.0.0.1"
        return ["--to", f"{self.scheme}://{host}:{self.port}", "--room", room, "--account", account,
                "--max-wait", MAX_WAIT, *options]

    def lines(self, room, account="auditor", *options):
        """All lines of a room, in the order of its log."""
        text = self.place.succeed(
            "listen", *self.to(room, account, *options), "--from", "start", "--until-idle", "0.5",
            "--progress", "none")
        return text.decode().splitlines()

    def upload(self, file, room, account, **more):
        return self.place.command("send", *self.to(room, account), "--file", file, **more)

    def download(self, room, name, account="auditor"):
        """The bytes of the attachment with this name."""
        entries = self.place.succeed("history", *self.to(room, account), "--raw", "--json", "--limit", "10000")
        offset = next((entry["offset"] for entry in map(json.loads, entries.splitlines())
                       if entry.get("name") == name), None)
        if offset is None:
            raise Failure(f"no message refers to {name}")
        output = self.place.folder / f"fetched-{self.store.name}-{name}"
        output.unlink(missing_ok=True)
        self.place.succeed("fetch", *self.to(room, account), "--offset", offset, "--output", output)
        return output.read_bytes()


class Sender:
    """`martlet send` with lines "ACCOUNT.NUMBER …". With an outbox it can be started again."""

    def __init__(self, place, relay, room, account, *options, has_outbox=True, **more):
        self.place, self.account = place, account
        self.log = place.folder / f"{account}.log"
        outbox = ["--outbox", place.folder / f"{account}.outbox"] if has_outbox else []
        self.command = [place.martlet, "send", *relay.to(room, account, *options), "--progress", "json", *outbox]
        self.more = more
        self.written = []
        self.start()

    def start(self):
        self.process = self.place.start(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self.log.open("ab"), **self.more)

    def write(self, count=1, padding=""):
        for _ in range(count):
            line = f"{self.account}.{len(self.written) + 1}{padding}"
            self.written.append(line)
            self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def wait_until_stored(self):
        """Waits until the outbox has every line."""
        needle = f'"sent":{len(self.written)},'
        wait_until(lambda: needle in self.tail(), f"{needle} of {self.account}")

    def finish(self):
        """Closes the input. The sender ends when the relay has accepted every line."""
        self.process.stdin.close()
        try:
            status = self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            raise Failure(f"the sender {self.account} does not end: {self.tail()}")
        if status != 0:
            raise Failure(f"the sender {self.account} ended with {status}: {self.tail()}")

    def tail(self):
        return self.log.read_text(errors="replace")[-1000:]


class Load:
    """A sender that writes lines without a pause, in a thread, until `stop`."""

    def __init__(self, sender, pause=0.002, padding=""):
        self.sender, self.pause, self.padding = sender, pause, padding
        self.is_on = True
        self.failure = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            while self.is_on:
                self.sender.write(1, self.padding)
                time.sleep(self.pause)
        except (OSError, ValueError) as error:
            self.failure = error

    def stop(self):
        self.is_on = False
        self.thread.join(TIMEOUT)
        if self.failure or self.thread.is_alive():
            raise Failure(f"{self.sender.account} cannot write: {self.failure}: {self.sender.tail()}")


class Listener:
    """`martlet listen`, which appends to a file; with a cursor it can be started again."""

    def __init__(self, place, relay, room, account, *options, has_cursor=True, name=None):
        name = name or f"{account}-{room}"
        self.place = place
        self.output = place.folder / f"{name}.received"
        self.log = place.folder / f"{name}.log"
        cursor = ["--cursor-file", place.folder / f"{name}.cursor"] if has_cursor else []
        self.command = [place.martlet, "listen", *relay.to(room, account, *options), "--from", "start",
                        "--progress", "none", *cursor]
        self.start()

    def start(self, *more):
        self.process = self.place.start(
            [*self.command, *more], stdin=subprocess.DEVNULL, stdout=self.output.open("ab"),
            stderr=self.log.open("ab"))

    @property
    def lines(self):
        data = self.output.read_bytes()
        return data[: data.rfind(b"\n") + 1].decode().splitlines()

    def wait_for(self, line):
        def has_line():
            if self.process.poll() is not None:
                raise Failure(f"the listener ended with {self.process.returncode}: {self.tail()}")
            return line in self.lines
        wait_until(has_line, f"the line {line[:40]!r} at the listener {self.output.name}")

    def stop(self):
        """Ends the listener with its cursor written, and returns its exit code."""
        self.process.terminate()
        return self.process.wait(TIMEOUT)

    def tail(self):
        return self.log.read_text(errors="replace")[-1000:]


def check_once_in_order(place, lines, senders, text="every line once, in order"):
    """Checks that the lines are exactly those of the senders, each sender's in its order."""
    for sender in senders:
        own = [line for line in lines if line.startswith(f"{sender.account}.")]
        if own == sender.written:
            continue
        missing = [line[:40] for line in sender.written if line not in set(own)]
        place.check(False, text, f"{sender.account}: {len(own)} of {len(sender.written)} lines, missing {missing[:3]}")
    place.check(len(lines) == sum(len(sender.written) for sender in senders), text, "lines of nobody")


def random_file(path, byte_count):
    path.write_bytes(os.urandom(byte_count))
    return path
