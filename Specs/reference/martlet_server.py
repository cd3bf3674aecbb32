"""The server's side of a new link: the frames that it refuses (Specs/session.md 12).

It sends no frames and opens every room at once. All frames arrive at the same instant, so rates are not replenished
and no credit is granted.
"""

from martlet_basics import Scope, WireError
from martlet_link import CREDITED, SessionReceiver
from martlet_registry import CLIENT, ErrorCode, FrameType
from martlet_wire import decode

BURST_OF_OPENS = 256
BURST_OF_PINGS = 100
UNKNOWN_IN_A_MINUTE = 32
CONTROL_WINDOW = 64 * 1024
MAX_SESSIONS = 255
# By kind (wire.md 8).
WINDOWS = (256 * 1024, 512 * 1024, 64 * 1024, 1024 * 1024)


class Credit:
    """The expected and the received sequences (session.md 6)."""

    def __init__(self, limit):
        self.limit, self.received = limit, 0

    def charge(self, count):
        if self.received + count > self.limit:
            raise WireError(ErrorCode.CREDIT_EXCEEDED)
        self.received += count


class Session:
    def __init__(self, window, max_message):
        self.receiver = SessionReceiver(max_message)
        self.credit = Credit(window)
        self.closed_at = None  # The sequence of the peer's close.


class Server:
    """`sent` contains the reliable frames that this endpoint has sent, by session."""

    def __init__(self, limits, sent):
        self.limits, self.sent = limits, sent
        self.sessions = {0: Session(CONTROL_WINDOW, limits["maxMessage"])}
        self.ended = set()
        self.credit = Credit(limits["linkWindow"])
        self.opens = self.pings = self.unknown = 0
        self.resets = []

    def take(self, header, body):
        """Processes a frame with a valid header, checksum and compression."""
        if body is None:
            self.unknown += 1
            refuse(self.unknown > UNKNOWN_IN_A_MINUTE, ErrorCode.UNKNOWN_FLOOD)
        if header.is_reliable:
            self.take_reliable(header, body or b"")
        elif body is not None:
            self.take_control(header.type, decode(header.type, body, CLIENT))

    def take_control(self, kind, value):
        if kind == FrameType.PING:
            self.pings += 1
            refuse(self.pings > BURST_OF_PINGS, ErrorCode.CONTROL_FLOOD)
        elif kind == FrameType.ACK:
            known = [ack for ack in value.session_ack if ack.session in self.sessions]
            refuse(len({ack.session for ack in known}) < len(known), ErrorCode.PROTOCOL_VIOLATION)
            for ack in known:
                highest = max([ack.cumulative, *(last for _, last in ack.ranges)])
                refuse(highest > self.sent.get(ack.session, 0), ErrorCode.ACK_UNSENT)

    def take_reliable(self, header, body):
        number = header.session
        if number in self.ended:
            return
        session = self.sessions.get(number) or self.begin(header, body)
        if session is None:
            return
        window = session.receiver.window
        before = window.cumulative, set(window.beyond)
        whole = session.receiver.receive(header.type, header.sequence, body, header.has_more)
        if header.type in CREDITED and before != (window.cumulative, window.beyond):
            session.credit.charge(len(body))
            self.credit.charge(len(body))
        # An earlier close permits no further frames; the frames are in order here.
        refuse(session.closed_at is not None and window.cumulative > session.closed_at, ErrorCode.PROTOCOL_VIOLATION)
        for kind, data in whole:
            self.act(session, number, kind, window.cumulative, data)

    def begin(self, header, body):
        """The session of an `open`; None if the session is refused (S-3, S-4, S-15)."""
        self.opens += 1
        refuse(self.opens > BURST_OF_OPENS, ErrorCode.CHURN_LIMIT)
        if header.type != FrameType.OPEN:
            return self.reset(header.session, ErrorCode.UNKNOWN_SESSION)
        refuse(header.sequence != 1, ErrorCode.PROTOCOL_VIOLATION)
        value = decode(header.type, body, CLIENT)
        if len(self.sessions) > min(self.limits["maxSessions"], MAX_SESSIONS):
            return self.reset(header.session, ErrorCode.TOO_MANY_SESSIONS)
        window = min(self.limits["sessionWindow"], WINDOWS[value.session_kind])
        self.sessions[header.session] = Session(window, self.limits["maxMessage"])
        return self.sessions[header.session]

    def reset(self, number, code):
        self.resets.append({"session": number, "code": code.wire_name})
        self.ended.add(number)

    def act(self, session, number, kind, sequence, body):
        if kind == FrameType.OPEN:
            refuse(sequence != 1, ErrorCode.PROTOCOL_VIOLATION)
        elif kind == FrameType.OPENED:
            raise WireError(ErrorCode.PROTOCOL_VIOLATION)
        elif kind == FrameType.CLOSE:
            session.closed_at = sequence
        elif kind == FrameType.RESET:
            self.take_reset(decode(kind, body, CLIENT))
        elif kind in (FrameType.SUSPEND, FrameType.RESUME, FrameType.DATA, FrameType.REQUEST):
            self.check(number, kind, body)

    def check(self, number, kind, body):
        """Refuses a message or a request with an invalid field. If it cannot be identified, its session is reset."""
        try:
            decode(kind, body, CLIENT)
        except WireError as error:
            if error.scope == Scope.CONNECTION:
                raise
            if error.scope == Scope.SESSION:
                del self.sessions[number]
                self.reset(number, error.code)

    def take_reset(self, value):
        """Checks S-11."""
        session = self.sessions.pop(value.session, None)
        self.ended.add(value.session)
        if session is not None and value.credit_used is not None:
            refuse(value.credit_used < session.credit.received, ErrorCode.PROTOCOL_VIOLATION)
            self.credit.charge(value.credit_used - session.credit.received)


def refuse(condition, code):
    """Ends the connection."""
    if condition:
        raise WireError(code)
