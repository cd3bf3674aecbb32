"""Vectors of Specs/wire.md 2, 3.1 to 3.7 and 13.1's columns."""

from expected.vector import PLAIN, RELIABLE, VectorFile, shown
from vector_bytes import frame, header, joined, repeat, t, u32, u64

NONCE = t(0x0033, u64(7))
PING = frame(0x3001, NONCE)
PING_SHOWN = shown(0x3001, {"nonce": "7"})
CRITICAL_TAG = t(0x8001)


def flipped(pieces, at, bit=0x01):
    data = bytearray(joined(pieces))
    data[at] ^= bit
    return bytes(data)


def cut(pieces, count):
    return joined(pieces)[:count]


def magic_and_versions(file):
    file.stream("an empty stream", "W-2", [])
    file.stream("an empty stream that ends", "W-2", [], end=True)
    file.stream("one frame", "W-4 W-9 W-70", PING, [PING_SHOWN], end=True)
    file.stream("two frames back to back", "W-2", PING + PING, [PING_SHOWN, PING_SHOWN], end=True)
    file.stream("a frame of a header alone", "W-4 W-23", frame(0x5005, session=1, sequence=1, flags=RELIABLE),
                [shown(0x5005, {}, session=1, sequence=1, flags=RELIABLE)])
    for count, prefix in enumerate([b"\x8e", b"\x8d\x4e", b"\x8d\x4d\x53", b"\x8d\x4d\x52\x55"], 1):
        file.stream(f"the magic differs in byte {count}, which is the last to arrive", "W-5", [prefix],
                    error="badMagic")
    file.stream("a protocol of text", "W-5", [b"GET / HTTP/1.1\r\n"], error="badMagic")
    file.stream("TLS where none is spoken", "W-5", [bytes.fromhex("16030100")], error="badMagic")
    file.stream("the magic in the other byte order", "W-5", [bytes.fromhex("54524d8d")], error="badMagic")
    file.stream("a byte between two frames, and no hunt for the next magic", "W-2 W-5", [PING, b"\x00", PING],
                [PING_SHOWN], error="badMagic", at=42)
    file.stream("a stray byte that is the magic's first is found out by the next", "W-5", [PING, b"\x8d", PING],
                [PING_SHOWN], error="badMagic", at=42)
    hidden = joined(PING)
    file.good("bytes of a frame inside a text of bytes", "W-5", 0x1000,
              [t(0x40, u64(1)), t(0x41, b"\xf0\x00"), t(0x0142, t(0x0202, hidden))],
              {"counter": "1", "kind": 0xF000, "content": [[0x0202, hidden.hex()]]})
    for major in (0, 2, 255):
        file.stream(f"major version {major}, known from five bytes", "W-6 W-39", [b"\x8dMRT" + bytes([major])],
                    error="unsupportedVersion")
    for minor in (1, 255):
        file.good(f"minor version {minor} is accepted", "W-39", 0x3001, NONCE, {"nonce": "7"}, minor=minor)


def flags(file):
    for bits in (0x40, 0x80, 0xC0):
        file.stream(f"reserved flags 0x{bits:02X}, known from the header", "W-6 W-16",
                    [header(0x3001, 14, flags=0x08 | bits)], error="reservedBits")
    for priority in range(4):
        file.good(f"priority {priority}", "W-17", 0x5005, [], {}, flags=0x09 | priority << 4)
    file.good("a ping that asks for an acknowledgement", "W-70", 0x3001, NONCE, {"nonce": "7"}, flags=0x0C)
    for stamp in (1, 0x7FFFFFFF, 0xFFFFFFFF):
        file.good(f"timestamp {stamp}", "W-15", 0x3001, NONCE, {"nonce": "7"}, timestamp=stamp)
    file.stream("a timestamp that goes back", "W-15",
                [frame(0x3001, NONCE, timestamp=9), frame(0x3001, NONCE, timestamp=8)],
                [shown(0x3001, {"nonce": "7"}, timestamp=9), shown(0x3001, {"nonce": "7"}, timestamp=8)])


def lengths(file):
    def filled(total):
        """A ping with a body of `total` bytes."""
        return [NONCE, t(0x7FFF, repeat(b"\x00", total - 14 - 6))]

    file.stream("a body as long as the limit", "W-7", frame(0x3001, filled(65_536)), [PING_SHOWN])
    file.stream("a body longer than the limit by one, known from the header", "W-6 W-7", [header(0x3001, 65_537)],
                error="frameTooLarge")
    file.stream("the longest length there is", "W-7", [header(0x3001, 0xFFFFFFFF)], error="frameTooLarge")
    file.stream("a length that wraps with the header added", "W-7", [header(0x3001, 0xFFFFFFE4)], error="frameTooLarge")
    file.stream("the least limit that can be negotiated, met", "W-7", frame(0x3001, filled(17_408)), [PING_SHOWN],
                maxBody=17_408)
    file.stream("the least limit that can be negotiated, passed", "W-7", [header(0x3001, 17_409)],
                error="frameTooLarge", maxBody=17_408)
    file.stream("the second frame is too long", "W-6", [PING, header(0x3001, 65_537)], [PING_SHOWN],
                error="frameTooLarge", at=42)


def order_of_checks(file):
    long = 0xFFFFFF
    for name, bytes_, error in [
        ("magic before version", header(0x3001, magic=0x8D4D5255, major=2), "badMagic"),
        ("version before reserved flags", header(0x3001, major=2, flags=0xC8), "unsupportedVersion"),
        ("reserved flags before length", header(0x3001, long, flags=0x48), "reservedBits"),
        ("length before compression", header(0x3001, long, compression=9), "frameTooLarge"),
    ]:
        file.stream(f"order of checks: {name}", "W-6", [bytes_], error=error)
    file.stream("order of checks: a compression that is not known before the checksum", "W-6 W-8",
                [header(0x3001, 14, compression=9)], error="compressionNotAllowed")
    file.bad("order of checks: checksum before whether a body may be compressed", "W-8", 0x3001, NONCE, "badChecksum",
             compression=1, checksum=0, given={"zlib": False})
    file.bad("order of checks: whether a body may be compressed before the type", "W-8", 0x3001, NONCE,
             "compressionNotAllowed", compression=1, session=1, given={"zlib": False})
    file.bad("order of checks: checksum before the type", "W-8", 0xF001, [], "badChecksum", checksum=0)
    file.bad("order of checks: the type before decompression", "W-8", 0x3001, b"no", "protocolViolation",
             compression=1, session=1)
    file.bad("order of checks: decompression before structure", "W-8", 0x3001, b"no", "inflateFailed", compression=1)
    file.bad("order of checks: structure before fields", "W-8", 0x3001, [t(0x0033, b""), b"\x00"], "malformedTLV")


def checksums(file):
    data = joined(PING)
    file.stream("the checksum differs in one bit", "W-10", flipped(PING, 27), error="badChecksum")
    file.stream("the body differs in one bit", "W-10", flipped(PING, 41), error="badChecksum")
    file.stream("the timestamp differs in one bit", "W-9 W-10", flipped(PING, 15), error="badChecksum")
    file.stream("the minor version differs in one bit", "W-9 W-10", flipped(PING, 5), error="badChecksum")
    import zlib
    file.stream("header before body in the sum", "W-9",
                [data[:24], u32(zlib.crc32(data[28:], zlib.crc32(data[:24]))), data[28:]], error="badChecksum")
    file.stream("a sum of the body alone", "W-9", [data[:24], u32(zlib.crc32(data[28:])), data[28:]],
                error="badChecksum")
    file.bad("no flag that the frame is checksummed, though its sum is right", "W-10", 0x3001, NONCE, "badChecksum",
             flags=0)
    file.bad("no flag, and a sum of zero", "W-10", 0x3001, NONCE, "badChecksum", flags=0, checksum=0)
    file.stream("a good frame, then one that is damaged, then a good one", "W-10", [PING, flipped(PING, 30), PING],
                [PING_SHOWN], error="badChecksum", at=42)
    file.stream("what stands behind a wrong checksum is not looked at", "W-8",
                [flipped(frame(0x3001, NONCE, CRITICAL_TAG), 27)], error="badChecksum")


def ends(file):
    for count in (1, 4, 27, 28, 41):
        file.stream(f"the stream ends after {count} bytes of a frame", "W-2", [cut(PING, count)],
                    error="unexpectedEOF", end=True)
    file.stream("the stream ends inside the second frame", "W-2", [PING, cut(PING, 30)], [PING_SHOWN],
                error="unexpectedEOF", at=42, end=True)
    file.stream("a frame that is not complete is waited for", "W-2", [cut(PING, 41)])


def columns(file):
    """13.1: the rules for the header of a type."""
    for name, kind, fields, sender in [
        ("a reliable ping", 0x3001, {"flags": RELIABLE, "sequence": 1}, "client"),
        ("data that is not reliable", 0x1000, {"flags": PLAIN, "sequence": 0}, "client"),
        ("data on session 0", 0x1000, {"session": 0}, "client"),
        ("transient on session 0", 0x1001, {"session": 0}, "client"),
        ("open on session 0", 0x5001, {"session": 0}, "client"),
        ("a ping on session 1", 0x3001, {"session": 1}, "client"),
        ("an ack on session 1", 0x2001, {"session": 1}, "client"),
        ("reset on session 1", 0x5004, {"session": 1}, "client"),
        ("accepted from a client", 0x2003, {}, "client"),
        ("gap from a client", 0x2004, {}, "client"),
        ("welcome from a client", 0x4002, {}, "client"),
        ("reject from a client", 0x4003, {}, "client"),
        ("hello from a server", 0x4001, {}, "server"),
        ("a client opens a session of an even number", 0x5001, {"session": 2}, "client"),
        ("a server opens a session of an odd number", 0x5001, {"session": 3}, "server"),
    ]:
        clauses = "W-54 W-74" if "number" in name else "W-74"
        file.bad(name, clauses, kind, [], "protocolViolation", given={"from": sender}, **fields)
    file.bad("a sequence in a frame that is not reliable", "W-13", 0x3001, NONCE, "protocolViolation", sequence=1)
    cancel = t(0x0070, u64(3))
    for kind, name, session in [(0x2002, "receipt", 1), (0x5001, "open", 1), (0x5004, "reset", 0),
                                (0x6003, "cancel", 0)]:
        file.bad(f"moreFragments on {name}, which is not cut", "W-21 W-74", kind, [], "protocolViolation",
                 flags=RELIABLE | 2, session=session)
    file.good("a request's cancel on session 0", "W-68", 0x6003, cancel, {"correlation": "3"}, session=0)
    file.good("a request's cancel on a session", "W-68", 0x6003, cancel, {"correlation": "3"}, session=65_535)


def unknown_types(file):
    for kind, name in [(0x0000, "zero"), (0x1002, "of a later minor"), (0x7000, "of an application"),
                       (0x7FFF, "of an application, the last")]:
        file.stream(f"an unknown type, {name}, is skipped", "W-73", [frame(kind, b"any"), PING],
                    [shown(kind, skipped=True), PING_SHOWN])
    fields = {"session": 1, "sequence": 5, "flags": RELIABLE}
    file.stream("an unknown reliable type is skipped", "W-73", [frame(0x1ABC, b"any", **fields), PING],
                [shown(0x1ABC, skipped=True, **fields), PING_SHOWN])
    more = {"session": 1, "sequence": 5, "flags": RELIABLE | 2}
    suspend = {"session": 1, "sequence": 6, "flags": RELIABLE}
    file.stream("moreFragments of an unknown reliable type, which a frame of another type follows", "W-13 W-73",
                [frame(0x1ABC, b"", **more), frame(0x5005, **suspend)],
                [shown(0x1ABC, skipped=True, **more), shown(0x5005, {}, **suspend)])
    odd = {"session": 7, "sequence": 9, "flags": PLAIN | 2}
    file.stream("an unknown type's header keeps no rules", "W-73 W-74", [frame(0x1ABC, **odd), PING],
                [shown(0x1ABC, skipped=True, **odd), PING_SHOWN])
    for kind in (0x8000, 0x9000, 0xFFFF):
        file.bad(f"the unknown critical type 0x{kind:04X}", "W-72 W-73", kind, [], "unknownCritical",
                 session=0, flags=PLAIN, sequence=0)
    file.bad("a known type's number with the critical bit is another type", "W-73", 0xB001, NONCE, "unknownCritical",
             session=0, flags=PLAIN, sequence=0)


def make():
    stream = VectorFile("framing", "Magic, versions, flags, timestamps and the end (wire.md 2, 3.2, 3.6, 3.7).")
    magic_and_versions(stream)
    flags(stream)
    ends(stream)
    checks = VectorFile("checks", "Lengths, checksums and the order of checks (wire.md 3.3, 3.4).")
    lengths(checks)
    order_of_checks(checks)
    checksums(checks)
    types = VectorFile("types", "What a type's header must be, and types that are not known (wire.md 12, 13.1).")
    columns(types)
    unknown_types(types)
    return [stream, checks, types]
