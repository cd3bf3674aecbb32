"""Vectors of Specs/wire.md 15.1 to 15.4: packets, numbers, fields, the context."""

import zlib

from expected import compact_forms, compact_tlv, shared_deflate
from expected.packet import (
    BEGIN, BEGIN_FRAME, FIRST, RELIABLE, SHARED, UNRELIABLE, PacketFile, ack, cf, compact_ping, packet, ping, s,
    suspend, text, v,
)
from vector_bytes import frame, joined, repeat, t, u8, u16, u32, u64

TYPE = 0x7001  # An application's, which is not reliable.


def filled(length):
    """A text whose compact frame has `length` bytes, and its frame."""
    words = repeat(b"a", length - 3 - 4)
    return cf(0x20, words, **FIRST), text(1, words, **FIRST)


def heads(file):
    file.good("a packet of one frame", "W-76 W-77", packet(compact_ping(7)), ping(7), end=True)
    file.good("a packet of several frames, the last without a length", "W-79 W-81",
              packet(BEGIN, compact_ping(7, length=True), cf(0x11, length=True), compact_ping(8)),
              BEGIN_FRAME, ping(7), suspend(2), ping(8))
    file.good("a packet of one byte", "W-77", [packet(BEGIN), packet(cf(0x11))], BEGIN_FRAME, suspend(2))
    for length in (127, 128, 4096):
        payload, frame_ = filled(length)
        file.good(f"a payload of {length:,} bytes", "W-77 W-78", packet(payload), frame_)
    file.good("a head that is longer than it need be", "W-77",
              packet(compact_ping(7), head=u16(0xC000 | 3)), ping(7))
    for head, error, name in [
        (b"\xd0\x01", "frameTooLarge", "a payload of 4,097 bytes"), (b"\xff\xff", "frameTooLarge", "16,383 bytes"),
        (b"\xc0\x00", "protocolViolation", "a plain payload without bytes"),
    ]:
        file.bad(f"{name}, known from the head", "W-78", head, error=error)
    for first in (0x00, 0x80, 0x8C, 0x8E, 0x9F):
        file.bad(f"a unit that begins with 0x{first:02X}", "W-77", [packet(compact_ping(7)), u8(first)], ping(7),
                 error="badMagic", features=SHARED)
    file.bad("a frame whose magic is wrong behind a packet", "W-77", [packet(compact_ping(7)), b"\x8d\x4e"], ping(7),
             error="badMagic")
    for first in (0x01, 0x7F, 0xC0, 0xFF, 0xA0):
        file.bad(f"a unit that begins with 0x{first:02X} where compact does not hold", "W-76", u8(first),
                 error="badMagic", features=())
    for first in (0xA0, 0xBF):
        file.bad(f"a unit that begins with 0x{first:02X} where sharedDeflate does not hold", "W-76 W-92", u8(first),
                 error="badMagic")
    file.good("frames of 3 before, between and behind packets", "W-76",
              [ping(1), packet(BEGIN), ping(2), packet(cf(0x11)), ping(3)],
              ping(1), BEGIN_FRAME, ping(2), suspend(2), ping(3))
    file.good("frames of 3 where compact does not hold", "W-76", [ping(1), ping(2)], ping(1), ping(2), features=())


def checksums(file):
    good = joined(packet(compact_ping(7)))
    for name, bad in [
        ("the checksum differs in one bit", good[:-1] + u8(good[-1] ^ 1)),
        ("the payload differs in one bit", good[:1] + u8(good[1] ^ 0x40) + good[2:]),
        ("a sum of the payload alone", packet(compact_ping(7), checksum=zlib.crc32(good[1:-4]))),
    ]:
        file.bad(name, "W-78", [packet(BEGIN), bad], BEGIN_FRAME, error="badChecksum")
    file.bad("what stands in a packet with a wrong sum is not looked at", "W-78", packet(b"\x3f", checksum=0),
             error="badChecksum")
    for count in (1, 2, len(good) - 1):
        file.bad(f"the stream ends behind {count} bytes of a packet", "W-2 W-78", [packet(BEGIN), good[:count]],
                 BEGIN_FRAME, error="unexpectedEOF", end=True)
    file.bad("the stream ends in a head of two bytes", "W-2 W-77", b"\xc0", error="unexpectedEOF", end=True)
    file.bad("frames in front of a fault have arrived, those behind it not", "W-79",
             [packet(BEGIN, cf(0x11, length=True), cf(0x3F, length=True), cf(0x11)), packet(compact_ping(1))],
             BEGIN_FRAME, suspend(2))
    file.bad("a payload that ends in a frame's fields", "W-79", packet(BEGIN, b"\x51\x02\x00\x00"), BEGIN_FRAME)


def numbers(file):
    for number in (0, 127, 128, 16_383, 16_384, (1 << 63) - 1, 1 << 63, (1 << 64) - 1):
        file.good(f"the varint of {number:,}", "W-80", packet(compact_ping(number)), ping(number))
    for name, data in [("in two bytes", b"\x80\x00"), ("in ten bytes", b"\x80" * 9 + b"\x00")]:
        file.good(f"a varint of 0 {name}", "W-80", packet(cf(0x07, b"\x19", data)), ping(0))
    for name, data in [
        ("of 2^64", b"\x80" * 9 + b"\x02"), ("of ten bytes that goes on", b"\xff" * 10),
        ("of eleven bytes", b"\x80" * 10 + b"\x00"), ("that the payload ends in", b"\x80"), ("without bytes", b""),
    ]:
        file.bad(f"a varint {name}", "W-80", packet(cf(0x07, b"\x19", data)))
    start = cf(0x22, s(99), "a", **FIRST, length=True)
    for beyond in (0, -1, 1, -2, 63, -64, 64, 1 << 40):
        file.good(f"the signed varint of {beyond:,}", "W-80", packet(start, cf(0x22, s(beyond), "b")),
                  text(100, "a", **FIRST), text(101 + beyond, "b", session=1, sequence=2))
    for beyond, counter in ((-102, (1 << 64) - 1), (-(1 << 63), (1 << 63) + 101), ((1 << 63) - 1, (1 << 63) + 100)):
        file.good(f"the signed varint of {beyond:,}, modulo 2^64", "W-80", packet(start, cf(0x22, s(beyond), "b")),
                  text(100, "a", **FIRST), text(counter, "b", session=1, sequence=2))


def fields(file):
    def other(*values, **shown):
        return frame(TYPE, t(0x33, u64(7)), **{"session": 1, "flags": UNRELIABLE} | shown)

    body = u8(0x19) + v(7)
    file.good("no fields but the form's", "W-81", [packet(BEGIN), packet(cf(0x11))], BEGIN_FRAME, suspend(2))
    file.good("every field", "W-81",
              packet(cf(0, t(0x33, u64(7)), session=65_535, sequence=0xFFFFFFFF, timestamp=0xFFFFFFFF, flags=0x3D,
                        type=TYPE, compression=0, length=True)),
              other(session=65_535, sequence=0xFFFFFFFF, timestamp=0xFFFFFFFF, flags=0x3D))
    file.bad("a session of 65,536", "W-81", packet(cf(0, body, session=65_536, type=TYPE)))
    file.good("a timestamp that is added, and added modulo 2^32", "W-81 W-83",
              packet(*(compact_ping(n, timestamp=step, length=True)
                       for n, step in enumerate((5, 0, 0xFFFFFFFF, 1 << 40)))),
              ping(0, timestamp=5), ping(1, timestamp=5), ping(2, timestamp=4), ping(3, timestamp=4))
    file.good("a timestamp that is not announced", "W-83", packet(compact_ping(1, timestamp=300, length=True),
                                                                 compact_ping(2)),
              ping(1, timestamp=300), ping(2, timestamp=300))
    for bits in (0x40, 0x80):
        file.bad(f"the bit 0x{bits:02X} of fields", "W-81", packet(compact_ping(7, bits=bits)))
    file.good("a byte of fields that announces nothing", "W-81", packet(b"\x47\x00\x19\x07"), ping(7))
    for bits in (0x00, 0x01, 0x37):
        file.bad(f"the flags 0x{bits:02X}, without checksummed", "W-81", packet(compact_ping(7, flags=bits)))
    for bits in (0x40, 0x80):
        file.bad(f"the reserved flag 0x{bits:02X}", "W-81", packet(compact_ping(7, flags=0x08 | bits)))
    file.good("flags that ask for an ack", "W-81", packet(compact_ping(7, flags=0x0C)), ping(7, flags=0x0C))
    file.bad("the type beside another form", "W-81", packet(compact_ping(7, type=0x3001)))
    file.bad("the form 0 without a type", "W-81", packet(cf(0, body, session=1)))
    file.good("a type that has a form of its own, with the form 0", "W-81", packet(cf(0, body, type=0x3001)), ping(7))
    file.good("a type that is not known takes the context's session, and is not reliable", "W-81",
              [packet(BEGIN), packet(cf(0, body, type=TYPE))], BEGIN_FRAME, other())
    file.good("a type that is not known and reliable", "W-81",
              packet(cf(0, body, type=TYPE, flags=RELIABLE, session=1, sequence=4)), other(sequence=4, flags=RELIABLE))
    compressed = zlib.compress(joined([t(0x33, u64(7))]))
    for value, sent in ((0, joined([t(0x33, u64(7))])), (1, compressed)):
        file.good(f"a body of compression {value}", "W-81", packet(cf(0x07, sent, compression=value)),
                  frame(0x3001, sent, compression=value))
    for value in (2, 3, 255):
        file.bad(f"the compression {value}", "W-81 W-18", packet(cf(0x07, body, compression=value)),
                 error="compressionNotAllowed")
    part = b"\x01\x42\x00\x00"
    file.good("a fragment, which is no TLVs", "W-81",
              packet(cf(0x01, part, **FIRST, flags=RELIABLE | 2, compression=0)),
              frame(0x1000, part, **FIRST, flags=RELIABLE | 2))
    for kind in (0x4001, 0x4002, 0x4003, 0x4004, 0x4005):
        file.bad(f"the type 0x{kind:04X} with the form 0", "W-82", packet(cf(0, type=kind)))
    for form in (0x09, 0x0A, 0x0B, 0x0C):
        file.bad(f"the form 0x{form:02X}, of hello, welcome, reject or goaway", "W-82",
                 packet(cf(form, u8(1), v(0x0208))))


def lengths(file):
    file.good("a body of no bytes with its length", "W-81", [packet(BEGIN), packet(cf(0x11, length=True))], BEGIN_FRAME,
              suspend(2))
    file.bad("a body that is a byte longer than the payload", "W-81", packet(cf(0x07, u8(0x19) + v(7), length=3)))
    file.bad("a body of 2^64 - 1 bytes", "W-81", packet(cf(0x07, u8(0x19) + v(7), length=(1 << 64) - 1)))
    file.bad("a body that is a byte shorter than its TLV", "W-81 W-90", packet(cf(0x07, u8(0x19) + v(7), length=1)))
    begun = packet(cf(0x25, s(0), s(0), v(1), **FIRST))
    frame_ = frame(0x2003, t(0x60, u64(1) + u32(1) + u64(1)), **FIRST, flags=RELIABLE)
    for form, body in ((0x24, b""), (0x25, s(0) + s(0) + v(1)), (0x26, b""), (0x27, b"\x00")):
        file.bad(f"the form 0x{form:02X} with a length", "W-81", [begun, packet(cf(form, body, length=True))], frame_)
    for form in (*range(0x16, 0x20), *range(0x28, 0x40)):
        file.bad(f"the form 0x{form:02X}, which there is not", "W-79", packet(BEGIN, cf(form)), BEGIN_FRAME)


def sessions(file):
    file.good("the session is the last one named", "W-84",
              packet(cf(0x11, session=1, sequence=1, length=True), cf(0x11, session=3, sequence=9, length=True),
                     cf(0x11, length=True), cf(0x11, session=1, length=True), cf(0x11)),
              suspend(1), suspend(9, 3), suspend(10, 3), suspend(2), suspend(3))
    file.good("a frame on session 0 leaves the session as it is", "W-84",
              packet(BEGIN, compact_ping(7, length=True),
                     cf(0x15, u8(0x2D), v(5), session=0, sequence=1, length=True), cf(0x11)),
              BEGIN_FRAME, ping(7), frame(0x6003, t(0x70, u64(5)), sequence=1, flags=0x09), suspend(2))
    file.good("a frame of 3 leaves the context as it is", "W-84",
              [packet(cf(0x11, session=1, sequence=1, timestamp=5)), suspend(50, 3, timestamp=900, flags=0x09),
               suspend(60), packet(cf(0x11))],
              suspend(1, timestamp=5), suspend(50, 3, timestamp=900, flags=0x09), suspend(60), suspend(2, timestamp=5))
    file.bad("no session where none was named", "W-85", packet(cf(0x11, sequence=1)))
    file.bad("no session where only a frame of 3 named one", "W-85", [suspend(1), packet(cf(0x11))], BEGIN_FRAME)
    file.bad("no sequence where none was seen", "W-85", packet(cf(0x11, session=1)))
    file.bad("no sequence on another session", "W-85", packet(BEGIN, cf(0x11, session=3)), BEGIN_FRAME)
    typing = cf(0x02, u8(0x33), v(1), session=1, length=True)
    file.bad("no sequence where only a frame was seen that is not reliable", "W-84 W-85", packet(typing, cf(0x11)),
             frame(0x1001, t(0x81, u8(1)), session=1, flags=UNRELIABLE))
    file.good("the sequence goes on behind the one announced, modulo 2^32", "W-84",
              packet(cf(0x11, session=1, sequence=0xFFFFFFFF, length=True), cf(0x11, length=True),
                     cf(0x11, sequence=70, length=True), typing, cf(0x11)),
              suspend(0xFFFFFFFF), suspend(0), suspend(70), frame(0x1001, t(0x81, u8(1)), session=1, flags=UNRELIABLE),
              suspend(71))
    file.good("the priority is the session's last one", "W-84",
              packet(cf(0x11, **FIRST, flags=0x39, length=True), cf(0x11, length=True), compact_ping(1, length=True),
                     compact_ping(2, flags=0x18, length=True), compact_ping(3, length=True),
                     cf(0x11, session=3, sequence=1, length=True), cf(0x11, session=1, flags=0x0D, length=True),
                     cf(0x11)),
              suspend(1, flags=0x39), suspend(2, flags=0x39), ping(1), ping(2, flags=0x18), ping(3, flags=0x18),
              suspend(1, 3), suspend(3, flags=0x0D), suspend(4, flags=0x09))


MANY = [cf(0x11, session=n, sequence=1, length=True) for n in range(1, 256)]
SHOWN = [suspend(1, n) for n in range(1, 256)]
OF_ACK = cf(0x27, u8(0x01), v(256))


def all_sessions(file):
    file.good("256 sessions, session 0 among them", "W-85",
              packet(MANY, compact_ping(7, length=True), cf(0x11, session=9)), *SHOWN, ping(7), suspend(2, 9))


def another_session(file):
    one_more = cf(0x11, session=256, sequence=1, length=True)
    file.bad("257 sessions, though session 0 was not used", "W-85",
             [packet(MANY), suspend(1, 256), packet(one_more)], *SHOWN, suspend(1, 256))


def another_session_of_an_ack(file):
    file.bad("257 sessions, the last one of an ack", "W-85", packet(MANY, OF_ACK), *SHOWN)


def another_session_after_an_ack(file):
    file.bad("257 sessions, where an ack named the 256th", "W-85", packet(MANY[:-1], OF_ACK, MANY[-1]), *SHOWN[:-1],
             ack(256, 1))


def make():
    files = []
    for part in (heads, checksums, numbers, fields, lengths, sessions, all_sessions, another_session,
                 another_session_of_an_ack, another_session_after_an_ack, *compact_forms.PARTS, *compact_tlv.PARTS,
                 *shared_deflate.PARTS):
        name = f"packets-{part.__name__.replace('_', '-')}"
        files.append(PacketFile(name, "Packets, compact frames and shared deflate, behind welcome (wire.md 15, 16)."))
        part(files[-1])
    return files
