"""Every frame's body (Specs/wire.md 13.1): its fields in the order of the table, and the rules between them."""

from dataclasses import dataclass

from martlet_body import Body, Faults, many, maybe, one
from martlet_registry import CLIENT, SERVER, ErrorCode, FrameType, Scope, WireError
from martlet_tlv import (
    ACCOUNT, ECHO, POSITION, RUN, SESSION_ACK, SWITCH, U16, U32, U64, U64_FROM_1, VERSION,
    MAX_CLIENT_DATA_TLVS, MAX_CONTENT_TLVS, InvalidValue, children, count, data, integer, name, text,
)

TEXT_KIND = 0x1001
TEXT_TAG = 0x0201
DELIVERED, READ, REFUSED = 1, 2, 3
BYTES = data()
NOT_ZERO_U16 = integer(2, least=1)
REASON = text(0, 256)


def check_content(kind, content, faults):
    """W-27 and W-63. Whatever else a content holds is the application's affair."""
    if content is None:
        return
    faults.refuse(len(content) > 6 * MAX_CONTENT_TLVS and count(content) > MAX_CONTENT_TLVS, ErrorCode.TOO_MANY_TLVS)
    if kind != TEXT_KIND:
        return
    found = [value for tag, value in children(content) if tag == TEXT_TAG]
    faults.refuse(not found, ErrorCode.MISSING_FIELD)
    faults.refuse(len(found) > 1, ErrorCode.DUPLICATE_FIELD)
    for value in found:
        try:
            text(1).read(value)
        except InvalidValue:
            faults.append(ErrorCode.INVALID_VALUE)


@dataclass(frozen=True, kw_only=True)
class Data(Body):
    type = FrameType.DATA
    named_by = (0x0040, U64_FROM_1)
    offset: int = maybe(0x0048, U64_FROM_1)
    accepted_at: int = maybe(0x0049, U64)
    device: int = maybe(0x0011, U64)
    sender: str = maybe(0x004A, ACCOUNT)
    counter: int = one(0x0040, U64_FROM_1)
    kind: int = one(0x0041, U16)
    content: bytes = one(0x0142, BYTES)
    time_to_live: int = maybe(0x0043, U32)

    def check(self, sender, faults):
        relayed = [self.offset, self.accepted_at, self.device, self.sender]
        present = sum(value is not None for value in relayed)
        faults.refuse(present != (4 if sender == SERVER else 0))
        check_content(self.kind, self.content, faults)


@dataclass(frozen=True, kw_only=True)
class Transient(Body):
    type = FrameType.TRANSIENT
    typing: int = maybe(0x0081, SWITCH)
    presence: int = maybe(0x0080, integer(1, most=2))
    kind: int = maybe(0x0041, U16)
    content: bytes = maybe(0x0142, BYTES)
    sender: str = maybe(0x004A, ACCOUNT)

    def check(self, sender, faults):
        content = self.kind is not None or self.content is not None
        said = (self.typing is not None) + (self.presence is not None) + content
        faults.refuse(said == 0, ErrorCode.MISSING_FIELD)
        faults.refuse(said > 1)
        faults.refuse(content and (self.kind is None or self.content is None), ErrorCode.MISSING_FIELD)
        check_content(self.kind, self.content, faults)


@dataclass(frozen=True, kw_only=True)
class Ack(Body):
    type = FrameType.ACK
    link_credit: int = one(0x0031, U64)
    session_ack: tuple = many(0x0032, SESSION_ACK, 256)
    echo: tuple = maybe(0x0030, ECHO)


@dataclass(frozen=True, kw_only=True)
class Receipt(Body):
    type = FrameType.RECEIPT
    receipt_kind: int = one(0x0061, integer(1, least=1, most=3))
    up_to: int = maybe(0x0062, U64)
    sender: str = maybe(0x004A, ACCOUNT)
    device: int = maybe(0x0011, U64)
    counter: int = maybe(0x0040, U64_FROM_1)
    code: int = maybe(0x0001, U16)
    reason: str = maybe(0x0002, REASON)

    def check(self, sender, faults):
        if self.receipt_kind == REFUSED:
            faults.refuse(self.counter is None or self.code is None, ErrorCode.MISSING_FIELD)
            others = ("up_to", "sender", "device")
        else:
            faults.refuse(self.up_to is None, ErrorCode.MISSING_FIELD)
            others = ("counter", "code", "reason")
        for name in others:
            object.__setattr__(self, name, None)


@dataclass(frozen=True, kw_only=True)
class Accepted(Body):
    type = FrameType.ACCEPTED
    accepted_run: tuple = many(0x0060, RUN, 256, least=1)


@dataclass(frozen=True, kw_only=True)
class Gap(Body):
    type = FrameType.GAP
    first: int = one(0x0054, U64_FROM_1)
    up_to: int = one(0x0062, U64_FROM_1)

    def check(self, sender, faults):
        faults.refuse(self.first > self.up_to)


@dataclass(frozen=True, kw_only=True)
class Ping(Body):
    type = FrameType.PING
    nonce: int = one(0x0033, U64)


@dataclass(frozen=True, kw_only=True)
class Pong(Body):
    type = FrameType.PONG
    nonce: int = one(0x0033, U64)
    echo: tuple = one(0x0030, ECHO)


@dataclass(frozen=True, kw_only=True)
class Limits(Body):
    max_body: int = one(0x0020, integer(4, least=17_408))
    max_message: int = one(0x0021, integer(4, least=16_384))
    link_window: int = one(0x0022, integer(4, least=17_408))
    session_window: int = one(0x0023, integer(4, least=17_408))
    max_sessions: int = one(0x0024, NOT_ZERO_U16)


class WithPositions(Body):
    def check(self, sender, faults):
        sessions = [position.session for position in self.session_position]
        faults.refuse(len(set(sessions)) != len(sessions), ErrorCode.DUPLICATE_FIELD)


@dataclass(frozen=True, kw_only=True)
class HelloResume(WithPositions):
    link: int = one(0x0015, U64)
    resume_token: bytes = one(0x0016, data(32, 32))
    session_position: tuple = many(0x0017, POSITION, 256)


@dataclass(frozen=True, kw_only=True)
class WelcomeResume(WithPositions):
    session_position: tuple = many(0x0017, POSITION, 256)


@dataclass(frozen=True, kw_only=True)
class Hello(Body):
    type = FrameType.HELLO
    spoken_version: tuple = many(0x0005, VERSION, 16, least=1)
    features: int = one(0x0010, U64)
    limits: Limits = one(0x0101, Limits)
    device: int = one(0x0011, U64)
    account: str = one(0x0012, ACCOUNT)
    credential: bytes = maybe(0x0013, data(0, 4096))
    agent: str = maybe(0x0014, text(0, 128))
    resume: HelloResume = maybe(0x0102, HelloResume)


@dataclass(frozen=True, kw_only=True)
class Welcome(Body):
    type = FrameType.WELCOME
    spoken_version: tuple = one(0x0005, VERSION)
    features: int = one(0x0010, U64)
    limits: Limits = one(0x0101, Limits)
    account: str = one(0x0012, ACCOUNT)
    link: int = one(0x0015, U64)
    resume_token: bytes = one(0x0016, data(32, 32))
    epoch: int = one(0x0018, U32)
    resume_lifetime: int = one(0x0019, U32)
    heartbeat_interval: int = maybe(0x001A, U32)
    resume: WelcomeResume = maybe(0x0102, WelcomeResume)


@dataclass(frozen=True, kw_only=True)
class Refusal(Body):
    code: int = one(0x0001, U16)
    reason: str = maybe(0x0002, REASON)
    retry_after: int = maybe(0x0003, U32)
    redirect: str = maybe(0x0004, text(1, 512))
    spoken_version: tuple = many(0x0005, VERSION, 16)


class Reject(Refusal):
    type = FrameType.REJECT


class GoAway(Refusal):
    type = FrameType.GOAWAY


@dataclass(frozen=True, kw_only=True)
class Open(Body):
    type = FrameType.OPEN
    room: str = one(0x0050, name(128))
    session_kind: int = one(0x0051, integer(1, most=3))
    cursor: int = one(0x0052, U64)
    log: int = maybe(0x0059, U64)
    tail: int = maybe(0x0056, U32)
    no_local: int = maybe(0x0058, SWITCH)

    def check(self, sender, faults):
        if self.no_local == 0:
            object.__setattr__(self, "no_local", None)


@dataclass(frozen=True, kw_only=True)
class Opened(Body):
    type = FrameType.OPENED
    head: int = one(0x0053, U64)
    first: int = one(0x0054, U64)
    log: int = maybe(0x0059, U64)
    member: tuple = many(0x0055, ACCOUNT, 256)


@dataclass(frozen=True, kw_only=True)
class Close(Body):
    type = FrameType.CLOSE
    code: int = maybe(0x0001, U16)
    reason: str = maybe(0x0002, REASON)


@dataclass(frozen=True, kw_only=True)
class Reset(Body):
    type = FrameType.RESET
    session: int = one(0x0057, NOT_ZERO_U16)
    code: int = one(0x0001, U16)
    reason: str = maybe(0x0002, REASON)
    credit_used: int = maybe(0x0034, U64)


@dataclass(frozen=True, kw_only=True)
class Suspend(Body):
    type = FrameType.SUSPEND


@dataclass(frozen=True, kw_only=True)
class Resume(Body):
    type = FrameType.RESUME
    cursor: int = maybe(0x0052, U64)


@dataclass(frozen=True, kw_only=True)
class Request(Body):
    type = FrameType.REQUEST
    named_by = (0x0070, U64)
    correlation: int = one(0x0070, U64)
    method: str = one(0x0071, name(64))
    deadline: int = one(0x0072, U32)
    recipient: str = maybe(0x0073, ACCOUNT)
    sender: str = maybe(0x004A, ACCOUNT)
    content: bytes = maybe(0x0142, BYTES)

    def check(self, sender, faults):
        check_content(None, self.content, faults)


@dataclass(frozen=True, kw_only=True)
class Response(Body):
    type = FrameType.RESPONSE
    correlation: int = one(0x0070, U64)
    status: int = one(0x0074, U16)
    reason: str = maybe(0x0002, REASON)
    content: bytes = maybe(0x0142, BYTES)

    def check(self, sender, faults):
        check_content(None, self.content, faults)


@dataclass(frozen=True, kw_only=True)
class Cancel(Body):
    type = FrameType.CANCEL
    correlation: int = one(0x0070, U64)


BODIES = {
    body.type: body
    for body in (
        Data, Transient, Ack, Receipt, Accepted, Gap, Ping, Pong, Hello, Welcome, Reject, GoAway, Open, Opened, Close,
        Reset, Suspend, Resume, Request, Response, Cancel,
    )
}


def read_body(frame_type, body, tlvs, sender=CLIENT):
    """The value of a body with these outermost TLVs, whose structure `walk` has passed."""
    cls = BODIES[frame_type]
    faults = Faults()
    found = cls.read(tlvs, sender, faults)
    if cls is Data:
        relayed = any(tag in (0x0048, 0x0049, 0x0011, 0x004A) for tag, _ in tlvs)
        most = MAX_CLIENT_DATA_TLVS
        faults.refuse(not relayed and len(body) > 6 * most and count(body) > most, ErrorCode.TOO_MANY_TLVS)
    if not faults:
        return found
    if cls is Hello:
        faults = [ErrorCode.INVALID_HELLO if is_of_a_field(code) else code for code in faults]
    scopes = {code: scope_of(cls, code, tlvs, sender) for code in faults}
    raise WireError(faults[0], scopes[faults[0]], also=scopes)


def is_of_a_field(code):
    return code >= ErrorCode.INVALID_VALUE


def scope_of(cls, code, tlvs, sender):
    """W-72. Who cannot be told which message or request it is has more to lose (relay.md R-24, session.md S-58). What
    a relay has accepted a client takes for a gap (R-32)."""
    if not is_of_a_field(code) or cls.named_by is None:
        return Scope.CONNECTION
    if cls is Data and sender == SERVER:
        return Scope.MESSAGE
    tag, kind = cls.named_by
    value = next((value for found, value in tlvs if found == tag), b"")
    try:
        kind.read(value)
    except InvalidValue:
        return Scope.SESSION if cls is Data else Scope.CONNECTION
    return Scope.MESSAGE if cls is Data else Scope.REQUEST
