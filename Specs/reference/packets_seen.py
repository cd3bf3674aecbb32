"""The contents of the packets in a stream, for test_completeness.py, obtained by parsing their bytes again."""

import re
from collections import defaultdict
from typing import NamedTuple

from martlet_compact import DEFINED, HAS_FIELDS, HAS_LENGTH, IN_UTF16, NEVER, PLACE, WITHOUT_LENGTH
from martlet_compact_tlv import SHAPES, Cursor, read_numbers
from martlet_registry import COMPACT_TAGS, TYPE_OF_FORM, Form
from martlet_tlv import is_container
from martlet_wire import HEADER_SIZE, MAGIC_BYTES
from test_vectors import bytes_of, packet_framer

TLV_MAY_STAND = 0x20  # The bit of fields that announces a compression, with which a body is no compact TLVs.


class Packet(NamedTuple):
    """A packet with a valid checksum."""

    head: int
    sent: int  # Bytes of the payload.
    payload: bytes  # As inflated.
    is_deflated: bool


class Seen:
    """The contents of the vectors of packets: valid elements, and the subjects of faults."""

    def __init__(self, vectors):
        self.packets, self.forms, self.fields, self.codes = [], set(), set(), set()
        self.bits = {Form.DELIVERY: set(), Form.ACK: set()}
        self.places, self.sessions = set(), set()
        self.bad = defaultdict(list)
        for vector in vectors:
            if "error" in vector:
                self.bad[vector["error"]].append(vector)
            else:
                self.see(vector)

    def see(self, vector):
        data, framer = bytes_of(vector["bytes"]), packet_framer(vector)
        while data:
            if data[:1] == MAGIC_BYTES[:1]:
                data = data[HEADER_SIZE + int.from_bytes(data[20:24], "big") :]
                continue
            head = framer.packets.head(data)
            payload = framer.packets.payload(data[: head.packet_size], head)
            self.packets.append(Packet(data[0], head.length, payload.data, head.is_deflated))
            while payload.rest:
                self.see_frame(framer, payload)
            data = data[head.packet_size :]
        if framer.packets is not None:
            self.sessions.add(len(framer.packets.context.sessions))

    def see_frame(self, framer, payload):
        start = payload.at
        framer.packets.frame(payload, framer.max_body)
        frame = payload.data[start : payload.at]
        form, fields = frame[0] & 0x3F, frame[1] if frame[0] & HAS_FIELDS else 0
        self.forms.add(form)
        self.fields |= bits_of(fields)
        if form in self.bits:
            bits = body_of(Cursor(frame), fields)[0]
            self.bits[form] |= bits_of(bits)
            if form == Form.DELIVERY:
                self.places.add(bits & PLACE)
        if form < Form.TEXT and form not in WITHOUT_LENGTH and not fields & TLV_MAY_STAND:
            self.codes |= codes_of(body_of(Cursor(frame), fields))


def bits_of(byte):
    return {1 << bit for bit in range(8) if byte >> bit & 1}


def body_of(cursor, fields):
    """The body of a frame that consists of compact TLVs."""
    first = cursor.integer(1)
    cursor.take(1 if first & HAS_FIELDS else 0)
    for bit, size in ((0x01, None), (0x02, 4), (0x04, None), (0x08, 1), (0x10, 2)):
        if fields & bit:
            cursor.take(size) if size else cursor.varint()
    return cursor.take(cursor.varint() if first & HAS_LENGTH else cursor.rest)


def codes_of(body):
    found, work = set(), [body]
    while work:
        cursor = Cursor(work.pop())
        while cursor.rest:
            code = cursor.integer(1)
            found.add(code)
            tag = COMPACT_TAGS[code - 1] if code else cursor.integer(2)
            if code and tag in SHAPES:
                read_numbers(cursor, tag)
                continue
            value = cursor.take(cursor.varint())
            if code and is_container(tag):
                work.append(value)
    return found


def want_packets(want, vectors, rows, rules):
    """All forms, bits of fields, codes of tags, kinds of heads, bounds and errors of packets; `rows` are the rows of
    the tables by section, `rules` is the text."""
    seen = Seen(vectors)
    for row in rows["15.5"]:
        first, *last = (int(number, 16) for number in row[0].split(" to "))
        for form in range(first, (last or [first])[0] + 1):
            want(f"the form 0x{form:02X}", form in seen.forms or TYPE_OF_FORM.get(form) in NEVER)
    for row in rows["15.3"]:
        want(f"the bit {row[0]} of fields", int(row[0], 16) in seen.fields)
    for row in rows["W-88"]:
        want(f"the bit {row[0]} of an ack", int(row[0], 16) in seen.bits[Form.ACK])
    for bit in (DEFINED, IN_UTF16):
        want(f"the bit 0x{bit:02X} of a delivery", bit in seen.bits[Form.DELIVERY])
    want("an author in each of the eight places", seen.places == set(range(8)))
    want("a context of 256 sessions", 256 in seen.sessions)
    for row in rows["15.6"]:
        first, last = (int(number, 16) for number in row[0].split(" to "))
        for code in range(first, last + 1):
            want(f"the code 0x{code:02X}", code in seen.codes)
    want("the code 0", 0 in seen.codes)
    for name, is_it in [
        ("a short head", lambda p: p.head < 0x80), ("a long head", lambda p: p.head >= 0xC0),
        ("a deflated packet", lambda p: p.is_deflated),
        ("the end of a stream", lambda p: p.is_deflated and not p.sent),
        *((f"a plain payload of {size} bytes", lambda p, size=size: not p.is_deflated and p.sent == size)
          for size in (1, 127, 128, 4096)),
        ("a deflated payload of 4,096 bytes", lambda p: p.is_deflated and p.sent == 4096),
        ("a payload that inflates to 4,096 bytes", lambda p: p.is_deflated and len(p.payload) == 4096),
    ]:
        want(name, any(map(is_it, seen.packets)))
    for head in (b"\xc0\x00", b"\xd0\x01", b"\xb0\x01"):
        want(f"the head {head.hex()}, refused", any(
            bytes_of(vector["bytes"]) == head for found in seen.bad.values() for vector in found))
    for code in sorted(set(re.findall(r"`(\w+)`", rules)) & {row[1] for row in rows["13.5"]}):
        want(f"packets that are {code}", code in seen.bad)
