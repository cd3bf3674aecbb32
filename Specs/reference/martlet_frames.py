"""The bodies of all frames (Specs/wire.md 13.1): their fields in the order of the table, and the rules between them."""

from dataclasses import dataclass

from martlet_basics import Scope, WireError
from martlet_body import Body, Faults, many, maybe, one
from martlet_registry import CLIENT, SERVER, ContentKind, ErrorCode, FrameType, Tag
from martlet_tlv import (
    ACCOUNT, ECHO, POSITION, RUN, SESSION_ACK, SWITCH, U16, U32, U64, U64_FROM_1, VERSION,
    MAX_CLIENT_DATA_TLVS, MAX_CONTENT_TLVS, InvalidValue, children, count, data, integer, name, text,
)

REFUSED = 3
BYTES = data()
# The fields of a `data` that the relay adds.
OF_RELAY = (Tag.OFFSET, Tag.ACCEPTED_AT, Tag.DEVICE, Tag.SENDER)
NOT_ZERO_U16 = integer(2, least=1)
REASON = text(0, 256)
CREDENTIAL = data(0, 4096)


def check_content(kind, content, faults):
    """Checks W-63. All other contents belong to the application."""
    if content is None or kind != ContentKind.TEXT:
        return
    found = [value for tag, value in children(content) if tag == Tag.TEXT]
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
    named_by = (Tag.COUNTER, U64_FROM_1)
    offset: int = maybe(U64_FROM_1)
    accepted_at: int = maybe(U64)
    device: int = maybe(U64)
    sender: str = maybe(ACCOUNT)
    counter: int = one(U64_FROM_1)
    kind: int = one(U16)
    content: bytes = one(BYTES)
    time_to_live: int = maybe(U32)

    def check(self, sender, faults):
        relayed = [self.offset, self.accepted_at, self.device, self.sender]
        present = sum(value is not None for value in relayed)
        faults.refuse(present != (4 if sender == SERVER else 0))
        check_content(self.kind, self.content, faults)


@dataclass(frozen=True, kw_only=True)
class Transient(Body):
    type = FrameType.TRANSIENT
    typing: int = maybe(SWITCH)
    presence: int = maybe(integer(1, most=2))
    kind: int = maybe(U16)
    content: bytes = maybe(BYTES)
    sender: str = maybe(ACCOUNT)

    def check(self, sender, faults):
        content = self.kind is not None or self.content is not None
        count = (self.typing is not None) + (self.presence is not None) + content
        faults.refuse(count == 0, ErrorCode.MISSING_FIELD)
        faults.refuse(count > 1)
        faults.refuse(content and (self.kind is None or self.content is None), ErrorCode.MISSING_FIELD)
        check_content(self.kind, self.content, faults)


@dataclass(frozen=True, kw_only=True)
class Ack(Body):
    type = FrameType.ACK
    link_credit: int = one(U64)
    session_ack: tuple = many(SESSION_ACK, 256)
    echo: tuple = maybe(ECHO)


@dataclass(frozen=True, kw_only=True)
class Receipt(Body):
    type = FrameType.RECEIPT
    receipt_kind: int = one(integer(1, least=1, most=3))
    up_to: int = maybe(U64)
    sender: str = maybe(ACCOUNT)
    device: int = maybe(U64)
    counter: int = maybe(U64_FROM_1)
    code: int = maybe(U16)
    reason: str = maybe(REASON)

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
    accepted_run: tuple = many(RUN, 256, least=1)


@dataclass(frozen=True, kw_only=True)
class Gap(Body):
    type = FrameType.GAP
    first: int = one(U64_FROM_1)
    up_to: int = one(U64_FROM_1)

    def check(self, sender, faults):
        faults.refuse(self.first > self.up_to)


@dataclass(frozen=True, kw_only=True)
class Ping(Body):
    type = FrameType.PING
    nonce: int = one(U64)


@dataclass(frozen=True, kw_only=True)
class Pong(Body):
    type = FrameType.PONG
    nonce: int = one(U64)
    echo: tuple = one(ECHO)
    reconnect_spread: int = maybe(U32)


@dataclass(frozen=True, kw_only=True)
class Limits(Body):
    max_body: int = one(integer(4, least=17_408))
    max_message: int = one(integer(4, least=16_384))
    link_window: int = one(integer(4, least=17_408))
    session_window: int = one(integer(4, least=17_408))
    max_sessions: int = one(NOT_ZERO_U16)


class WithPositions(Body):
    def check(self, sender, faults):
        sessions = [position.session for position in self.session_position]
        faults.refuse(len(set(sessions)) != len(sessions), ErrorCode.DUPLICATE_FIELD)


@dataclass(frozen=True, kw_only=True)
class HelloResume(WithPositions):
    link: int = one(U64)
    resume_token: bytes = one(data(32, 32))
    session_position: tuple = many(POSITION, 256)


@dataclass(frozen=True, kw_only=True)
class WelcomeResume(WithPositions):
    session_position: tuple = many(POSITION, 256)


@dataclass(frozen=True, kw_only=True)
class Hello(Body):
    type = FrameType.HELLO
    spoken_version: tuple = many(VERSION, 16, least=1)
    features: int = one(U64)
    limits: Limits = one(Limits)
    device: int = one(U64)
    account: str = one(ACCOUNT)
    mechanism: str = maybe(name(32))
    credential: bytes = maybe(CREDENTIAL)
    agent: str = maybe(text(0, 128))
    resume: HelloResume = maybe(HelloResume)


@dataclass(frozen=True, kw_only=True)
class Welcome(Body):
    type = FrameType.WELCOME
    spoken_version: tuple = one(VERSION)
    features: int = one(U64)
    limits: Limits = one(Limits)
    account: str = one(ACCOUNT)
    link: int = one(U64)
    resume_token: bytes = one(data(32, 32))
    epoch: int = one(U32)
    resume_lifetime: int = one(U32)
    heartbeat_interval: int = maybe(U32)
    reconnect_spread: int = maybe(U32)
    credential: bytes = maybe(CREDENTIAL)
    credential_lifetime: int = maybe(U32)
    resume: WelcomeResume = maybe(WelcomeResume)


@dataclass(frozen=True, kw_only=True)
class Refusal(Body):
    code: int = one(U16)
    reason: str = maybe(REASON)
    retry_after: int = maybe(U32)
    redirect: str = maybe(text(1, 512))
    spoken_version: tuple = many(VERSION, 16)


class Reject(Refusal):
    type = FrameType.REJECT


class GoAway(Refusal):
    type = FrameType.GOAWAY


@dataclass(frozen=True, kw_only=True)
class Auth(Body):
    type = FrameType.AUTH
    credential: bytes = maybe(CREDENTIAL)
    credential_lifetime: int = maybe(U32)


@dataclass(frozen=True, kw_only=True)
class Open(Body):
    type = FrameType.OPEN
    room: str = one(name(128))
    session_kind: int = one(integer(1, most=5))
    cursor: int = one(U64)
    log: int = maybe(U64)
    tail: int = maybe(U32)
    no_local: int = maybe(SWITCH)

    def check(self, sender, faults):
        if self.no_local == 0:
            object.__setattr__(self, "no_local", None)


@dataclass(frozen=True, kw_only=True)
class Opened(Body):
    type = FrameType.OPENED
    head: int = one(U64)
    first: int = one(U64)
    log: int = maybe(U64)
    up_to: int = maybe(U64)
    counter: int = maybe(U64_FROM_1)
    member: tuple = many(ACCOUNT, 256)


@dataclass(frozen=True, kw_only=True)
class Close(Body):
    type = FrameType.CLOSE
    code: int = maybe(U16)
    reason: str = maybe(REASON)


@dataclass(frozen=True, kw_only=True)
class Reset(Body):
    type = FrameType.RESET
    session: int = one(NOT_ZERO_U16)
    code: int = one(U16)
    reason: str = maybe(REASON)
    retry_after: int = maybe(U32)
    credit_used: int = maybe(U64)


@dataclass(frozen=True, kw_only=True)
class Suspend(Body):
    type = FrameType.SUSPEND


@dataclass(frozen=True, kw_only=True)
class Resume(Body):
    type = FrameType.RESUME
    cursor: int = maybe(U64)


@dataclass(frozen=True, kw_only=True)
class Update(Body):
    type = FrameType.UPDATE
    room: str = maybe(name(128))
    membership: int = maybe(integer(1, most=2))
    inviter: str = maybe(ACCOUNT)
    changed_at: int = maybe(U64)
    log: int = maybe(U64)
    head: int = maybe(U64)
    first: int = maybe(U64)
    message: bytes = maybe(BYTES)
    shortened: int = maybe(SWITCH)
    delivered_up_to: int = maybe(U64)
    read_up_to: int = maybe(U64)
    unread: int = maybe(U32)

    def check(self, sender, faults):
        others = [
            self.membership, self.inviter, self.changed_at, self.log, self.head, self.first, self.message,
            self.shortened, self.delivered_up_to, self.read_up_to, self.unread,
        ]
        if self.room is None:
            faults.refuse(any(value is not None for value in others), ErrorCode.MISSING_FIELD)
        else:
            required = (self.membership, self.head, self.first)
            faults.refuse(any(value is None for value in required), ErrorCode.MISSING_FIELD)
        for name in ("shortened", "delivered_up_to", "read_up_to", "unread"):
            if getattr(self, name) == 0:
                object.__setattr__(self, name, None)


@dataclass(frozen=True, kw_only=True)
class Request(Body):
    type = FrameType.REQUEST
    named_by = (Tag.CORRELATION, U64)
    correlation: int = one(U64)
    method: str = one(name(64))
    deadline: int = one(U32)
    recipient: str = maybe(ACCOUNT)
    sender: str = maybe(ACCOUNT)
    content: bytes = maybe(BYTES)

    def check(self, sender, faults):
        check_content(None, self.content, faults)


@dataclass(frozen=True, kw_only=True)
class Response(Body):
    type = FrameType.RESPONSE
    correlation: int = one(U64)
    status: int = one(U16)
    reason: str = maybe(REASON)
    retry_after: int = maybe(U32)
    content: bytes = maybe(BYTES)

    def check(self, sender, faults):
        check_content(None, self.content, faults)


@dataclass(frozen=True, kw_only=True)
class Cancel(Body):
    type = FrameType.CANCEL
    correlation: int = one(U64)


BODIES = {
    body.type: body
    for body in (
        Data, Transient, Ack, Receipt, Accepted, Gap, Ping, Pong, Hello, Welcome, Reject, GoAway, Auth, Open, Opened,
        Close, Reset, Suspend, Resume, Update, Request, Response, Cancel,
    )
}


def read_body(frame_type, body, tlvs, sender=CLIENT):
    """The value of a body with these outermost TLVs, whose structure `walk` has checked."""
    cls = BODIES[frame_type]
    check_counts(cls, body, tlvs)
    faults = Faults()
    found = cls.read(tlvs, sender, faults)
    if not faults:
        return found
    if cls is Hello:
        faults = [ErrorCode.INVALID_HELLO if is_of_a_field(code) else code for code in faults]
    scopes = {code: scope_of(cls, code, tlvs, sender) for code in faults}
    raise WireError(faults[0], scopes[faults[0]], also=scopes)


def check_counts(cls, body, tlvs):
    """W-27: the bounds on a content and on a client's message, which precede all fields (W-8)."""
    if cls not in (Data, Transient, Request, Response) or len(body) < 6 * MAX_CONTENT_TLVS:
        return
    contents = [value for tag, value in tlvs if tag == Tag.CONTENT]
    relayed = cls is not Data or any(tag in OF_RELAY for tag, _ in tlvs)
    if any(count(content) > MAX_CONTENT_TLVS for content in contents) or (
        not relayed and count(body) > MAX_CLIENT_DATA_TLVS
    ):
        raise WireError(ErrorCode.TOO_MANY_TLVS, Scope.CONNECTION)


def is_of_a_field(code):
    return code >= ErrorCode.INVALID_VALUE


def scope_of(cls, code, tlvs, sender):
    """The scope of a fault (W-72). It is larger if the message or request cannot be identified (relay.md R-24,
    session.md S-58). A client processes an invalid message that a relay has accepted as a gap (R-32)."""
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
