"""A small relay that plays the server's side for one judged client, and the client's process."""

import contextlib
import os
import queue
import random
import signal
import socket
import subprocess
import threading
import time

from kit import FEATURES, LIMITS, Context, Failed, Inconclusive, Peer, text
from martlet_bodies import Accepted, Close, Hello, Limits, Opened, Reset, Response, Welcome, WelcomeResume
from martlet_frames import Data, Open
from martlet_registry import CLIENT, ContentKind, Features, Flags
from martlet_registry import ErrorCode as E
from martlet_tlv import Position, Run, Version

ACCOUNT, TOKEN, OTHER, OTHER_DEVICE = "ada", "open-sesame", "bob", 77
START = 15  # Seconds in which a client's program has to start.
MAX_LINES, MAX_LINE = 200, 65_536  # Lines of a client that no case has read, and bytes of one.
FRAGMENT = 16_000


class Relay(Context):
    """The room and the process of one case."""

    def __init__(self, options, case):
        super().__init__(options, case)
        self.log, self.head, self.peer, self.process = random.getrandbits(63), 0, None, None
        self.room, self.lines, self.sent = "conformance", queue.Queue(MAX_LINES), []
        self.listener = self.listen()

    def listen(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.closing.append(listener.close)
        return listener

    def start(self):
        """Starts the client's program."""
        command = [part.replace("{host}", "127.0.0.1").replace("{port}", str(self.listener.getsockname()[1]))
                   for part in self.options.client]
        variables = {"MARTLET_ACCOUNT": ACCOUNT, "MARTLET_TOKEN": TOKEN, "MARTLET_ROOM": self.room}
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True, env={**os.environ, **variables})
        except OSError as problem:
            raise Inconclusive(f"the client does not start: {problem}") from None
        self.closing.append(self.end)
        self.readers = [threading.Thread(target=self.read, args=parts, daemon=True) for parts in (
            (self.process.stdout, self.lines.put_nowait), (self.process.stderr, self.note_error))]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def read(stream, take):
        """Takes lines up to the end, or to one too many: then the client waits."""
        with contextlib.suppress(queue.Full):
            while line := stream.readline(MAX_LINE):
                take(line.rstrip(b"\r\n").decode(errors="backslashreplace"))

    def note_error(self, line):
        self.note("standard error", line[:500])

    def fault(self):
        """The end of the program, once its output is read, or a flood of it; None otherwise."""
        if self.lines.full():
            return f"{MAX_LINES} lines that it does not write under the contract"
        status = self.process.poll()
        if status is None:
            return None
        for reader in self.readers:
            reader.join(0.2)  # What the program has started can keep its output open.
        return f"the end of the program with status {status}"

    def end(self):
        """Ends the program and what it has started."""
        if self.process.poll() not in (None, -signal.SIGKILL):
            self.note("the client ends", f"status {self.process.returncode}")
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def types(self, *lines):
        """Writes lines to the client's standard input."""
        self.sent += lines
        try:
            self.process.stdin.write("".join(line + "\n" for line in lines).encode())
            self.process.stdin.flush()
        except OSError:
            if self.peer is not None:  # Otherwise, accept finds that the program does not connect.
                raise Failed("a program that reads its input", self.fault() or "the end of its input") from None

    def prints(self, *wanted, clause=None):
        """Waits for exactly these lines; the client's own messages do not count."""
        for line in wanted:
            until = time.monotonic() + self.timeout
            while True:
                self.serve(min(until, time.monotonic() + 0.02))
                fault = self.fault()
                try:
                    found = self.lines.get_nowait()
                except queue.Empty:
                    if fault or time.monotonic() > until:
                        raise Failed(f"the line {line[:80]!r}", fault or "no line", clause) from None
                    continue
                if found not in self.sent or found == line:
                    break
            self.note("the client prints", found[:200])
            self.require(found == line, f"the line {line[:80]!r}", f"the line {found[:80]!r}", clause)

    def prints_nothing(self, seconds=0.3, clause=None):
        self.serve(time.monotonic() + seconds)
        while not self.lines.empty():
            line = self.lines.get()
            self.require(line in self.sent, "no line", f"the line {line[:80]!r}", clause)

    def serve(self, until):
        """Lets time pass while the connection is served."""
        while time.monotonic() < until:
            if self.peer is None or not self.peer.pump(until):
                time.sleep(max(0, min(0.01, until - time.monotonic())))

    def accept(self, listener=None, clause=None, timeout=None, earlier=None):
        """The next connection of the client, which is started before the first one. It continues the link of an earlier
        one, if the client asks for it."""
        listener = listener or self.listener
        if self.process is None:
            self.start()
        limit = timeout or self.timeout + (START if self.peer is None else 0)
        listener.settimeout(0.05)
        until, carrier = time.monotonic() + limit, None
        while carrier is None:
            fault = self.fault()
            with contextlib.suppress(TimeoutError):
                carrier, _ = listener.accept()
            if carrier is None and (fault or time.monotonic() > until):
                found = fault or f"none for {limit} s"
                if self.peer is None:
                    raise Inconclusive(f"the client does not connect: {found}")
                raise Failed("a connection of the client", found, clause)
        carrier.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peer = Server(self, carrier, earlier)
        return self.peer

    def accepts_none(self, seconds, clause=None):
        """Fails if the client connects within this time."""
        self.listener.settimeout(seconds)
        try:
            carrier, _ = self.listener.accept()
        except TimeoutError:
            return
        carrier.close()
        raise Failed(f"no connection for {seconds:.1f} s", "a connection", clause)

    def begin(self, **changes):
        """Welcomes the client and opens its room."""
        peer = self.accept()
        peer.greet(**changes)
        peer.admit()
        return peer

    def parties(self, names):
        """What a case needs: `peer`, the connection of a client that has opened its room."""
        return {"peer": self.begin()}

    def resumed(self, earlier, **changes):
        """The client's next connection, on which it has to resume its link."""
        peer = self.accept(clause="C-5", earlier=earlier)
        peer.greet(earlier, **changes)
        return peer

    def ends(self, code=0, clause=None):
        """Ends the client's input, and waits for the end of its program with this status; None is any but 0."""
        try:
            self.process.stdin.close()
        except OSError:
            pass
        until = time.monotonic() + self.timeout + 3
        while self.process.poll() is None and time.monotonic() < until:
            self.serve(time.monotonic() + 0.02)
        found = self.process.poll()
        wanted = "another status than 0" if code is None else f"status {code}"
        right = found not in (None, 0) if code is None else found == code
        self.require(right, f"the end of the program with {wanted}",
                     "a program that runs" if found is None else f"status {found}", clause)


class Server(Peer):
    """The server's end of one connection."""

    def __init__(self, context, carrier, earlier):
        super().__init__(context, carrier, "relay", CLIENT)
        self.requests, self.room, self.no_local = self.refuse, None, False
        for name in ("sessions", "received", "used", "granted", "credit", "room", "no_local", "ended_sessions"):
            if earlier is not None:
                setattr(self, name, getattr(earlier, name))

    def refuse(self, header, value):
        self.send(Response(correlation=value.correlation, status=E.UNKNOWN_METHOD), header.session)

    def greet(self, earlier=None, **changes):
        """Answers hello by welcome. With an earlier connection the client has to resume its link."""
        hello = self.hello_of_client = self.expect(Hello, clause="W-32")
        offered = {name: min(value, getattr(LIMITS, name)) for name, value in vars(hello.limits).items()}
        offered.update(changes.pop("limits", {}))
        limits, features = Limits(**offered), Features(hello.features) & changes.pop("features", FEATURES)
        if (1, 1) > max(hello.spoken_version):
            features &= FEATURES
        resume = None
        self.link_id, self.token_of_link = random.getrandbits(64), random.randbytes(32)
        if earlier is not None:
            asked = hello.resume
            self.context.require(asked and (asked.link, asked.resume_token) == (earlier.link_id, earlier.token_of_link),
                                 "a hello that resumes the link with its token", hello, "C-29")
            self.link_id = earlier.link_id
            positions = {position.session: position.highest for position in asked.session_position}
            named = positions.keys() >= self.sessions.keys()
            self.context.require(named, "a position of each session", positions, "C-29")
            wrong = [n for n, highest in positions.items()
                     if highest > (self.sessions[n].sent if n in self.sessions else 0)]
            self.context.require(not wrong, "positions that were sent", positions, "C-30")
            resume = WelcomeResume(session_position=tuple(
                Position(n, flow.receiver.window.cumulative) for n, flow in self.sessions.items()))
        self.adopt(limits, features)
        self.is_welcomed = True
        self.receiver.establish(limits.max_body, features)
        values = dict(
            spoken_version=Version(1, 0), features=int(features), limits=limits, account=hello.account,
            link=self.link_id, resume_token=self.token_of_link, epoch=1 + bool(earlier), resume_lifetime=300,
            reconnect_spread=250, resume=resume)
        self.send(Welcome(**{**values, **changes}))
        for number, flow in self.sessions.items() if earlier is not None else ():
            for sequence, data in sorted(flow.out.items()):
                if sequence > positions[number]:
                    self.raw(data, f"again {number}/{sequence}")
        return hello

    def admit(self, **changes):
        """Answers the open of the room."""
        context = self.context
        asked = self.wait(lambda e: isinstance(e.value, Open) and e.value.session_kind == 0, "open", "R-9")
        self.room, self.no_local = asked.header.session, bool(asked.value.no_local)
        context.require(asked.value.room == context.room, context.room, asked.value.room, "W-55")
        values = dict(head=context.head, first=1, log=context.log, member=(ACCOUNT, OTHER))
        self.send(Opened(**{**values, **changes}), self.room)
        return asked.value

    def deliver(self, value, offset=None, device=OTHER_DEVICE, sender=OTHER, counter=None, content=None, **header):
        """Sends a message of the room."""
        if offset is None:
            self.context.head += 1
            offset = self.context.head
        body = Data(
            offset=offset, accepted_at=int(1000 * time.time()), device=device, sender=sender,
            counter=counter or offset, kind=ContentKind.TEXT, content=text(value) if content is None else content)
        data = body.encoded()
        if len(data) <= FRAGMENT:
            self.afford(len(data))
            return self.send(body, self.room, **header)
        for at in range(0, len(data), FRAGMENT):
            part, flags = data[at : at + FRAGMENT], Flags.CHECKSUMMED | Flags.RELIABLE
            self.afford(len(part))
            self.put(body.type, part, self.room, flags=flags | Flags.MORE_FRAGMENTS * (at + FRAGMENT < len(data)))
        return self.sessions[self.room].sent

    def reaches(self, value):
        """Sends a message of the room, which the client prints."""
        sequence = self.deliver(value)
        self.context.prints(value)
        return sequence

    def afford(self, size):
        """Waits until the client's credit permits so many bytes."""
        flow, until = self.sessions[self.room], time.monotonic() + self.context.timeout
        while flow.used + size > flow.credit or self.used + size > self.credit:
            self.context.require(self.pump(until), f"credit for {size} bytes", "none", "S-39")

    def taken(self, answer=True):
        """The client's next message, which is accepted."""
        data = self.expect(Data, self.room, clause="R-21")
        self.context.require(data.offset is None, "none of the relay's fields", data.offset, "W-61")
        if answer:
            self.accepted(data)
        return data

    def accepted(self, data):
        self.context.head += 1
        self.send(Accepted(accepted_run=(Run(data.counter, 1, self.context.head),)), self.room)
        if not self.no_local:
            self.deliver("", self.context.head, self.hello_of_client.device, ACCOUNT, data.counter, data.content)

    def reset(self, code, **more):
        """Resets the session of the room."""
        self.ended_sessions.add(self.room)
        self.send(Reset(session=self.room, code=code, credit_used=self.sessions.pop(self.room).used, **more))
        self.inbox = [event for event in self.inbox if event.header.session != self.room]

    def took(self, header, value):
        """A close is answered at once."""
        super().took(header, value)
        if isinstance(value, Close) and header.session not in self.ended_sessions:
            self.send(Close(), header.session)
