"""Vectors of Specs/wire.md 15.6: every code, every width."""

from expected.packet import UNRELIABLE, cf, packet, v
from vector_bytes import frame, joined, repeat, t, u8, u16, u64

TYPE = 0x7001
# By code: the tag and the bits of its integers; None if the value is bytes.
INTEGERS = {
    0x01: (0x0001, 16), 0x03: (0x0003, 32), 0x05: (0x0005, 16), 0x06: (0x0010, 64), 0x07: (0x0011, 64),
    0x0B: (0x0015, 64), 0x0D: (0x0017, 16, 64), 0x0E: (0x0018, 32), 0x0F: (0x0019, 32), 0x10: (0x001A, 32),
    0x11: (0x0020, 32), 0x12: (0x0021, 32), 0x13: (0x0022, 32), 0x14: (0x0023, 32), 0x15: (0x0024, 16),
    0x16: (0x0030, 32, 32), 0x17: (0x0031, 64), 0x19: (0x0033, 64), 0x1A: (0x0034, 64), 0x1B: (0x0040, 64),
    0x1C: (0x0041, 16), 0x1D: (0x0043, 32), 0x1E: (0x0048, 64), 0x1F: (0x0049, 64), 0x22: (0x0051, 8),
    0x23: (0x0052, 64), 0x24: (0x0053, 64), 0x25: (0x0054, 64), 0x27: (0x0056, 32), 0x28: (0x0057, 16),
    0x29: (0x0058, 8), 0x2A: (0x0060, 64, 32, 64), 0x2B: (0x0061, 8), 0x2C: (0x0062, 64), 0x2D: (0x0070, 64),
    0x2F: (0x0072, 32), 0x31: (0x0074, 16), 0x32: (0x0080, 8), 0x33: (0x0081, 8),
}
BYTES = {
    0x02: 0x0002, 0x04: 0x0004, 0x08: 0x0012, 0x09: 0x0013, 0x0A: 0x0014, 0x0C: 0x0016, 0x20: 0x004A, 0x21: 0x0050,
    0x26: 0x0055, 0x2E: 0x0071, 0x30: 0x0073, 0x37: 0x0201, 0x38: 0x0202, 0x39: 0x0203, 0x3A: 0x0204, 0x3B: 0x0205,
}
CONTAINERS = {0x34: 0x0101, 0x35: 0x0102, 0x36: 0x0142}
CONTENT = 0x36


def of(*body):
    """A packet of one frame with a type of an application."""
    return packet(cf(0, *body, type=TYPE, session=1))


def shown(*body):
    return frame(TYPE, *body, session=1, flags=UNRELIABLE)


def integers(file):
    for code, (tag, *bits) in INTEGERS.items():
        def value(numbers):
            return b"".join(n.to_bytes(size // 8, "big") for n, size in zip(numbers, bits))

        most = [(1 << size) - 1 for size in bits]
        for name, numbers in (("0", [0] * len(bits)), ("the most there is", most)):
            file.good(f"the code 0x{code:02X}, {name}", "W-89 W-90", of(u8(code), *map(v, numbers)),
                      shown(t(tag, value(numbers))))
        for at, size in enumerate(bits):
            if size < 64:
                beyond = [*([0] * at), 1 << size, *([0] * (len(bits) - at - 1))]
                file.bad(f"the code 0x{code:02X}, {1 << size:,} in the integer {at + 1}", "W-90",
                         of(u8(code), *map(v, beyond)))
        file.bad(f"the code 0x{code:02X} without its last integer", "W-90",
                 of(u8(code), *map(v, [0] * (len(bits) - 1))))


def session_acks(file):
    def value(count):
        return [number for n in range(count) for number in (10 * n + 3, 10 * n + 5)]

    most = 0xFFFF, (1 << 64) - 1, (1 << 64) - 1
    for count in (0, 1, 32):
        file.good(f"a sessionAck of {count} ranges", "W-90", of(u8(0x18), *map(v, (*most, count, *value(count)))),
                  shown(t(0x32, u16(most[0]), u64(most[1]), u64(most[2]), *map(u64, value(count)))))
    file.bad("a sessionAck of 33 ranges", "W-90", of(u8(0x18), *map(v, (1, 2, 3, 33, *value(33)))))
    file.bad("a sessionAck of the session 65,536", "W-90", of(u8(0x18), *map(v, (65_536, 2, 3, 0))))
    file.bad("a sessionAck that lacks its last number", "W-90", of(u8(0x18), *map(v, (1, 2, 3, 1, 5))))
    file.good("a sessionAck whose ranges are not in order, which is not this layer's affair", "W-90",
              of(u8(0x18), *map(v, (1, 2, 3, 2, 9, 8, 1, 1))),
              shown(t(0x32, u16(1), *map(u64, (2, 3, 9, 8, 1, 1)))))


def bytes_of_values(file):
    for code, tag in BYTES.items():
        for value in (b"", b"abc"):
            file.good(f"the code 0x{code:02X}, {len(value)} bytes", "W-89 W-90", of(u8(code), v(len(value)), value),
                      shown(t(tag, value)))
        file.bad(f"the code 0x{code:02X}, a byte longer than the body", "W-90", of(u8(code), v(4), b"abc"))
    file.bad("a value of 2^64 - 1 bytes", "W-90", of(u8(0x37), v((1 << 64) - 1), b"abc"))
    long = repeat(b"x", 4000)
    file.good("a value of 4,000 bytes", "W-90", of(u8(0x38), v(4000), long), shown(t(0x0202, long)))


def escapes(file):
    for name, tag, value in [
        ("an unknown tag", 0x4001, b"abc"), ("a critical one", 0x8001, b""),
        ("a tag that has a code, in another length", 0x0040, b"\x05"),
        ("a tag that has a code, in its length", 0x0040, u64(5)),
        ("log, which has no code", 0x0059, u64((1 << 64) - 1)),
        ("a container", 0x0142, joined(t(0x0201, "abc"))), ("a container that holds no TLVs", 0x0142, b"\x01\x02\x03"),
    ]:
        file.good(f"the code 0 with {name}", "W-89", of(b"\x00", u16(tag), v(len(value)), value), shown(t(tag, value)))
    file.bad("the code 0, a byte longer than the body", "W-89", of(b"\x00", u16(0x4001), v(4), b"abc"))
    file.bad("the code 0, without a length", "W-89", of(b"\x00", u16(0x4001)))
    for code in (0x3C, 0x7F, 0xFF):
        file.bad(f"the code 0x{code:02X}, which there is not", "W-89", of(u8(code), b"\x00"))


def nested(depth):
    """Nested contents, compact and plain."""
    compact, plain = b"", []
    for _ in range(depth):
        compact, plain = u8(CONTENT) + v(len(compact)) + compact, t(0x0142, plain)
    return compact, plain


def containers(file):
    inside, value = u8(0x37) + v(2) + b"hi", t(0x0201, "hi")
    for code, tag in CONTAINERS.items():
        file.good(f"the code 0x{code:02X}, empty", "W-89", of(u8(code), v(0)), shown(t(tag)))
        file.good(f"the code 0x{code:02X}, with two TLVs", "W-89", of(u8(code), v(8), inside, inside, inside),
                  shown(t(tag, value, value), value))
        file.bad(f"the code 0x{code:02X}, a byte longer than the body", "W-89", of(u8(code), v(5), inside))
        file.bad(f"the code 0x{code:02X}, a byte shorter than its TLV", "W-89", of(u8(code), v(3), inside))
    file.bad("a container that ends behind the one it is in", "W-89", of(u8(CONTENT), v(2), u8(CONTENT), v(1), inside))
    file.bad("a container that ends in a code", "W-89", of(u8(CONTENT), v(1), u8(0x19), v(0)))
    file.bad("a container of 2^64 - 1 bytes", "W-89", of(u8(CONTENT), v((1 << 64) - 1), inside))
    compact, plain = nested(8)
    file.good("containers 8 deep", "W-91", of(compact), shown(plain))
    file.bad("containers 9 deep", "W-91", of(nested(9)[0]), error="tlvTooDeep")


def limits(file):
    file.good("1,024 TLVs", "W-91", of(repeat(u8(0x02) + v(0), 1024)), shown(repeat(joined(t(0x02)), 1024)))
    file.bad("1,025 TLVs", "W-91", of(repeat(u8(0x02) + v(0), 1025)), error="tooManyTLVs")
    inner = repeat(u8(0x02) + v(0), 1023)
    file.good("1,024 TLVs, nested ones counted", "W-91", of(u8(CONTENT), v(2046), inner),
              shown(t(0x0142, repeat(joined(t(0x02)), 1023))))
    file.bad("1,025 TLVs, nested ones counted", "W-91", of(u8(CONTENT), v(2046), inner, u8(0x02), v(0)),
             error="tooManyTLVs")
    # 7 bytes that expand to 40.
    compact, plain = u8(0x18) + v(0) * 3 + v(1) + v(0) * 2, joined(t(0x32, bytes(18 + 16)))
    rest = 17_408 - 420 * len(plain) - 6
    for name, count, error in (
        ("as long as the least limit", rest, None), ("a byte longer", rest + 1, "frameTooLarge")):
        filler = repeat(b"x", count)
        sent = of(repeat(compact, 420), u8(0x02), v(count), filler)
        file.add(f"a body that is {name}", "W-91", sent, [] if error else [shown(repeat(plain, 420), t(0x02, filler))],
                 error, max_body=17_408)
    file.good("the same where more was negotiated", "W-91", sent, shown(repeat(plain, 420), t(0x02, filler)))


PARTS = (integers, session_acks, bytes_of_values, escapes, containers, limits)
