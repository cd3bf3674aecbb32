"""The notation of vectors (Specs/vectors/README.md)."""

from vector_bytes import compact, flat, frame

RELIABLE = 0x09
PLAIN = 0x08
NAMES = {
    0x1000: "data", 0x1001: "transient", 0x2001: "ack", 0x2002: "receipt", 0x2003: "accepted", 0x2004: "gap",
    0x3001: "ping", 0x3002: "pong", 0x4001: "hello", 0x4002: "welcome", 0x4003: "reject", 0x4004: "goaway",
    0x4005: "auth", 0x5001: "open", 0x5002: "opened", 0x5003: "close", 0x5004: "reset", 0x5005: "suspend",
    0x5006: "resume", 0x5007: "update", 0x6001: "request", 0x6002: "response", 0x6003: "cancel",
}
DEFAULTS = {"session": 0, "sequence": 0, "timestamp": 0, "flags": PLAIN, "compression": 0, "minor": 0}
# The types whose frames are reliable, by 13.1.
RELIABLE_TYPES = set(NAMES) - {0x1001, 0x2001, 0x3001, 0x3002, 0x4001, 0x4002, 0x4003, 0x4004, 0x4005}
ON_LINK = {0x2001, 0x3001, 0x3002, 0x4001, 0x4002, 0x4003, 0x4004, 0x4005, 0x5004}


def shown(kind, value=None, refused=None, ends="message", fragment=None, skipped=False, **fields):
    """The expected result of one frame. Header fields with their defaults are omitted."""
    entry = {"type": NAMES.get(kind, f"0x{kind:04X}")}
    entry |= {key: number for key, number in fields.items() if number != DEFAULTS[key]}
    if skipped:
        entry["skipped"] = True
    elif fragment is not None:
        entry["fragment"] = compact([fragment])
    elif refused:
        entry |= {"refused": refused, "ends": ends}
    else:
        entry["value"] = value
    return entry


class VectorFile:
    """The vectors of one file, in order."""

    needs = "wire only"

    def __init__(self, name, about):
        self.name = name
        self.about = about
        self.vectors = []

    def stream(self, name, clauses, pieces, frames=(), error=None, at=0, end=False, **given):
        """Bytes, their frames, and the error after them."""
        vector = {"name": name, "clauses": clauses.split()}
        if given:
            vector["given"] = given
        vector["bytes"] = compact(pieces)
        if end:
            vector["end"] = True
        vector["frames"] = list(frames)
        if error:
            vector["error"] = {"code": error, "at": at}
        self.vectors.append(vector)

    def good(self, name, clauses, kind, body, value, given=None, **fields):
        """One accepted frame."""
        fields = usual(kind) | fields
        self.stream(name, clauses, frame(kind, *flat([body]), **fields), [shown(kind, value, **fields)], **given or {})

    def bad(self, name, clauses, kind, body, error, given=None, **fields):
        """One frame that ends the connection."""
        self.stream(name, clauses, frame(kind, *flat([body]), **usual(kind) | fields), error=error, **given or {})

    def refused(self, name, clauses, kind, body, code, ends, given=None, **fields):
        """One refused frame. The connection continues, as the following ping shows."""
        fields = usual(kind) | fields
        ping = frame(0x3001, bytes.fromhex("0033000000080000000000000001"))
        self.stream(
            name, clauses, [frame(kind, *flat([body]), **fields), ping],
            [shown(kind, refused=code, ends=ends, **fields), shown(0x3001, {"nonce": "1"})], **given or {})


def usual(kind):
    """The header fields of a frame of this type on the first session of a client."""
    reliable = kind in RELIABLE_TYPES
    fields = {"session": 0 if kind in ON_LINK else 1}
    return fields | ({"sequence": 1, "flags": RELIABLE} if reliable else {"flags": PLAIN})
