# Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.
"""The fields of all bodies and containers (Specs/wire.md 13.1), in the order in which they are encoded."""

from dataclasses import dataclass

from martlet_body import Body, many, maybe, one
from martlet_registry import FrameType, Tag


@dataclass(frozen=True, kw_only=True)
class Limits(Body):
    max_body: int = one(Tag.MAX_BODY)
    max_message: int = one(Tag.MAX_MESSAGE)
    link_window: int = one(Tag.LINK_WINDOW)
    session_window: int = one(Tag.SESSION_WINDOW)
    max_sessions: int = one(Tag.MAX_SESSIONS)


@dataclass(frozen=True, kw_only=True)
class HelloResume(Body):
    link: int = one(Tag.LINK)
    resume_token: bytes = one(Tag.RESUME_TOKEN)
    session_position: tuple = many(Tag.SESSION_POSITION, 256)


@dataclass(frozen=True, kw_only=True)
class WelcomeResume(Body):
    session_position: tuple = many(Tag.SESSION_POSITION, 256)


@dataclass(frozen=True, kw_only=True)
class Data(Body):
    type = FrameType.DATA
    offset: int = maybe(Tag.OFFSET)
    accepted_at: int = maybe(Tag.ACCEPTED_AT)
    device: int = maybe(Tag.DEVICE)
    sender: str = maybe(Tag.SENDER)
    counter: int = one(Tag.COUNTER)
    kind: int = one(Tag.KIND)
    content: bytes = one(Tag.CONTENT)
    time_to_live: int = maybe(Tag.TIME_TO_LIVE)


@dataclass(frozen=True, kw_only=True)
class Transient(Body):
    type = FrameType.TRANSIENT
    typing: int = maybe(Tag.TYPING)
    presence: int = maybe(Tag.PRESENCE)
    kind: int = maybe(Tag.KIND)
    content: bytes = maybe(Tag.CONTENT)
    sender: str = maybe(Tag.SENDER)


@dataclass(frozen=True, kw_only=True)
class Ack(Body):
    type = FrameType.ACK
    link_credit: int = one(Tag.LINK_CREDIT)
    session_ack: tuple = many(Tag.SESSION_ACK, 256)
    echo: tuple = maybe(Tag.ECHO)


@dataclass(frozen=True, kw_only=True)
class Receipt(Body):
    type = FrameType.RECEIPT
    receipt_kind: int = one(Tag.RECEIPT_KIND)
    up_to: int = maybe(Tag.UP_TO)
    sender: str = maybe(Tag.SENDER)
    device: int = maybe(Tag.DEVICE)
    counter: int = maybe(Tag.COUNTER)
    code: int = maybe(Tag.CODE)
    reason: str = maybe(Tag.REASON)


@dataclass(frozen=True, kw_only=True)
class Accepted(Body):
    type = FrameType.ACCEPTED
    accepted_run: tuple = many(Tag.ACCEPTED_RUN, 256, least=1)


@dataclass(frozen=True, kw_only=True)
class Gap(Body):
    type = FrameType.GAP
    first: int = one(Tag.FIRST)
    up_to: int = one(Tag.UP_TO)


@dataclass(frozen=True, kw_only=True)
class Ping(Body):
    type = FrameType.PING
    nonce: int = one(Tag.NONCE)


@dataclass(frozen=True, kw_only=True)
class Pong(Body):
    type = FrameType.PONG
    nonce: int = one(Tag.NONCE)
    echo: tuple = one(Tag.ECHO)
    reconnect_spread: int = maybe(Tag.RECONNECT_SPREAD)


@dataclass(frozen=True, kw_only=True)
class Hello(Body):
    type = FrameType.HELLO
    spoken_version: tuple = many(Tag.SPOKEN_VERSION, 16, least=1)
    features: int = one(Tag.FEATURES)
    limits: Limits = one(Limits)
    device: int = one(Tag.DEVICE)
    account: str = one(Tag.ACCOUNT)
    mechanism: str = maybe(Tag.MECHANISM)
    credential: bytes = maybe(Tag.CREDENTIAL)
    agent: str = maybe(Tag.AGENT)
    resume: HelloResume = maybe(HelloResume)


@dataclass(frozen=True, kw_only=True)
class Welcome(Body):
    type = FrameType.WELCOME
    spoken_version: tuple = one(Tag.SPOKEN_VERSION)
    features: int = one(Tag.FEATURES)
    limits: Limits = one(Limits)
    account: str = one(Tag.ACCOUNT)
    link: int = one(Tag.LINK)
    resume_token: bytes = one(Tag.RESUME_TOKEN)
    epoch: int = one(Tag.EPOCH)
    resume_lifetime: int = one(Tag.RESUME_LIFETIME)
    heartbeat_interval: int = maybe(Tag.HEARTBEAT_INTERVAL)
    reconnect_spread: int = maybe(Tag.RECONNECT_SPREAD)
    credential: bytes = maybe(Tag.CREDENTIAL)
    credential_lifetime: int = maybe(Tag.CREDENTIAL_LIFETIME)
    resume: WelcomeResume = maybe(WelcomeResume)


@dataclass(frozen=True, kw_only=True)
class Reject(Body):
    type = FrameType.REJECT
    code: int = one(Tag.CODE)
    reason: str = maybe(Tag.REASON)
    retry_after: int = maybe(Tag.RETRY_AFTER)
    redirect: str = maybe(Tag.REDIRECT)
    spoken_version: tuple = many(Tag.SPOKEN_VERSION, 16)


@dataclass(frozen=True, kw_only=True)
class GoAway(Body):
    type = FrameType.GOAWAY
    code: int = one(Tag.CODE)
    reason: str = maybe(Tag.REASON)
    retry_after: int = maybe(Tag.RETRY_AFTER)
    redirect: str = maybe(Tag.REDIRECT)
    spoken_version: tuple = many(Tag.SPOKEN_VERSION, 16)


@dataclass(frozen=True, kw_only=True)
class Auth(Body):
    type = FrameType.AUTH
    credential: bytes = maybe(Tag.CREDENTIAL)
    credential_lifetime: int = maybe(Tag.CREDENTIAL_LIFETIME)


@dataclass(frozen=True, kw_only=True)
class Open(Body):
    type = FrameType.OPEN
    room: str = one(Tag.ROOM)
    session_kind: int = one(Tag.SESSION_KIND)
    cursor: int = one(Tag.CURSOR)
    log: int = maybe(Tag.LOG)
    tail: int = maybe(Tag.TAIL)
    no_local: int = maybe(Tag.NO_LOCAL)


@dataclass(frozen=True, kw_only=True)
class Opened(Body):
    type = FrameType.OPENED
    head: int = one(Tag.HEAD)
    first: int = one(Tag.FIRST)
    log: int = maybe(Tag.LOG)
    up_to: int = maybe(Tag.UP_TO)
    counter: int = maybe(Tag.COUNTER)
    member: tuple = many(Tag.MEMBER, 256)


@dataclass(frozen=True, kw_only=True)
class Close(Body):
    type = FrameType.CLOSE
    code: int = maybe(Tag.CODE)
    reason: str = maybe(Tag.REASON)


@dataclass(frozen=True, kw_only=True)
class Reset(Body):
    type = FrameType.RESET
    session: int = one(Tag.SESSION)
    code: int = one(Tag.CODE)
    reason: str = maybe(Tag.REASON)
    retry_after: int = maybe(Tag.RETRY_AFTER)
    credit_used: int = maybe(Tag.CREDIT_USED)


@dataclass(frozen=True, kw_only=True)
class Suspend(Body):
    type = FrameType.SUSPEND


@dataclass(frozen=True, kw_only=True)
class Resume(Body):
    type = FrameType.RESUME
    cursor: int = maybe(Tag.CURSOR)


@dataclass(frozen=True, kw_only=True)
class Update(Body):
    type = FrameType.UPDATE
    room: str = maybe(Tag.ROOM)
    membership: int = maybe(Tag.MEMBERSHIP)
    inviter: str = maybe(Tag.INVITER)
    changed_at: int = maybe(Tag.CHANGED_AT)
    log: int = maybe(Tag.LOG)
    head: int = maybe(Tag.HEAD)
    first: int = maybe(Tag.FIRST)
    message: bytes = maybe(Tag.MESSAGE)
    shortened: int = maybe(Tag.SHORTENED)
    delivered_up_to: int = maybe(Tag.DELIVERED_UP_TO)
    read_up_to: int = maybe(Tag.READ_UP_TO)
    unread: int = maybe(Tag.UNREAD)


@dataclass(frozen=True, kw_only=True)
class Request(Body):
    type = FrameType.REQUEST
    correlation: int = one(Tag.CORRELATION)
    method: str = one(Tag.METHOD)
    deadline: int = one(Tag.DEADLINE)
    recipient: str = maybe(Tag.RECIPIENT)
    sender: str = maybe(Tag.SENDER)
    content: bytes = maybe(Tag.CONTENT)


@dataclass(frozen=True, kw_only=True)
class Response(Body):
    type = FrameType.RESPONSE
    correlation: int = one(Tag.CORRELATION)
    status: int = one(Tag.STATUS)
    reason: str = maybe(Tag.REASON)
    retry_after: int = maybe(Tag.RETRY_AFTER)
    content: bytes = maybe(Tag.CONTENT)


@dataclass(frozen=True, kw_only=True)
class Cancel(Body):
    type = FrameType.CANCEL
    correlation: int = one(Tag.CORRELATION)
