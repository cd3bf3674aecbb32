"""The composition of packets and compact frames by hand for vectors (wire.md 15); nothing here comes from the codec."""

import zlib

from expected.vector import VectorFile
from vector_bytes import compact, flat, frame, joined, size, t, u8, u16, u32, u64

COMPACT = ("compact",)
SHARED = ("compact", "sharedDeflate")
RELIABLE = 0x29  # With the priority that sessions begin with.
UNRELIABLE = 0x28
TEXT = t(0x41, u16(0x1001))


def v(n):
    """A varint."""
    groups = [n & 0x7F]
    while n := n >> 7:
        groups.append(n & 0x7F)
    return bytes(g | 0x80 for g in groups[:-1]) + bytes(groups[-1:])


def s(n):
    """A signed varint."""
    return v(n << 1 if n >= 0 else -2 * n - 1)


def cf(form, *body, session=None, sequence=None, timestamp=None, flags=None, type=None, compression=None, length=False,
       bits=0):
    """A compact frame; `length` is True for the length of the body, or another number; `bits` are further bits of
    fields."""
    announced = [
        (0x01, session, v), (0x02, sequence, u32), (0x04, timestamp, v), (0x08, flags, u8), (0x10, type, u16),
        (0x20, compression, u8)]
    said = [(bit, write(value)) for bit, value, write in announced if value is not None]
    bits |= sum(bit for bit, _ in said)
    front = u8(form | (0x40 if bits else 0) | (0x80 if length is not False else 0)) + (u8(bits) if bits else b"")
    front += b"".join(data for _, data in said)
    if length is not False:
        front += v(size(flat(body)) if length is True else length)
    return [front, *flat(body)]


def packet(*payload, checksum=None, head=None):
    """A plain packet as pieces; `checksum` and `head` replace the valid ones."""
    data = joined(flat(payload))
    if head is None:
        head = u8(len(data)) if len(data) < 0x80 else u16(0xC000 | len(data))
    return [head, *flat(payload), u32(zlib.crc32(head + data) if checksum is None else checksum)]


def deflated(data):
    """A packet with deflated bytes, without the last four."""
    head = u16(0xA000 | len(data))
    return head + data + u32(zlib.crc32(head + data))


def text(counter, words, **fields):
    """The frame of a client's message."""
    return frame(0x1000, t(0x40, u64(counter)), TEXT, t(0x0142, t(0x0201, words)), **{"flags": RELIABLE} | fields)


def delivery(offset, accepted_at, device, sender, counter, words, **fields):
    return frame(
        0x1000, t(0x48, u64(offset)), t(0x49, u64(accepted_at)), t(0x11, u64(device)), t(0x4A, sender),
        t(0x40, u64(counter)), TEXT, t(0x0142, t(0x0201, words)), **{"flags": RELIABLE} | fields)


def accepted(counter, count, offset, **fields):
    return frame(0x2003, t(0x60, u64(counter) + u32(count) + u64(offset)), **{"flags": RELIABLE} | fields)


def ack(session, cumulative, credit=0, link_credit=0, echo=None, **fields):
    echoed = t(0x30, u32(echo[0]) + u32(echo[1])) if echo else []
    return frame(0x2001, echoed, t(0x31, u64(link_credit)), t(0x32, u16(session) + u64(cumulative) + u64(credit)),
                 **fields)


def suspend(sequence, session=1, **fields):
    return frame(0x5005, session=session, sequence=sequence, **{"flags": RELIABLE} | fields)


def ping(nonce, **fields):
    return frame(0x3001, t(0x33, u64(nonce)), **fields)


# The same frames in compact form: the first reliable frame of a session, and frames that need no context.
def compact_ping(nonce, **fields):
    return cf(0x07, u8(0x19), v(nonce), **fields)


FIRST = {"session": 1, "sequence": 1}
BEGIN = cf(0x11, **FIRST, length=True)
BEGIN_FRAME = suspend(1)


class PacketFile(VectorFile):
    """Vectors of one direction's stream after welcome."""

    def good(self, name, clauses, pieces, *frames, **given):
        self.add(name, clauses, pieces, frames, None, **given)

    def bad(self, name, clauses, pieces, *frames, error="protocolViolation", **given):
        self.add(name, clauses, pieces, frames, error, **given)

    def add(self, name, clauses, pieces, frames, error, features=COMPACT, max_body=None, end=False):
        vector = {"name": name, "clauses": clauses.split(), "features": list(features)}
        if max_body:
            vector["maxBody"] = max_body
        vector["bytes"] = compact(pieces)
        if end:
            vector["end"] = True
        vector["frames"] = [compact(pieces) for pieces in frames]
        if error:
            vector["error"] = error
        self.vectors.append(vector)
