"""The parts that all cases share: the table of cases, their outcomes, and one end of a connection that records what it
sends and receives."""

import inspect
import random
import socket
import threading
import time
import traceback
from collections import namedtuple
from dataclasses import dataclass, field

from martlet_basics import WireError
from martlet_bodies import (
    Accepted, Ack, GoAway, Hello, HelloResume, Limits, Opened, Ping, Pong, Reject, Reset, Welcome,
)
from martlet_frames import Data, Open
from martlet_header import NONE, ZLIB, Header
from martlet_link import CREDITED, SessionReceiver
from martlet_registry import RULES, SERVER, ContentKind, ErrorCode, Features, Flags, FrameType, Tag
from martlet_tlv import Echo, Position, Version, tlv
from martlet_wire import Receiver, decode

MUST, SHOULD = "MUST", "SHOULD"
# What is checked in every case, and in every one about a relay.
ALWAYS, OF_RELAYS = ("W-4", "W-8", "C-40", "S-23", "W-52"), ("W-37", "C-15", "W-66")
PASSED, FAILED, SKIPPED, INCONCLUSIVE = "passed", "failed", "skipped", "inconclusive"
WINDOWS = (256 * 1024, 512 * 1024, 64 * 1024, 1024 * 1024, 1024 * 1024, 256 * 1024)
LEAST = Limits(max_body=17_408, max_message=16_384, link_window=17_408, session_window=17_408, max_sessions=1)
LIMITS = Limits(
    max_body=65_536, max_message=1 << 20, link_window=1 << 20, session_window=256 * 1024, max_sessions=255)
FEATURES = Features.ZLIB | Features.REQUESTS | Features.RECEIPTS | Features.PRESENCE
MAX_HEX, MAX_TEXT, MAX_TRACE, ADMISSION = 1024, 400, 4000, 70
WAITS = 30  # Seconds that the steps of a case wait beyond their deadlines, such as those of C-60.
T_WELCOME = FrameType.WELCOME.to_bytes(2, "big")
PLAYED = []  # The contexts of cases that are being played.
Case = namedtuple("Case", "id clauses level title play")
Event = namedtuple("Event", "header value")


def shortened(value):
    text = str(value)
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + f"… ({len(text)} characters)"


class Failed(Exception):
    """The judged program violates a clause."""

    def __init__(self, expected, received, clause=None):
        super().__init__(f"expected {expected}; received {received}")
        self.expected, self.received, self.clause = shortened(expected), shortened(received), clause


class Skipped(Exception):
    """The case does not apply, for example because a feature is not in effect."""


class Inconclusive(Exception):
    """The environment has prevented the case."""


@dataclass
class Outcome:
    case: Case
    status: str
    clause: str = ""
    expected: str = ""
    received: str = ""
    seconds: float = 0
    trace: list = field(default_factory=list)


class Table(list):
    """The cases of one kind of program."""

    def case(self, name, clauses, level=MUST):
        """Adds the decorated function; its docstring is the title. The context provides what its parameters name."""
        def add(act):
            names = inspect.signature(act).parameters.keys() - {"context"}
            self.append(Case(name, clauses.split(), level, " ".join(act.__doc__.split()),
                             lambda context: act(context, **context.parties(names) if names else {})))
            return act
        return add

    def row(self, name, clauses, title, play, *values, **more):
        """Adds a function that is called with these values."""
        self.append(Case(name, clauses.split(), MUST, title, lambda context: play(context, *values, **more)))


def text(value):
    return tlv(Tag.TEXT, value.encode())


def message(counter, value, **more):
    return Data(counter=counter, kind=ContentKind.TEXT, content=text(value), **more)


def text_of(data):
    """The text of a message."""
    return data.content[6:].decode(errors="replace")


def frame(kind, body=b"", session=0, sequence=0, flags=None, compression=NONE, **more):
    """Any frame, also one that violates the specification. The checksum is right."""
    if flags is None:
        flags = Flags.CHECKSUMMED | (Flags.RELIABLE if kind in RULES and RULES[kind].is_reliable else 0)
    return Header(kind, session, sequence, flags=flags, compression=compression, **more).encoded(body) + body


def rebuilt(header, body):
    """The bytes of a received frame, inflated and joined."""
    return header.encoded(body or b"") + (body or b"")


def code_name(code):
    return ErrorCode(code).wire_name if code in iter(ErrorCode) else hex(code)


def shown(header, value=None):
    """A frame as text: its type, session/sequence and fields."""
    kind = FrameType(header.type).wire_name if header.type in iter(FrameType) else f"type {header.type:#06x}"
    place = f" {header.session}/{header.sequence}" if header.is_reliable else ""
    fields = value.json() if hasattr(value, "json") else {}
    if "code" in fields:
        fields["code"] = code_name(fields["code"])
    listed = ", ".join(f"{name} {str(found)[:100]}" for name, found in fields.items())
    return f"{kind}{place}" + (f" ({listed})" if listed else "")


class Flow:
    """Both directions of one session."""

    def __init__(self, window, max_message, kind=0):
        self.kind, self.used = kind, 0
        self.sent, self.acked, self.ranges, self.credit = 0, 0, (), window
        self.receiver = SessionReceiver(max_message)
        self.received, self.granted, self.window = 0, window, window
        self.offset, self.is_reported, self.out = 0, True, {}


class Context:
    """What one case needs. The options are those of the command line."""

    def __init__(self, options, case):
        self.options, self.case, self.timeout = options, case, options.timeout
        self.trace, self.closing, self.began = [], [], time.monotonic()
        self.room = f"{options.room} {case.id}"

    def note(self, who, text, data=b""):
        digits = data[:MAX_HEX].hex() + ("…" if len(data) > MAX_HEX else "")
        self.trace.append((round(time.monotonic() - self.began, 3), who, text, digits))
        if len(self.trace) > MAX_TRACE:
            del self.trace[MAX_TRACE // 2]

    def close(self):
        for close in reversed(self.closing):
            close()

    def require(self, condition, expected, received, clause=None):
        if not condition:
            raise Failed(expected, received, clause)

    def equal(self, found, wanted, clause=None):
        self.require(found == wanted, wanted, found, clause)

    def dial(self, account=0, label=None):
        """A connection to the judged relay, before hello."""
        name, token = self.options.account[account]
        try:
            carrier = socket.create_connection(self.options.relay, self.timeout)
            carrier.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.options.tls:
                carrier = self.options.trust.wrap_socket(carrier, server_hostname=self.options.relay[0])
        except (OSError, UnicodeError) as problem:
            raise Inconclusive(f"no connection: {problem}") from None
        peer = Peer(self, carrier, label or name, SERVER)
        peer.account, peer.token, peer.index = name, token, account
        return peer

    def admitted(self, account):
        """Waits until the relay admits the account: an earlier run may have made it delay or refuse it (C-67)."""
        until = time.monotonic() + ADMISSION
        while True:
            peer = self.dial(account)
            peer.hello()
            answer = peer.wait(lambda e: isinstance(e.value, (Welcome, Reject)), "welcome").value
            peer.cut()
            if isinstance(answer, Welcome):
                return
            if answer.code != ErrorCode.SERVER_BUSY or time.monotonic() > until:
                raise Inconclusive(f"the relay does not admit {peer.account}: {code_name(answer.code)}")
            time.sleep((answer.retry_after or 1000) / 1000)

    def link(self, account=0, **changes):
        """An established connection to the judged relay with a new link."""
        peer = self.dial(account)
        peer.hello(**changes)
        peer.welcomed()
        return peer

    def member(self, account=0, **changes):
        """A link whose session 1 is open on the room of the case."""
        peer = self.link(account, **changes)
        peer.open()
        return peer

    def parties(self, names):
        """What a case needs: an established `link`, a `peer` that is a member of the room, or `ada` and `bob`, two."""
        if "ada" in names:
            return dict(zip(("ada", "bob"), self.pair()))
        return {"link": self.link()} if "link" in names else {"peer": self.member()}

    def pair(self, **more):
        """Two members of the room of the case; the first one opens it with these fields."""
        ada, bob = self.link(), self.link(1)
        ada.open(**more)
        bob.open()
        return ada, bob


class Peer:
    """The kit's end of one connection and of its link. It acknowledges, grants credit and answers pings by itself
    unless a case switches that off."""

    def __init__(self, context, carrier, label, sender):
        self.context, self.carrier, self.label, self.sender = context, carrier, label, sender
        self.receiver = Receiver(sender)
        self.device, self.counter, self.correlation = random.getrandbits(64), 0, 0
        self.acknowledges = self.grants = self.pongs = True
        self.requests = None  # Answers requests of the judged client.
        self.packer = None  # A writer of packets, if frames are sent compact (W-76).
        self.discards = False  # Whether frames other than hello are discarded (C-34).
        self.limits, self.features, self.link_id, self.used_token = LEAST, Features(0), None, None
        self.sessions = {0: Flow(65_536, 65_536)}
        self.inbox, self.acks, self.ended_sessions = [], 0, set()
        self.received, self.used, self.granted, self.credit = 0, 0, LEAST.link_window, LEAST.link_window
        self.bytes_in = self.bytes_out = 0
        self.ended, self.is_welcomed, self.stamp, self.began = False, False, None, time.monotonic()
        context.closing.append(self.cut)

    # Sending.

    def raw(self, data, note="bytes"):
        """Sends bytes as they are. A carrier that the judged program has ended takes none."""
        self.context.note(f"{self.label} sends", note, data)
        self.bytes_out += len(data)
        try:
            self.carrier.sendall(data)
        except OSError:
            self.ended = True

    def put(self, kind, body=b"", session=0, **header):
        """Sends a frame; a reliable one has the next sequence of its session unless `sequence` is given."""
        flags = header.get("flags")
        reliable = flags & Flags.RELIABLE if flags is not None else kind in RULES and RULES[kind].is_reliable
        if reliable:
            flow = self.sessions[session]
            header.setdefault("sequence", flow.sent + 1)
            flow.sent = max(flow.sent, header["sequence"])
        data = frame(kind, body, session, **header)
        if reliable:
            used = len(body) if kind in CREDITED and header["sequence"] not in flow.out else 0
            flow.used, self.used = flow.used + used, self.used + used
            flow.out[header["sequence"]] = data
        note = shown(Header.parse(data[:28])) + f", body of {len(body)} bytes"
        self.raw(self.packer.pack([data]) if self.packer else data, note)
        return header.get("sequence", 0)

    def send(self, body, session=0, ack_now=False, more=False, compress=None, **header):
        """Sends a body's value."""
        flags = Flags.CHECKSUMMED | (Flags.RELIABLE if RULES[body.type].is_reliable else 0)
        flags |= (Flags.ACK_NOW if ack_now else 0) | (Flags.MORE_FRAGMENTS if more else 0)
        data = body.encoded()
        if compress is not None:
            data, header["compression"] = compress(data), ZLIB
        return self.put(body.type, data, session, flags=flags, **header)

    def hello(self, **changes):
        values = dict(
            spoken_version=(Version(1, 0),), features=int(FEATURES), limits=LIMITS, device=self.device,
            account=self.account, credential=self.token.encode(), agent="martlet-conformance")
        values.update(changes)
        self.asked = Hello(**values)
        self.send(self.asked)

    def welcomed(self):
        """Waits for welcome and applies it."""
        welcome = self.expect(Welcome)
        self.link_id, self.used_token = welcome.link, self.asked.resume and self.asked.resume.resume_token
        self.token_of_link, self.welcome = welcome.resume_token, welcome
        self.adopt(welcome.limits, Features(welcome.features))
        return welcome

    def again(self, cut=True, early=lambda peer: None, answer=Welcome, **changes):
        """The link on another connection, after a resume; `early` sends frames behind hello."""
        if cut:
            self.cut()
        peer = self.context.dial(self.index, self.label + "'")
        names = ("device", "counter", "sessions", "received", "used", "granted", "credit", "link_id", "correlation")
        for name in names:
            setattr(peer, name, getattr(self, name))
        positions = tuple(Position(n, flow.receiver.window.cumulative) for n, flow in self.sessions.items())
        resume = dict(link=self.link_id, resume_token=self.token_of_link, session_position=positions)
        resume.update({name: changes.pop(name) for name in list(changes) if name in resume})
        peer.hello(**{"resume": HelloResume(**resume), **changes})
        early(peer)
        if answer is not Welcome:
            return peer
        positions = peer.welcomed().resume
        self.context.require(positions is not None, "welcome with resume", "one without", "W-36")
        for position in positions.session_position:
            if position.session in peer.sessions:
                peer.sessions[position.session].acked = position.highest
        return peer

    def adopt(self, limits, features):
        self.limits, self.features = limits, features
        self.granted = max(self.granted, limits.link_window)
        self.credit = max(self.credit, limits.link_window)
        for number, flow in self.sessions.items():
            flow.window = min(limits.session_window, WINDOWS[flow.kind]) if number else flow.window
            flow.granted, flow.credit = max(flow.granted, flow.window), max(flow.credit, flow.window)

    def flow(self, session, kind=0):
        window = min(self.limits.session_window, WINDOWS[kind])
        self.sessions[session] = Flow(window, self.limits.max_message, kind)
        return self.sessions[session]

    def open(self, session=1, room=None, kind=0, cursor=0, wait=True, **more):
        """Opens a session on the room of the case."""
        self.flow(session, kind)
        self.send(Open(room=room or self.context.room, session_kind=kind, cursor=cursor, **more), session)
        return self.expect(Opened, session) if wait else None

    def post(self, value="a text", session=1, wait=True, **more):
        """Publishes a text, and returns its offset."""
        self.counter += 1
        self.send(message(self.counter, value, **more), session)
        return self.offset_of(self.counter, session) if wait else None

    def offset_of(self, counter, session=1):
        """The offset at which `accepted` names the counter."""
        while True:
            for run in self.expect(Accepted, session, clause="R-20").accepted_run:
                if run.counter <= counter < run.counter + run.count:
                    return run.offset and run.offset + counter - run.counter

    def ping(self, **more):
        nonce = random.getrandbits(64)
        self.send(Ping(nonce=nonce), **more)
        return self.wait(lambda e: isinstance(e.value, Pong) and e.value.nonce == nonce, f"pong {nonce}", "W-70").value

    def acknowledge(self, force=False):
        acks = []
        for number, flow in self.sessions.items():
            if force or not flow.is_reported:
                if self.grants:
                    flow.granted = max(flow.granted, flow.received + flow.window)
                acks.append(flow.receiver.window.ack(number, flow.granted))
                flow.is_reported = True
        if not acks:
            return
        if self.grants:
            self.granted = max(self.granted, self.received + self.limits.link_window)
        echo = self.stamp and Echo(self.stamp[0], int(1e6 * (time.monotonic() - self.stamp[1])))
        self.stamp = None
        self.send(Ack(link_credit=self.granted, session_ack=tuple(acks), echo=echo))

    def cut(self):
        """Ends the carrier without a frame."""
        try:
            self.carrier.close()
        except OSError:
            pass

    def leave(self):
        self.send(GoAway(code=0))
        self.cut()

    # Receiving.

    def pump(self, until):
        """Takes what arrives; returns false at the instant `until`, or at the end of the stream."""
        left = until - time.monotonic()
        if left <= 0 or self.ended:
            return False
        try:
            self.carrier.settimeout(left)
            data = self.carrier.recv(262_144)
        except TimeoutError:
            return False
        except OSError:
            data = b""
        if not data:
            self.ended = True
            self.context.note(f"{self.label} receives", "the end of the stream")
            return False
        self.bytes_in += len(data)
        if self.sender == SERVER and not self.is_welcomed:
            is_within = self.bytes_in <= 3 * self.bytes_out or data[6:8] == T_WELCOME
            self.context.require(is_within, "at most three times the bytes that were sent before welcome",
                                 f"{self.bytes_in} bytes", "W-37")
        self.receiver.framer.feed(data)
        try:
            while (found := self.receiver.next_bytes()) is not None:
                self.take(*found)
        except WireError as fault:
            self.context.note(f"{self.label} receives", f"an invalid frame: {fault}", data)
            raise Failed("a valid frame", f"a frame with the fault {fault}", "W-8") from None
        if self.acknowledges and self.is_welcomed and not self.ended:
            self.acknowledge()
        return True

    def take(self, header, body, _):
        if self.discards and header.type != FrameType.HELLO:
            return None
        if any(isinstance(event.value, GoAway) for event in self.inbox[-1:]):
            raise Failed("nothing behind goaway", shown(header), "C-40")
        if not header.is_reliable:
            value = body is not None and decode(header.type, body, self.sender) or None
            self.context.note(f"{self.label} receives", shown(header, value), rebuilt(header, body))
            return self.took(header, value)
        self.stamp = header.timestamp, time.monotonic()
        flow = self.sessions.get(header.session)
        if flow is None and header.type == FrameType.OPEN:
            flow = self.flow(header.session)
        if header.session in self.ended_sessions:
            return None
        if flow is None:
            raise Failed("frames of open sessions", shown(header), "S-15")
        before = flow.receiver.window.cumulative, set(flow.receiver.window.beyond)
        whole = flow.receiver.receive(header.type, header.sequence, body or b"", header.has_more)
        flow.is_reported = False
        is_new = before != (flow.receiver.window.cumulative, flow.receiver.window.beyond)
        if header.type in CREDITED and is_new:
            flow.received += len(body)
            self.received += len(body)
            if flow.received > flow.granted or self.received > self.granted:
                raise Failed(f"at most {min(flow.granted, self.granted)} bytes of credit",
                             f"{flow.received} bytes on session {header.session}", "W-52")
        if not whole:
            again = "" if is_new else ", again"
            self.context.note(f"{self.label} receives", shown(header) + again, rebuilt(header, body))
        for kind, data in whole if body is not None else ():
            value = decode(kind, data, self.sender)
            self.context.note(f"{self.label} receives", shown(header, value), rebuilt(header, data))
            self.took(header, value)

    def took(self, header, value):
        if isinstance(value, Welcome):
            self.is_welcomed = True
            self.receiver.establish(value.limits.max_body, value.features)
        elif isinstance(value, Ack):
            self.acks += 1
            self.credit = max(self.credit, value.link_credit)
            for ack in value.session_ack:
                self.acknowledged(ack)
        elif isinstance(value, Ping) and self.pongs:
            return self.send(Pong(nonce=value.nonce, echo=Echo(header.timestamp, 0)))
        elif isinstance(value, Data) and value.offset is not None:
            flow = self.sessions[header.session]
            self.context.require(value.offset > flow.offset, f"an offset above {flow.offset}", value.offset, "W-66")
            flow.offset = value.offset
        elif self.requests is not None and header.type == FrameType.REQUEST:
            return self.requests(header, value)
        self.inbox.append(Event(header, value))

    def acknowledged(self, ack):
        flow = self.sessions.get(ack.session)
        if flow is None:
            return
        highest = max([ack.cumulative, *(last for _, last in ack.ranges)])
        if highest > flow.sent:
            raise Failed(f"an acknowledgement of at most {flow.sent}", f"{highest} on session {ack.session}", "S-23")
        flow.acked, flow.ranges = max(flow.acked, ack.cumulative), ack.ranges
        flow.credit = max(flow.credit, ack.credit)

    # Expecting.

    def wait(self, fits, wanted, clause=None):
        """The first event that fits. A goaway or a reject that does not fit is a failure."""
        until = time.monotonic() + self.context.timeout
        while True:
            for event in self.inbox:
                if fits(event):
                    self.inbox.remove(event)
                    return event
                if isinstance(event.value, (GoAway, Reject)):
                    raise Failed(wanted, shown(event.header, event.value), clause)
            if not self.pump(until) and not any(map(fits, self.inbox)):
                came = ", ".join(shown(event.header, event.value) for event in self.inbox[-4:]) or "nothing"
                ended = "the end of the stream" if self.ended else f"nothing for {self.context.timeout} s"
                raise Failed(wanted, f"{came}, then {ended}" if self.inbox else ended, clause)

    def expect(self, kind, session=None, /, *, clause=None, **fields):
        """The next value of a type, with these fields; one that has other values is a failure."""
        of = kind.type.wire_name
        wanted = of + (f" on session {session}" if session else "") + (f" with {fields}" if fields else "")

        def fits(event):
            ends = isinstance(event.value, Reset) and event.value.session == session and kind is not Reset
            return ends or isinstance(event.value, kind) and session in (None, event.header.session)
        event = self.wait(fits, wanted, clause)
        wrong = {n: getattr(event.value, n, None) for n, v in fields.items() if getattr(event.value, n, None) != v}
        if wrong or not isinstance(event.value, kind):
            raise Failed(wanted, shown(event.header, event.value), clause)
        self.context.last = event
        return event.value

    def expect_end(self, code, kind=GoAway, clause=None):
        """Goaway with the code, then the end of the stream within a second (W-43)."""
        wanted = f"{kind.type.wire_name} {code.wire_name}"
        event = self.wait(lambda e: isinstance(e.value, (GoAway, Reject)), wanted, clause)
        right = isinstance(event.value, kind) and event.value.code == code
        self.context.require(right, wanted, shown(event.header, event.value), clause)
        until = time.monotonic() + max(1.5, self.context.timeout)
        self.inbox.append(event)  # Anything behind it is a violation.
        while self.pump(until):
            pass
        self.context.require(self.ended, "the end of the stream within a second of goaway", "an open stream", "W-43")
        return event.value

    def expect_reset(self, code, session=1, clause=None):
        wanted = f"reset of session {session} with {code.wire_name}"
        reset = self.wait(lambda e: isinstance(e.value, Reset) and e.value.session == session, wanted, clause).value
        self.context.require(reset.code == code, wanted, code_name(reset.code), clause)
        return reset

    def expect_ack(self, session, cumulative, ranges=(), clause=None):
        """Waits until exactly these sequences are acknowledged."""
        until = time.monotonic() + self.context.timeout
        flow = self.sessions[session]
        while (flow.acked, flow.ranges) != (cumulative, ranges):
            if any(isinstance(event.value, (GoAway, Reject)) for event in self.inbox) or not self.pump(until):
                if (flow.acked, flow.ranges) == (cumulative, ranges):
                    return
                last = self.inbox and shown(self.inbox[-1].header, self.inbox[-1].value)
                raise Failed(f"an ack of session {session}: {cumulative}, ranges {ranges}",
                             f"{flow.acked}, ranges {flow.ranges}; {last or ''}", clause)

    def expect_none(self, kind, session=None, seconds=0.15, clause=None, fits=lambda value: True):
        """Fails if such a frame has come or comes before the pong of a ping and for this duration after it."""
        self.ping()
        until = time.monotonic() + seconds
        while self.pump(until):
            pass
        for event in self.inbox:
            matches = isinstance(event.value, kind) and session in (None, event.header.session) and fits(event.value)
            self.context.require(not matches, f"no {kind.type.wire_name}", shown(event.header, event.value), clause)

    def texts(self, count, session=1):
        """The texts of the next messages."""
        return [text_of(self.expect(Data, session)) for _ in range(count)]

    def needs(self, feature):
        if not self.features & feature:
            raise Skipped(f"the feature {Features(feature).name.lower()} is not in effect")


def play(case, options, make=Context):
    """The outcome of one case. A case never hangs: each step has a deadline, and the case as a whole a watchdog."""
    context, began = make(options, case), time.monotonic()
    PLAYED.append(context)
    outcome = Outcome(case, PASSED, case.clauses[0])
    watchdog = threading.Timer(20 * options.timeout + WAITS, context.close)
    watchdog.daemon = True
    watchdog.start()
    try:
        case.play(context)
    except Failed as failure:
        outcome.status, outcome.clause = FAILED, failure.clause or case.clauses[0]
        outcome.expected, outcome.received = failure.expected, failure.received
    except Skipped as reason:
        outcome.status, outcome.received = SKIPPED, str(reason)
    except Inconclusive as reason:
        outcome.status, outcome.received = INCONCLUSIVE, str(reason)
    except Exception:  # A fault of the kit or of the environment says nothing about the judged program.
        outcome.status, outcome.received = INCONCLUSIVE, traceback.format_exc()
    finally:
        watchdog.cancel()
        context.close()
        PLAYED.remove(context)
    outcome.seconds, outcome.trace = time.monotonic() - began, context.trace
    return outcome
