"""Relays and clients with one planted fault each, by which the kit itself is tested.

usage: faults.py relay NAME PORT      a proxy in front of the relay at PORT; it prints its own port
       faults.py client NAME PORT     the client of adapters/reference.py
       faults.py list
"""

import contextlib
import select
import socket
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "reference"), str(HERE), str(HERE / "adapters")]

import reference  # noqa: E402
from martlet_basics import WireError  # noqa: E402
from martlet_bodies import GoAway, Pong  # noqa: E402
from martlet_header import HEADER_SIZE, Header  # noqa: E402
from martlet_registry import ErrorCode, Flags, Tag  # noqa: E402
from martlet_registry import FrameType as T  # noqa: E402
from martlet_tlv import SESSION_ACK, children, tlv  # noqa: E402

# The faults: name, the case that finds it, the clauses of which it violates one.
RELAY, CLIENTS = {}, {}


def fault(table, name, case, *clauses):
    def add(made):
        table[name] = (case, clauses, made)
        return made
    return add


def changed(body, tag, change):
    """The body with other values of a tag."""
    return b"".join(tlv(found, change(value) if found == tag else value) for found, value in children(body))


def plus(number):
    """Adds to an integer, modulo its size."""
    return lambda value: ((int.from_bytes(value, "big") + number) % 256 ** len(value)).to_bytes(len(value), "big")


class Proxy:
    """Passes frames on between a client and a relay. A fault overrides one direction or both."""

    state = {}  # Shared by all connections of one fault.

    def __init__(self, client, port):
        self.client, self.relay = client, socket.create_connection(("127.0.0.1", port))
        self.buffers = {self.client: bytearray(), self.relay: bytearray()}
        self.count = 0
        for end in self.buffers:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def to_client(self, header, body):
        """The frames that the client gets in place of one of the relay."""
        return [(header, body)]

    def to_relay(self, data):
        """The bytes that the relay gets in place of bytes of the client."""
        return data

    def run(self):
        try:
            while True:
                for end in select.select(list(self.buffers), [], [])[0]:
                    data = end.recv(262_144)
                    if not data:
                        return
                    self.passed(end, data)
        except OSError:
            pass
        finally:
            for end in self.buffers:
                end.close()

    def passed(self, end, data):
        if end is self.client:
            return self.relay.sendall(self.to_relay(data))
        for header, body in self.frames(end, data):
            for one, its in self.to_client(header, body):
                self.client.sendall(one.encoded(its) + its)

    def frames(self, end, data):
        """Whole frames of one side."""
        buffer = self.buffers[end]
        buffer += data
        while len(buffer) >= HEADER_SIZE:
            header = Header.parse(bytes(buffer[:HEADER_SIZE]))
            size = HEADER_SIZE + header.length
            if len(buffer) < size:
                return
            body = bytes(buffer[HEADER_SIZE:size])
            del buffer[:size]
            yield header, body


class Changes(Proxy):
    """Changes the values of a tag in the relay's frames of one type."""
    kind, tag, change = None, None, None

    def to_client(self, header, body):
        return [self.edited(header, body)]

    def edited(self, header, body):
        if header.type == self.kind and body:
            body = changed(body, self.tag, type(self).change)
        return header, body


class Asks(Changes):
    """Changes them in the client's frames, and repairs their checksums."""
    to_client = Proxy.to_client

    def to_relay(self, data):
        edited = (self.edited(header, body) for header, body in self.frames(self.client, data))
        return b"".join(header.encoded(body) + body for header, body in edited)


def changes(name, case, clauses, kind, tag, change, base=Changes):
    made = type(name, (base,), {"kind": kind, "tag": tag, "change": staticmethod(change)})
    fault(RELAY, name, case, *clauses.split())(made)


def ack_more(value):
    ack = SESSION_ACK.read(value)
    return SESSION_ACK.write(ack._replace(cumulative=ack.cumulative + 1, ranges=()))


def zero(value):
    return bytes(len(value))


def more_credit(value):
    ack = SESSION_ACK.read(value)
    return SESSION_ACK.write(ack._replace(credit=ack.credit + (1 << 20)))


changes("acknowledges what it did not get", "session-ack-exact", "S-23", T.ACK, Tag.SESSION_ACK, ack_more)
changes("skips an offset", "room-offsets", "R-1", T.DATA, Tag.OFFSET, plus(1))
changes("repeats an offset", "room-offsets", "W-66", T.DATA, Tag.OFFSET, lambda value: bytes(7) + b"\1")
changes("names a wrong sender", "room-body", "W-61", T.DATA, Tag.SENDER, lambda value: b"eve")
changes("changes a content", "room-body", "W-61", T.DATA, Tag.TIME_TO_LIVE, plus(1))
changes("echoes another timestamp", "session-pong", "W-53", T.PONG, Tag.ECHO, zero)
changes("answers with another nonce", "session-pong", "W-70", T.PONG, Tag.NONCE, plus(1))
changes("does not raise the epoch", "link-epoch", "W-47", T.WELCOME, Tag.EPOCH, lambda value: bytes(3) + b"\1")
changes("names a wrong code", "frame-tlv-length", "W-24", T.GOAWAY, Tag.CODE,
        lambda value: ErrorCode.PROTOCOL_VIOLATION.to_bytes(2, "big"))
changes("grants features that were not offered", "hello-welcome", "W-41", T.WELCOME, Tag.FEATURES, plus(2))
changes("accepts at another offset", "room-accepted", "W-64", T.ACCEPTED, Tag.ACCEPTED_RUN,
        lambda value: value[:12] + plus(5)(value[12:]))
changes("ignores the cursor", "room-cursor", "W-55", T.OPEN, Tag.CURSOR, zero, Asks)
changes("exceeds the credit", "session-reader-credit", "W-52", T.ACK, Tag.SESSION_ACK, more_credit, Asks)
changes("delivers the messages of the device itself in spite of noLocal", "room-no-local", "W-55 R-10", T.OPEN,
        Tag.NO_LOCAL, zero, Asks)


@fault(RELAY, "answers no ping", "session-pong", "W-70")
class NoPong(Proxy):
    def to_client(self, header, body):
        return [] if header.type == T.PONG else [(header, body)]


@fault(RELAY, "ends connections without goaway", "frame-magic", "W-5")
class Silent(Proxy):
    def to_client(self, header, body):
        return [] if header.type == T.GOAWAY else [(header, body)]


@fault(RELAY, "sends frames behind goaway", "frame-magic", "C-40")
class Behind(Proxy):
    def to_client(self, header, body):
        more = [(Header(T.PING), tlv(Tag.NONCE, bytes(8)))] if header.type == T.GOAWAY else []
        return [(header, body), *more]


fault(RELAY, "accepts wrong checksums", "frame-checksum", "W-10")(Asks)


@fault(RELAY, "accepts reserved bits", "frame-reserved-40", "W-16")
class Unreserved(Asks):
    def edited(self, header, body):
        return header._replace(flags=header.flags & ~Flags.RESERVED), body


@fault(RELAY, "takes a resume token twice", "resume-used", "W-44")
class Forgiving(Asks):
    """Replaces each token of a hello by the latest one of the link."""

    def to_client(self, header, body):
        if header.type == T.WELCOME:
            found = dict(children(body))
            self.state[found[Tag.LINK]] = found[Tag.RESUME_TOKEN]
        return [(header, body)]

    def edited(self, header, body):
        return header, changed(body, Tag.RESUME, self.latest) if header.type == T.HELLO else body

    def latest(self, value):
        link = dict(children(value))[Tag.LINK]
        return changed(value, Tag.RESUME_TOKEN, lambda token: self.state.get(link, token))


# Clients: adapters/reference.py with one behavior less.

@fault(CLIENTS, "does not check checksums", "client-hostile-checksum", "W-10")
class Unchecked(reference.Chat):
    def receive(self):
        framer, feed = self.receiver.framer, self.receiver.framer.feed
        framer.feed = lambda data: feed(repaired(data))
        super().receive()
        framer.feed = feed


def repaired(data):
    """Whole frames with right checksums."""
    out = b""
    while len(data) >= HEADER_SIZE and data[:4] == b"\x8dMRT":
        header = Header.parse(data[:HEADER_SIZE])
        body, data = data[HEADER_SIZE : HEADER_SIZE + header.length], data[HEADER_SIZE + header.length :]
        out += header.encoded(body) + body
    return out + data


@fault(CLIENTS, "answers no ping", "client-ping", "W-70")
class Mute(reference.Chat):
    def say(self, body, **more):
        if not isinstance(body, Pong):
            super().say(body, **more)


@fault(CLIENTS, "gives duplicate offsets to its application", "client-offset-again", "R-32")
class Repeats(reference.Chat):
    def print(self, message):
        self.cursor = min(self.cursor, message.offset - 1)
        super().print(message)


@fault(CLIENTS, "gives duplicate frames to its application", "client-duplicate", "S-18")
class Twice(Repeats):
    def take(self, header, body, at):
        if header.type == T.DATA:
            self.sessions[header.session].receiver.window.cumulative = header.sequence - 1
            self.sessions[header.session].receiver._next = header.sequence
        super().take(header, body, at)


@fault(CLIENTS, "acknowledges what it did not get", "client-ack", "S-23")
class Forward(reference.Chat):
    def say(self, body, **more):
        if body.type == T.ACK:
            acks = tuple(ack._replace(cumulative=ack.cumulative + 9, ranges=()) for ack in body.session_ack)
            body = type(body)(link_credit=body.link_credit, session_ack=acks, echo=body.echo)
        super().say(body, **more)


@fault(CLIENTS, "acknowledges nothing", "client-ack", "W-48")
class Unacknowledging(reference.Chat):
    def acknowledge(self):
        pass


@fault(CLIENTS, "does not wait for acceptance", "client-waits", "R-21")
class Hasty(reference.Chat):
    def acknowledged(self, number, cumulative, ranges=()):
        super().acknowledged(number, cumulative, ranges)
        self.outbox = {}


@fault(CLIENTS, "publishes again under another counter", "client-reset", "R-21")
class Renumbers(reference.Chat):
    def enter(self):
        messages, self.outbox = list(self.outbox.values()), {}
        for message in messages:
            self.counter += 1
            self.outbox[self.counter] = type(message)(
                counter=self.counter, kind=message.kind, content=message.content)
        super().enter()


@fault(CLIENTS, "ignores credit", "client-credit", "W-52")
class Spends(reference.Chat):
    def publish(self):
        while self.todo and self.number in self.sessions:
            message = self.todo.popleft()
            self.used[self.number] += len(message.encoded())
            self.send(self.number, message)


@fault(CLIENTS, "does not resume", "client-cut-data", "C-29")
class Forgets(reference.Chat):
    def begin(self):
        self.forget()
        super().begin()


@fault(CLIENTS, "presents its first token again", "client-token", "C-29")
class OldToken(reference.Chat):
    def connect(self, *more, **others):
        self.first = getattr(self, "first", None) or self.token
        self.token = self.first
        return super().connect(*more, **others)


@fault(CLIENTS, "does not send frames again after a resume", "client-cut-data", "R-21", "C-33")
class Loses(reference.Chat):
    def transmit(self):
        was_sent = {(n, q) for n, s in self.sessions.items() for q in s.unacknowledged} & getattr(self, "all", set())
        self.gone |= was_sent
        super().transmit()
        self.all = getattr(self, "all", set()) | self.gone


@fault(CLIENTS, "keeps its cursor in another log", "client-log", "R-12")
class OneLog(reference.Chat):
    def opened(self, opened):
        self.log = opened.log


@fault(CLIENTS, "comes back after replaced", "client-stops-replaced", "C-43")
class Returns(reference.Chat):
    def left(self, end):
        self.events.clear()
        raise reference.Ended(None, end.retry_after)


@fault(CLIENTS, "ignores retryAfter", "client-returns-busy", "C-57")
class Impatient(reference.Chat):
    def left(self, end):
        self.events.clear()
        raise reference.Ended(end.code, 0, end.redirect)


@fault(CLIENTS, "ends the connection because of unknown frames", "client-unknown", "W-73")
class Strict(reference.Chat):
    def take(self, header, body, at):
        if body is None:
            raise WireError(ErrorCode.UNKNOWN_CRITICAL)
        super().take(header, body, at)


@fault(CLIENTS, "ends the connection because of an invalid message", "client-content-field", "R-32")
class Offended(reference.Chat):
    def take(self, header, body, at):
        try:
            reference.Client.take(self, header, body, at)
        except WireError as problem:
            raise WireError(problem.code) from None


@fault(CLIENTS, "processes frames behind goaway", "client-behind-goaway", "C-40")
class Onward(reference.Chat):
    def left(self, end):
        self.end = end
        self.events.clear()

    def receive(self):
        super().receive()
        if getattr(self, "end", None):
            end, self.end = self.end, None
            super().left(end)


@fault(CLIENTS, "reports another code", "client-hostile-reserved", "W-16")
class WrongCode(reference.Chat):
    def say(self, body, **more):
        wrong = isinstance(body, GoAway) and body.code
        super().say(GoAway(code=ErrorCode.BAD_MAGIC) if wrong else body, **more)


@fault(CLIENTS, "opens a room that is forbidden again", "client-reset-forbidden", "R-13")
class Insists(reference.Chat):
    def reset_by(self, reset):
        super().reset_by(type(reset)(session=reset.session, code=ErrorCode.CANCELLED, credit_used=reset.credit_used))


@contextlib.contextmanager
def serving(name, port):
    """The port of the faulty relay."""
    made = type(name, (RELAY[name][2],), {"state": {}})
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=lambda: made(client, port).run(), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


if __name__ == "__main__":
    if sys.argv[1] == "relay":
        with serving(sys.argv[2], int(sys.argv[3])) as port:
            print(port, flush=True)
            sys.stdin.read()
    elif sys.argv[1] == "client":
        sys.exit(reference.main(CLIENTS[sys.argv[2]][2], sys.argv[3]))
    else:
        for table in (RELAY, CLIENTS):
            for name, (case, clauses, _) in table.items():
                print(f"{name}: {case} [{' '.join(clauses)}]")
