"""Vectors of Specs/wire.md 4, the structure of bodies, and 3.8, compression."""

import zlib

from expected.vector import NAMES, RELIABLE, VectorFile, shown
from vector_bytes import frame, joined, nest, repeat, t, times, u16, u32, u64

NONCE = t(0x0033, u64(7))
SEVEN = {"nonce": "7"}
EMPTY_UNKNOWN = bytes.fromhex("300000000000")
TEXT = 0x1001


def message(*content, kind=0xF000):
    return [t(0x40, u64(1)), t(0x41, u16(kind)), t(0x0142, *content)]


def structure(file):
    def good(name, clauses, *body):
        file.good(name, clauses, 0x3001, body, SEVEN)

    def bad(name, clauses, error, *body):
        file.bad(name, clauses, 0x3001, body, error)

    for count in (1, 2, 5):
        bad(f"{count} bytes behind the last TLV", "W-23 W-24", "malformedTLV", NONCE, b"\x00" * count)
    bad("a value one byte longer than the body", "W-24", "malformedTLV", u16(0x33) + u32(9) + u64(7))
    bad("a value of the longest length", "W-24", "malformedTLV", u16(0x33) + u32(0xFFFFFFFF) + u64(7))
    bad("a length that wraps with the TLV's head added", "W-24", "malformedTLV", u16(0x33) + u32(0xFFFFFFFA) + u64(7))
    bad("a TLV inside a container, longer than the container", "W-24 W-26", "malformedTLV", NONCE,
        u16(0x0150) + u32(7) + u16(0x3000) + u32(2) + b"\x00", b"\x00")
    bad("a byte left over inside a container", "W-24 W-26", "malformedTLV", NONCE, t(0x0150, EMPTY_UNKNOWN, b"\x00"))
    bad("a leaf's bytes inside an unknown container are walked", "W-26", "malformedTLV", NONCE, t(0x01FF, b"bytes"))
    good("a tag beside the containers' range is a leaf", "W-26", NONCE, t(0x0200, b"bytes"), t(0x00FF, b"bytes"))
    good("an empty container", "W-26", NONCE, t(0x0150))
    good("unknown tags in front and behind, one of them twice", "W-25 W-28", t(0x3000, b"a"), NONCE, t(0x3000, b"b"))
    good("an application's tags", "W-28", t(0x4000, b"a"), NONCE, t(0x7FFF))
    good("a known tag that the type does not have is ignored", "W-28", NONCE, t(0x0048, b""), t(0x0048, b""))
    good("an unknown container with TLVs inside", "W-26 W-28", NONCE, t(0x0150, t(0x0033, u64(8)), t(0x0151)))


def depth(file):
    file.good("containers 8 deep", "W-27", 0x3001, [NONCE, nest(0x0150, 8)], SEVEN)
    file.bad("containers 9 deep", "W-27", 0x3001, [NONCE, nest(0x0150, 9)], "tlvTooDeep")
    file.bad("containers 10,000 deep", "W-27", 0x3001, [NONCE, nest(0x0150, 10_000)], "tlvTooDeep")
    file.good("two towers of 8 beside each other", "W-27", 0x3001, [nest(0x0150, 8), NONCE, nest(0x0151, 8)], SEVEN)
    tree = inner = []
    for _ in range(7):
        deeper = []
        inner.append([0x0150, deeper])
        inner = deeper
    file.good("a content and 7 containers inside it", "W-27", 0x1000, message(nest(0x0150, 7)),
              {"counter": "1", "kind": 0xF000, "content": tree})
    file.bad("a content and 8 containers inside it", "W-27", 0x1000, message(nest(0x0150, 8)), "tlvTooDeep")


def counts(file):
    file.good("1,024 TLVs", "W-27", 0x3001, [NONCE, repeat(EMPTY_UNKNOWN, 1023)], SEVEN)
    file.bad("1,025 TLVs", "W-27", 0x3001, [NONCE, repeat(EMPTY_UNKNOWN, 1024)], "tooManyTLVs")
    file.bad("10,922 empty TLVs", "W-27", 0x3001, [repeat(EMPTY_UNKNOWN, 10_922)], "tooManyTLVs")
    file.bad("a million empty TLVs", "W-27", 0x3001, [repeat(EMPTY_UNKNOWN, 1_000_000)], "tooManyTLVs",
             given={"maxBody": 8_000_000})
    file.good("1,024 TLVs, nested ones counted", "W-27", 0x3001,
              [NONCE, t(0x0150, repeat(EMPTY_UNKNOWN, 1022))], SEVEN)
    file.bad("1,025 TLVs, nested ones counted", "W-27", 0x3001,
             [NONCE, t(0x0150, repeat(EMPTY_UNKNOWN, 1023))], "tooManyTLVs")
    many = repeat(EMPTY_UNKNOWN, 1008)
    file.good("a content of 1,008 TLVs", "W-27", 0x1000, message(many),
              {"counter": "1", "kind": 0xF000, "content": times([[0x3000, ""]], 1008)})
    file.bad("a content of 1,009 TLVs", "W-27", 0x1000, message(repeat(EMPTY_UNKNOWN, 1009)), "tooManyTLVs")
    rest = repeat(EMPTY_UNKNOWN, 1017)
    file.good("a client's message of 1,020 TLVs", "W-27", 0x1000, [message(), rest],
              {"counter": "1", "kind": 0xF000, "content": []})
    file.bad("a client's message of 1,021 TLVs", "W-27", 0x1000, [message(), rest, EMPTY_UNKNOWN], "tooManyTLVs")
    file.good("the same with the relay's four, 1,024 TLVs", "W-27", 0x1000, [
        t(0x48, u64(1)), t(0x49, u64(2)), t(0x11, u64(3)), t(0x4A, "a"), message(), rest],
        {"offset": "1", "acceptedAt": "2", "device": "3", "sender": "a", "counter": "1", "kind": 0xF000,
         "content": []}, given={"from": "server"})
    # Bounds precede fields (W-8).
    for name, number, fields in (
        ("a message without kind", 0x1000, [t(0x40, bytes(7) + b"\x01")]),
        ("a request without method", 0x6001, [t(0x70, bytes(8))]),
        ("a request with a short correlation", 0x6001, [t(0x70, bytes(7))]),
        ("a response without status", 0x6002, [t(0x70, bytes(8))]),
        ("a transient without kind", 0x1001, []),
    ):
        file.bad(f"{name} and a content of 1,009 TLVs", "W-8 W-27", number,
                 [fields, t(0x0142, repeat(EMPTY_UNKNOWN, 1009))], "tooManyTLVs")
    file.bad("a client's message without kind of 1,021 TLVs", "W-8 W-27", 0x1000,
             [t(0x40, bytes(7) + b"\x01"), repeat(EMPTY_UNKNOWN, 1020)], "tooManyTLVs")
    file.bad("a content of 1,009 TLVs, nested ones counted", "W-27", 0x1000, message(t(0x0150, many)), "tooManyTLVs")


def critical(file):
    for tag in (0x8000, 0x8033, 0xC000, 0xFFFF):
        file.bad(f"the unknown critical tag 0x{tag:04X}", "W-28", 0x3001, [NONCE, t(tag)], "unknownCritical")
    file.bad("an unknown critical container", "W-26 W-28", 0x3001, [NONCE, t(0x8150)], "unknownCritical")
    file.bad("a content's number with the critical bit is another tag", "W-28", 0x1000,
             [message(), t(0x8142)], "unknownCritical")
    file.good("a critical tag inside a container that is ignored", "W-28", 0x3001, [NONCE, t(0x0150, t(0x8001))], SEVEN)
    file.good("a critical tag inside a container that the type does not have", "W-28", 0x3001,
              [NONCE, t(0x0101, t(0x8001))], SEVEN)
    file.good("critical tags inside a content are the application's", "W-29", 0x1000,
              message(t(0x8001, b"a"), t(0x8150, t(0xFFFF))),
              {"counter": "1", "kind": 0xF000, "content": [[0x8001, "61"], [0x8150, [[0xFFFF, ""]]]]})
    file.bad("a critical tag behind a content", "W-28 W-29", 0x1000, [message(), t(0x8001)], "unknownCritical")
    file.good("a content keeps unknown tags and their order", "W-25 W-28 W-29", 0x1000,
              message(t(0x0205, b""), t(0x0001, b"a"), t(0x0033), t(0x0001, b"b")),
              {"counter": "1", "kind": 0xF000,
               "content": [[0x0205, ""], [0x0001, "61"], [0x0033, ""], [0x0001, "62"]]})


def deflated(data, level=6, wbits=15, dictionary=None):
    more = {"zdict": dictionary} if dictionary else {}
    stream = zlib.compressobj(level, wbits=wbits, **more)
    return stream.compress(data) + stream.flush()


def compression(file):
    plain = joined(NONCE)
    whole = deflated(plain)
    for level, name in [(0, "stored"), (1, "fast"), (9, "best")]:
        file.good(f"a compressed body, {name}", "W-18", 0x3001, deflated(plain, level), SEVEN, compression=1)
    file.good("a compressed body, a window of 512 bytes", "W-18", 0x3001, deflated(plain, wbits=9), SEVEN,
              compression=1)
    file.good("a compressed body of several blocks", "W-18", 0x3001, blocks(plain), SEVEN, compression=1)
    file.good("an empty body, compressed", "W-18 W-23", 0x5005, deflated(b""), {}, compression=1)
    for name, body in [
        ("cut short by one byte", whole[:-1]), ("cut short to its first byte", whole[:1]), ("of no bytes", b""),
        ("without its sum", whole[:-4]), ("followed by a byte", whole + b"\x00"),
        ("twice over", whole + whole), ("whose Adler-32 is wrong", whole[:-1] + bytes([whole[-1] ^ 1])),
        ("with a dictionary", deflated(plain, dictionary=b"a dictionary")), ("in gzip's format",
                                                                             deflated(plain, wbits=31)),
        ("without zlib's head and sum", deflated(plain, wbits=-15)), ("that is not compressed at all", plain),
        ("of another method", b"\x79\x9a" + whole[2:]), ("whose head has a wrong check", b"\x78\x9d" + whole[2:]),
        ("with a block of the reserved type", b"\x78\x9c\x07" + whole[3:]),
    ]:
        file.bad(f"a compressed body {name}", "W-19", 0x3001, body, "inflateFailed", compression=1)


def limits_of_inflating(file):
    def filled(total):
        return deflated(joined([NONCE, t(0x7FFF, repeat(b"\x00", total - 20))]), 9)

    file.good("a body that inflates to just the limit", "W-19", 0x3001, filled(65_536), SEVEN, compression=1)
    for total, name in [(65_537, "one byte beyond the limit"), (65_536 + 16_385, "beyond what a receiver holds"),
                        (1 << 20, "1 MiB")]:
        file.bad(f"a body that inflates to {name}", "W-19", 0x3001, pieces_of(filled(total)), "inflateLimit",
                 compression=1)
    file.bad("a limit that another negotiated, passed when inflated", "W-19", 0x3001, filled(17_409), "inflateLimit",
             compression=1, given={"maxBody": 17_408})
    file.bad("wrong TLVs inside a compressed body", "W-8 W-24", 0x3001, deflated(b"\x00"), "malformedTLV",
             compression=1)
    file.refused("a wrong field inside a compressed message", "W-72", 0x1000,
                 deflated(joined([t(0x40, u64(1)), t(0x41, b"\xf0"), t(0x0142)])), "invalidValue", "message",
                 compression=1)


def pieces_of(data):
    """A long run of one byte in the middle of compressed data, as a repeated piece."""
    best, at = 0, 0
    start = 0
    for i in range(1, len(data) + 1):
        if i == len(data) or data[i] != data[start]:
            if i - start > best:
                best, at = i - start, start
            start = i
    return [data[:at], repeat(data[at : at + 1], best), data[at + best :]] if best > 64 else data


def blocks(data):
    stream = zlib.compressobj()
    parts = []
    for i in range(len(data)):
        parts.append(stream.compress(data[i : i + 1]) + stream.flush(zlib.Z_FULL_FLUSH))
    return b"".join(parts) + stream.flush()


def allowance(file):
    whole = deflated(joined(NONCE))
    for value in (2, 3, 255):
        file.bad(f"compression {value}", "W-18", 0x3001, whole, "compressionNotAllowed", compression=value)
    file.bad("compression that was not negotiated", "W-18", 0x3001, whole, "compressionNotAllowed",
             compression=1, given={"zlib": False})
    for kind, name, sender in [(0x4002, "welcome", "server"), (0x4003, "reject", "server"),
                               (0x4001, "hello", "client")]:
        file.bad(f"a compressed {name}", "W-18 W-20", kind, whole, "compressionNotAllowed",
                 given={"from": sender, "phase": "handshake"}, compression=1)
    file.bad("a compressed goaway before welcome", "W-18", 0x4004, whole, "compressionNotAllowed",
             given={"from": "server", "phase": "handshake"}, compression=1)
    file.bad("a compressed reject after welcome", "W-20", 0x4003, whole, "compressionNotAllowed",
             given={"from": "server"}, compression=1)
    goaway = joined(t(0x0001, u16(0x0208)))
    file.good("a compressed goaway after welcome", "W-18", 0x4004, deflated(goaway), {"code": 0x0208},
              given={"from": "server"}, compression=1)


def fragments(file):
    """One stream of several frames. It contains fragments as bytes; messages.json reassembles them."""
    body = joined(message(t(0x0201, "hello"), kind=TEXT))
    first, last = body[:20], body[20:]
    more = RELIABLE | 0x02

    def part(kind, data, sequence, flags, session=1, compression=0):
        sent = deflated(data) if compression else data
        fields = dict(session=session, sequence=sequence, flags=flags, compression=compression)
        return frame(kind, sent, **fields), shown(kind, fragment=data, **fields)

    def stream(name, *parts, **rest):
        file.stream(name, "W-21", [p for p, _ in parts], [s for _, s in parts], **rest)

    begin, end = part(0x1000, first, 1, more), part(0x1000, last, 2, RELIABLE)
    stream("a message in two fragments", begin, end)
    stream("fragments, each compressed by itself", part(0x1000, first, 1, more, compression=1),
           part(0x1000, last, 2, RELIABLE, compression=1))
    stream("fragments, one of them compressed", begin, part(0x1000, last, 2, RELIABLE, compression=1))
    stream("an empty fragment", part(0x1000, b"", 1, more), part(0x1000, body, 2, RELIABLE))
    ping = (frame(0x3001, NONCE), shown(0x3001, SEVEN))
    stream("frames of other sessions between fragments", begin, ping, part(0x1000, first, 1, more, session=3), end,
           part(0x1000, last, 2, RELIABLE, session=3))
    typing = frame(0x1001, t(0x0081, b"\x01"), session=1)
    stream("a frame that is not reliable between fragments", begin,
           (typing, shown(0x1001, {"typing": 1}, session=1)), end)
    cancel = frame(0x6003, t(0x70, u64(1)), session=1, sequence=2, flags=RELIABLE)
    file.stream("a frame of another type between fragments", "W-21", [begin[0], cancel], [begin[1]],
                error="protocolViolation", at=48)
    unknown = frame(0x1ABC, session=1, sequence=2, flags=RELIABLE)
    file.stream("a frame of an unknown type between fragments", "W-21 W-73", [begin[0], unknown], [begin[1]],
                error="protocolViolation", at=48)
    file.bad("moreFragments in a frame that is not reliable", "W-21", 0x3001, NONCE, "protocolViolation", flags=0x0A)
    broken = part(0x1000, b"\x00\x00", 1, more)
    stream("a fragment's TLVs are not looked at by themselves", broken)
    bodies = {
        0x5002: [t(0x53, u64(0)), t(0x54, u64(1))],
        0x6001: [t(0x70, u64(1)), t(0x71, "roll"), t(0x72, u32(5000))],
        0x6002: [t(0x70, u64(1)), t(0x74, u16(0))],
    }
    for kind, tlvs in bodies.items():
        whole = joined(tlvs)
        stream(f"{NAMES[kind]} in two fragments", part(kind, whole[:10], 1, more),
               part(kind, whole[10:], 2, RELIABLE))
    for kind in (0x2002, 0x5001, 0x5003, 0x5004, 0x5005, 0x5006, 0x6003):
        file.bad(f"moreFragments in {NAMES[kind]}", "W-21 W-74", kind, [], "protocolViolation", flags=more)
    for kind in (0x2003, 0x2004):
        file.bad(f"moreFragments in {NAMES[kind]}", "W-21 W-74", kind, [], "protocolViolation", {"from": "server"},
                 flags=more)


def make():
    tlvs = VectorFile("tlv", "The structure of bodies (wire.md 4).")
    structure(tlvs)
    depth(tlvs)
    counts(tlvs)
    critical(tlvs)
    zipped = VectorFile("compression", "Compressed bodies (wire.md 3.8).")
    compression(zipped)
    limits_of_inflating(zipped)
    allowance(zipped)
    cut = VectorFile("fragments", "Fragments as frames (wire.md 3.9).")
    fragments(cut)
    return [tlvs, zipped, cut]
