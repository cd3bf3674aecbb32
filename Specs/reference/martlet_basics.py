"""What the registries are made of, and what a fault is."""

from enum import IntEnum
from typing import NamedTuple


class Named(IntEnum):
    """A number, and its name in the text."""

    def __new__(cls, number, wire_name):
        member = int.__new__(cls, number)
        member._value_ = number
        member.wire_name = wire_name
        return member


class Sessions:
    """What 13.1's column says of a header's session."""

    LINK = "0"
    OWN = "a session"
    ANY = "any"


class Rule(NamedTuple):
    """The columns of 13.1, and whether the type may be cut (W-21) and is of the handshake (W-20)."""

    is_reliable: bool
    session: str
    senders: tuple
    allows_fragments: bool = False
    is_handshake: bool = False

    def allows_session(self, session):
        if self.session == Sessions.LINK:
            return session == 0
        return self.session == Sessions.ANY or session != 0


class Value(NamedTuple):
    """How a tag's value is laid out (13.2).

    The bounds are of the number, or of the value's bytes. `sizes` are those of the integers that it is made of; a
    sessionAck's ranges come behind these.
    """

    kind: str
    least: int = 0
    most: int = None
    sizes: tuple = ()


class Scope:
    """What a fault ends (W-72)."""

    CONNECTION = "connection"
    SESSION = "session"
    MESSAGE = "message"
    REQUEST = "request"


class WireError(Exception):
    """A fault of the peer's bytes.

    `code` is what is reported, `scope` what it ends, `at` where the frame begins in the stream, once that is known.
    `also` holds the codes of all faults of the frame, each with what it ends, where the text does not say which one
    comes first (W-8).
    """

    def __init__(self, code, scope=Scope.CONNECTION, also=()):
        super().__init__(code, scope)
        self.code = code
        self.scope = scope
        self.also = dict(also)
        self.at = None

    def __str__(self):
        return self.code.wire_name
