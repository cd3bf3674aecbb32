"""The registries of Specs/wire.md: frame types and their columns (13.1), error codes (13.5), features (13.4)."""

from enum import IntEnum, IntFlag

CLIENT = "client"
SERVER = "server"


def camel_case(name):
    """`TIME_TO_LIVE` or `time_to_live` as the text has it: `timeToLive`."""
    first, *rest = name.lower().split("_")
    words = [first, *(word.capitalize() for word in rest)]
    return "".join({"Eof": "EOF", "Tlv": "TLV", "Tlvs": "TLVs"}.get(word, word) for word in words)


class FrameType(IntEnum):
    """13.1"""

    DATA = 0x1000
    TRANSIENT = 0x1001
    ACK = 0x2001
    RECEIPT = 0x2002
    ACCEPTED = 0x2003
    GAP = 0x2004
    PING = 0x3001
    PONG = 0x3002
    HELLO = 0x4001
    WELCOME = 0x4002
    REJECT = 0x4003
    GOAWAY = 0x4004
    OPEN = 0x5001
    OPENED = 0x5002
    CLOSE = 0x5003
    RESET = 0x5004
    SUSPEND = 0x5005
    RESUME = 0x5006
    REQUEST = 0x6001
    RESPONSE = 0x6002
    CANCEL = 0x6003

    @property
    def wire_name(self):
        """The name as the registry has it."""
        return camel_case(self.name)


class ErrorCode(IntEnum):
    """13.5"""

    NONE = 0x0000
    BAD_MAGIC = 0x0101
    UNSUPPORTED_VERSION = 0x0102
    FRAME_TOO_LARGE = 0x0103
    EXPECTED_HELLO = 0x0104
    HANDSHAKE_TIMEOUT = 0x0105
    AUTH_TIMEOUT = 0x0106
    BAD_CHECKSUM = 0x0107
    UNEXPECTED_EOF = 0x0108
    RESERVED_BITS = 0x0109
    UNKNOWN_CRITICAL = 0x010A
    MALFORMED_TLV = 0x010B
    TLV_TOO_DEEP = 0x010C
    TOO_MANY_TLVS = 0x010D
    INFLATE_LIMIT = 0x010E
    INFLATE_FAILED = 0x010F
    COMPRESSION_NOT_ALLOWED = 0x0110
    CONTROL_FLOOD = 0x0111
    CHURN_LIMIT = 0x0112
    ACK_UNSENT = 0x0113
    ACK_TIMEOUT = 0x0114
    SLOW_CONSUMER = 0x0115
    OUT_OF_WINDOW = 0x0116
    STALE_EPOCH = 0x0117
    FRAME_TIMEOUT = 0x0118
    UNKNOWN_FLOOD = 0x0119
    PROTOCOL_VIOLATION = 0x011A
    INVALID_HELLO = 0x011B
    IDLE_TIMEOUT = 0x011C
    UNAUTHENTICATED = 0x0201
    FORBIDDEN = 0x0202
    RESUME_REJECTED = 0x0203
    REVOKED = 0x0204
    REPLACED = 0x0205
    TLS_FAILURE = 0x0206
    TOO_MANY_LINKS = 0x0207
    DRAINING = 0x0208
    SERVER_BUSY = 0x0209
    REDIRECTED = 0x020A
    SESSION_IN_USE = 0x0301
    UNKNOWN_SESSION = 0x0302
    TOO_MANY_SESSIONS = 0x0303
    ROOM_FORBIDDEN = 0x0304
    ROOM_FULL = 0x0305
    ALREADY_OPEN = 0x0306
    CREDIT_EXCEEDED = 0x0307
    MESSAGE_TOO_LARGE = 0x0308
    UNSUPPORTED_KIND = 0x0309
    CLOSED_BY_PEER = 0x030A
    INVALID_VALUE = 0x0401
    MISSING_FIELD = 0x0402
    DUPLICATE_FIELD = 0x0403
    STORE_UNAVAILABLE = 0x0404
    REFUSED = 0x0405
    EXPIRED = 0x0406
    CANCELLED = 0x0407
    DEADLINE_EXCEEDED = 0x0408
    UNKNOWN_METHOD = 0x0409
    NO_RECIPIENT = 0x040A
    TOO_MANY_REQUESTS = 0x040B
    RATE_LIMITED = 0x040C
    COUNTER_TOO_OLD = 0x040D

    @property
    def wire_name(self):
        """The name as the registry has it."""
        return camel_case(self.name)


class Flags:
    """3.7; the priority is a number of two bits. Plain numbers, since every frame is asked for them."""

    RELIABLE = 0x01
    MORE_FRAGMENTS = 0x02
    ACK_NOW = 0x04
    CHECKSUMMED = 0x08
    PRIORITY = 0x30
    RESERVED = 0xC0


class Features(IntFlag):
    """13.4"""

    ZLIB = 1 << 0
    REQUESTS = 1 << 1
    RECEIPTS = 1 << 2
    PRESENCE = 1 << 3
    COMPACT = 1 << 4
    SHARED_DEFLATE = 1 << 5


class Sessions:
    """What 13.1's column says of a header's session."""

    LINK = "0"
    OWN = "a session"
    ANY = "any"

    @staticmethod
    def allow(column, session):
        if column == Sessions.LINK:
            return session == 0
        return column == Sessions.ANY or session != 0


BOTH = (CLIENT, SERVER)

# 13.1: whether the type is reliable, the session its header names, who sends it.
RULES = {
    FrameType.DATA: (True, Sessions.OWN, BOTH),
    FrameType.TRANSIENT: (False, Sessions.OWN, BOTH),
    FrameType.ACK: (False, Sessions.LINK, BOTH),
    FrameType.RECEIPT: (True, Sessions.OWN, BOTH),
    FrameType.ACCEPTED: (True, Sessions.OWN, (SERVER,)),
    FrameType.GAP: (True, Sessions.OWN, (SERVER,)),
    FrameType.PING: (False, Sessions.LINK, BOTH),
    FrameType.PONG: (False, Sessions.LINK, BOTH),
    FrameType.HELLO: (False, Sessions.LINK, (CLIENT,)),
    FrameType.WELCOME: (False, Sessions.LINK, (SERVER,)),
    FrameType.REJECT: (False, Sessions.LINK, (SERVER,)),
    FrameType.GOAWAY: (False, Sessions.LINK, BOTH),
    FrameType.OPEN: (True, Sessions.OWN, BOTH),
    FrameType.OPENED: (True, Sessions.OWN, BOTH),
    FrameType.CLOSE: (True, Sessions.OWN, BOTH),
    FrameType.RESET: (True, Sessions.LINK, BOTH),
    FrameType.SUSPEND: (True, Sessions.OWN, BOTH),
    FrameType.RESUME: (True, Sessions.OWN, BOTH),
    FrameType.REQUEST: (True, Sessions.ANY, BOTH),
    FrameType.RESPONSE: (True, Sessions.ANY, BOTH),
    FrameType.CANCEL: (True, Sessions.ANY, BOTH),
}


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
