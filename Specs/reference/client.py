"""A client that was written from Specs alone. It waits for expected frames and has no timers."""

import random
import socket
import time

from martlet_bodies import Accepted, Ack, GoAway, Hello, HelloResume, Limits, Ping, Pong, Reject, Reset, Welcome
from martlet_frames import Data, Open
from martlet_link import CREDITED, SessionReceiver
from martlet_registry import SERVER, ContentKind, Features, Tag
from martlet_tlv import Echo, Position, Version, tlv
from martlet_wire import Receiver, decode, encode, encode_bytes

TIMEOUT, FRAGMENT, EARLY, HIGH, CHAT_WINDOW, TEXT = 10, 16 * 1024, 8 * 1024, 1, 256 * 1024, ContentKind.TEXT
MINE = Limits(max_body=65_536, max_message=1 << 20, link_window=1 << 20, session_window=CHAT_WINDOW, max_sessions=255)
LEAST = Limits(max_body=17_408, max_message=16_384, link_window=17_408, session_window=17_408, max_sessions=1)


class Unexpected(Exception):
    """The relay violated the specification."""


class Session:
    """One session of a link: its unacknowledged frames, and the received ones."""

    def __init__(self):
        self.sent, self.credit_received = 0, 0
        self.unacknowledged = {}  # By sequence: what it takes to send the frame again.
        self.receiver = SessionReceiver(MINE.max_message)
        self.is_told = True  # Whether everything received has been acknowledged.


class Client:
    """A device: its link, over several connections in sequence. Counters and the outbox outlive the link."""
    version, offered = Version(1, 0), Features.ZLIB | Features.REQUESTS | Features.RECEIPTS

    def __init__(self, port, account, credential):
        self.port, self.account, self.proof = port, account, {"credential": credential.encode()}
        self.device = random.getrandbits(64)
        self.counter, self.outbox = 0, {}  # In the outbox are the messages that are not accepted, by counter.
        self.forget()

    def forget(self):
        """Discards the state of the link."""
        self.link = self.token = None
        self.limits, self.features = LEAST, Features(0)
        self.began = time.monotonic()
        self.sessions = {0: Session()}
        self.credit_received = 0
        self.stamp = None  # The newest timestamp received, and when.
        self.events = []  # (session, value) of whatever came and nobody has asked for.

    def connect(self, early=(), answer=Welcome):
        """Sends hello, for the link or for a new one, then the unacknowledged frames and those that `early` queues."""
        self.socket = socket.create_connection(("127.0.0.1", self.port), TIMEOUT)
        self.receiver = Receiver(SERVER)
        return self.greet(early, answer)

    def greet(self, early=(), answer=Welcome):
        positions = tuple(Position(number, s.receiver.window.cumulative) for number, s in self.sessions.items())
        resume = None if self.link is None else HelloResume(
            link=self.link, resume_token=self.token, session_position=positions)
        self.socket.sendall(encode(Hello(
            spoken_version=(self.version,), features=self.offered, limits=MINE, device=self.device,
            account=self.account, **self.proof, agent="client.py", resume=resume)))
        self.is_early, self.gone = 0, set()
        self.transmit()
        for act in early:
            act()
        welcome = self.wait_for(answer, 0)
        if answer is not Welcome:
            return welcome
        if (welcome.resume is None) != (resume is None) or welcome.spoken_version != self.version:
            raise Unexpected(f"welcome {welcome}")
        self.is_early = None
        self.link, self.token = welcome.link, welcome.resume_token
        self.limits, self.features = welcome.limits, Features(welcome.features)
        for position in welcome.resume.session_position if welcome.resume else ():
            self.acknowledged(position.session, position.highest)
        self.transmit()
        for session in self.sessions.values():
            session.is_told = False
        self.acknowledge()
        return welcome

    def leave(self):
        self.say(GoAway(code=0))
        if self.socket.recv(1):
            raise Unexpected("something came behind goaway")
        self.socket.close()

    def now(self):
        return int(1000 * (time.monotonic() - self.began))

    def say(self, body, **more):
        """Sends an unreliable frame."""
        self.socket.sendall(encode(body, timestamp=self.now(), **more))

    def send(self, number, body, compress=False):
        """Queues a reliable frame, in fragments if it is long, and sends queued frames."""
        session, data = self.sessions[number], body.encoded()
        for at in range(0, len(data) or 1, FRAGMENT):
            session.sent += 1
            part, more = data[at : at + FRAGMENT], at + FRAGMENT < len(data)
            session.unacknowledged[session.sent] = (body.type, part, more, compress)
        self.transmit()

    def transmit(self):
        """Sends unacknowledged frames that were not sent on this connection, before welcome at most 8 KiB."""
        for number, session in self.sessions.items():
            for sequence, (kind, part, more, compress) in session.unacknowledged.items():
                if (number, sequence) in self.gone:
                    continue
                data = encode_bytes(
                    kind, part, number, sequence, self.now(), HIGH if number else 0, compress=compress, more=more)
                if self.is_early is not None:
                    if self.is_early + len(data) > EARLY:
                        return
                    self.is_early += len(data)
                self.gone.add((number, sequence))
                self.socket.sendall(data)

    def post(self, number, text, compress=False):
        self.counter += 1
        self.outbox[self.counter] = Data(counter=self.counter, kind=TEXT, content=tlv(Tag.TEXT, text.encode()))
        self.send(number, self.outbox[self.counter], compress)

    def open(self, number, room, cursor=0, **more):
        self.sessions[number] = Session()
        self.send(number, Open(room=room, session_kind=0, cursor=cursor, **more))

    def acknowledge(self):
        """Sends an acknowledgement that grants the credit of all received bytes again (W-48)."""
        acks = []
        for number, session in self.sessions.items():
            if not session.is_told:
                window = min(self.limits.session_window, CHAT_WINDOW) if number else 65_536
                acks.append(session.receiver.window.ack(number, session.credit_received + window))
                session.is_told = True
        if acks:
            echo = self.stamp and Echo(self.stamp[0], int(1e6 * (time.monotonic() - self.stamp[1])))
            self.say(Ack(
                link_credit=self.credit_received + self.limits.link_window, session_ack=tuple(acks), echo=echo))
            self.stamp = None

    def wait_for(self, kind, number, count=1):
        """Waits for the next values of a type on a session, in order. Returns the value itself if there is one."""
        end = time.monotonic() + TIMEOUT
        while True:
            found = [event for event in self.events if event[0] == number and isinstance(event[1], kind)][:count]
            if len(found) == count:
                for event in found:
                    self.events.remove(event)
                return found[0][1] if count == 1 else [value for _, value in found]
            refusal = next((value for _, value in self.events if isinstance(value, (Reject, GoAway, Reset))), None)
            if refusal is not None and kind not in (Reject, GoAway, Reset):
                raise Unexpected(f"expected {kind.__name__}, received {refusal}")
            self.socket.settimeout(max(end - time.monotonic(), 0.001))
            data = self.socket.recv(65_536)
            if not data:
                raise Unexpected(f"the relay hung up, {kind.__name__} was awaited")
            self.receiver.framer.feed(data)
            while (frame := self.receiver.next_bytes()) is not None:
                self.take(*frame)
            self.acknowledge()

    def take(self, header, body, _):
        if body is None:
            return
        if not header.is_reliable:
            return self.took(header, decode(header.type, body, SERVER))
        self.stamp = (header.timestamp, time.monotonic())
        session = self.sessions.get(header.session)
        if session is None:
            raise Unexpected(f"a frame of session {header.session}, which is not open")
        before = session.receiver.window.cumulative
        whole = session.receiver.receive(header.type, header.sequence, body, header.has_more)
        session.is_told = False
        if header.type in CREDITED and session.receiver.window.cumulative != before:
            session.credit_received += len(body)
            self.credit_received += len(body)
        for kind, data in whole:
            self.took(header, decode(kind, data, SERVER))

    def took(self, header, value):
        if isinstance(value, Welcome):
            self.receiver.establish(value.limits.max_body, value.features)
        elif isinstance(value, Ack):
            for ack in value.session_ack:
                self.acknowledged(ack.session, ack.cumulative, ack.ranges)
        elif isinstance(value, Ping):
            self.say(Pong(nonce=value.nonce, echo=Echo(header.timestamp, 0)))
        elif isinstance(value, Accepted):
            for run in value.accepted_run:
                for counter in range(run.counter, run.counter + run.count):
                    self.outbox.pop(counter, None)
        self.events.append((header.session, value))

    def acknowledged(self, number, cumulative, ranges=()):
        session = self.sessions.get(number)
        if session is None:
            return
        if max([cumulative, *(last for _, last in ranges)]) > session.sent:
            raise Unexpected(f"an acknowledgement of what was never sent on session {number}")
        for sequence in list(session.unacknowledged):
            if sequence <= cumulative or any(first <= sequence <= last for first, last in ranges):
                del session.unacknowledged[sequence]

    def until_accepted(self, number):
        while self.outbox:
            self.wait_for(Accepted, number)
