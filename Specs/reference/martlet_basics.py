"""The types of the registries' entries, and the errors."""

from enum import IntEnum
from typing import NamedTuple


class Named(IntEnum):
    """A number and its name in the specification."""

    def __new__(cls, number, wire_name):
        member = int.__new__(cls, number)
        member._value_ = number
        member.wire_name = wire_name
        return member


class Sessions:
    """The column *session* of 13.1."""

    LINK = "0"
    OWN = "a session"
    ANY = "any"


class Rule(NamedTuple):
    """The columns of 13.1, whether the type allows fragments (W-21), and whether it belongs to the handshake (W-20)."""

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
    """The layout of a tag's value (13.2).

    The bounds are those of the number, or of the number of bytes. `sizes` are those of the integers in the value,
    without the ranges of a sessionAck.
    """

    kind: str
    least: int = 0
    most: int = None
    sizes: tuple = ()


class Scope:
    """The scope of a fault (W-72)."""

    CONNECTION = "connection"
    SESSION = "session"
    MESSAGE = "message"
    REQUEST = "request"


class WireError(Exception):
    """A fault of the peer's bytes.

    `code` is the reported code, `scope` the object that ends, `at` the offset of the frame in the stream, if it is
    known. `also` contains the codes and scopes of all faults of the frame, if the specification does not define which
    one comes first (W-8).
    """

    def __init__(self, code, scope=Scope.CONNECTION, also=()):
        super().__init__(code, scope)
        self.code = code
        self.scope = scope
        self.also = dict(also)
        self.at = None

    def __str__(self):
        return self.code.wire_name
