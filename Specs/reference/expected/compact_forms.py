"""Vectors of Specs/wire.md 15.5: every form."""

from expected.packet import (
    BEGIN, BEGIN_FRAME, FIRST, RELIABLE, TEXT, UNRELIABLE, accepted, ack, cf, compact_ping, delivery, packet, ping, s,
    suspend, text, v,
)
from vector_bytes import frame, repeat, t, u8, u16, u32, u64

SECOND = {"session": 1, "sequence": 2}
THIRD = {"session": 1, "sequence": 3}
BOB = u8(0x80) + u64(9) + v(3) + b"bob"

def utf16(words):
    return words.encode("utf-16-be")


# By form: the type, its fields as compact TLVs and as TLVs, and whether it is on session 0, as in 13.1.
TYPES = [
    (0x01, 0x1000, [u8(0x1B) + v(5), u8(0x1C) + v(0x1001), u8(0x36) + v(5), u8(0x37) + v(3) + b"hi!"],
     [t(0x40, u64(5)), TEXT, t(0x0142, t(0x0201, "hi!"))], False),
    (0x02, 0x1001, u8(0x32) + v(2), t(0x80, u8(2)), False),
    (0x03, 0x2001, [u8(0x17) + v(900), u8(0x18) + v(1) + v(7) + v(800) + v(1) + v(9) + v(12)],
     [t(0x31, u64(900)), t(0x32, u16(1) + u64(7) + u64(800) + u64(9) + u64(12))], True),
    (0x04, 0x2002, [u8(0x2B) + v(2), u8(0x2C) + v(300)], [t(0x61, u8(2)), t(0x62, u64(300))], False),
    (0x05, 0x2003, u8(0x2A) + v(4) + v(2) + v(900), t(0x60, u64(4) + u32(2) + u64(900)), False),
    (0x06, 0x2004, [u8(0x25) + v(5), u8(0x2C) + v(9)], [t(0x54, u64(5)), t(0x62, u64(9))], False),
    (0x07, 0x3001, u8(0x19) + v(7), t(0x33, u64(7)), True),
    (0x08, 0x3002, [u8(0x19) + v(7), u8(0x16) + v(1234) + v(250)], [t(0x33, u64(7)), t(0x30, u32(1234) + u32(250))],
     True),
    (0x0D, 0x5001, [u8(0x21) + v(5) + b"lobby", u8(0x22) + v(0), u8(0x23) + v(5), u8(0x29) + v(1)],
     [t(0x50, "lobby"), t(0x51, u8(0)), t(0x52, u64(5)), t(0x58, u8(1))], False),
    (0x0E, 0x5002, [u8(0x24) + v(9), u8(0x25) + v(3), u8(0x26) + v(3) + b"ada"],
     [t(0x53, u64(9)), t(0x54, u64(3)), t(0x55, "ada")], False),
    (0x0F, 0x5003, u8(0x02) + v(3) + b"bye", t(0x02, "bye"), False),
    (0x10, 0x5004, [u8(0x28) + v(1), u8(0x01) + v(0x0305), u8(0x1A) + v(5)],
     [t(0x57, u16(1)), t(0x01, u16(0x0305)), t(0x34, u64(5))], True),
    (0x11, 0x5005, [], [], False),
    (0x12, 0x5006, u8(0x23) + v(5), t(0x52, u64(5)), False),
    (0x13, 0x6001, [u8(0x2D) + v(3), u8(0x2E) + v(4) + b"roll", u8(0x2F) + v(5000), u8(0x36) + v(0)],
     [t(0x70, u64(3)), t(0x71, "roll"), t(0x72, u32(5000)), t(0x0142)], False),
    (0x14, 0x6002, [u8(0x2D) + v(3), u8(0x31) + v(0)], [t(0x70, u64(3)), t(0x74, u16(0))], False),
    (0x15, 0x6003, u8(0x2D) + v(3), t(0x70, u64(3)), False),
]
NOT_RELIABLE = (0x1001, 0x2001, 0x3001, 0x3002)


def types(file):
    for form, kind, compact, body, on_link in TYPES:
        reliable = kind not in NOT_RELIABLE
        session, flags = (0, 0x08 | reliable) if on_link else (1, RELIABLE if reliable else UNRELIABLE)
        announced = {"sequence": 2} if on_link and reliable else {}
        file.good(f"the form 0x{form:02X}", "W-81 W-89", packet(BEGIN, cf(form, compact, **announced)), BEGIN_FRAME,
                  frame(kind, body, session=session, sequence=2 if reliable else 0, flags=flags))
    file.good("fields in another order, and one that the type does not have", "W-89",
              packet(cf(0x08, u8(0x16) + v(1) + v(2), u8(0x02) + v(1) + b"?", u8(0x19) + v(7))),
              frame(0x3002, t(0x30, u32(1) + u32(2)), t(0x02, "?"), t(0x33, u64(7))))


def texts(file):
    file.good("the form text: counters go on, whatever the session", "W-84 W-86",
              packet(cf(0x20, "one", **FIRST, length=True), cf(0x20, "two", session=3, sequence=1, length=True),
                     cf(0x20, "three", session=1)),
              text(1, "one", **FIRST), text(2, "two", session=3, sequence=1), text(3, "three", **SECOND))
    file.good("the form text whose counter jumps", "W-84 W-86",
              packet(cf(0x22, s(56), "one", **FIRST, length=True), cf(0x20, "two", length=True),
                     cf(0x22, s(-3), "three", length=True), cf(0x20, "four")),
              text(57, "one", **FIRST), text(58, "two", **SECOND), text(56, "three", **THIRD),
              text(57, "four", session=1, sequence=4))
    file.good("a counter in TLVs leaves the form text as it is", "W-84",
              packet(cf(0x01, u8(0x1B) + v(500), **FIRST, length=True), cf(0x20, "one")),
              frame(0x1000, t(0x40, u64(500)), **FIRST, flags=RELIABLE), text(1, "one", **SECOND))
    for name, words in [("without bytes", ""), ("that is not UTF-8", b"\xff\xfe"), ("of 16 bytes", "😀" * 4)]:
        file.good(f"a text {name}", "W-86", packet(cf(0x20, words, **FIRST)), text(1, words, **FIRST))
    file.bad("the form text whose counter the payload ends in", "W-86", packet(cf(0x22, b"\x80", **FIRST)))
    file.good("the form text in UTF-16", "W-84 W-86",
              packet(cf(0x23, utf16("你好"), **FIRST, length=True), cf(0x20, "a", length=True), cf(0x23, utf16("é😀")),),
              text(1, "你好", **FIRST), text(2, "a", **SECOND), text(3, "é😀", **THIRD))
    for name, words in [
        ("without bytes", ""), ("of U+0000", "\0"), ("of U+D7FF and U+E000", "\ud7ff\ue000"),
        ("of U+FFFF and U+10FFFF", "\uffff\U0010ffff"), ("that begins with U+FEFF, which stays", "\ufeffa"),
        ("of 2,000 letters", "漢" * 2000),
    ]:
        file.good(f"a text in UTF-16 {name}", "W-86", packet(cf(0x23, utf16(words), **FIRST)), text(1, words, **FIRST))
    for name, units in [
        ("that ends in half a unit", "4f"), ("with half a unit behind it", "4f6059"),
        ("that ends in a high surrogate", "d83d"),
        ("with a low surrogate alone", "de00"), ("with a high surrogate before a letter", "d83d0041"),
        ("with two high surrogates", "d83dd83dde00"), ("with surrogates in the wrong order", "de00d83d"),
    ]:
        file.bad(f"a text in UTF-16 {name}", "W-86", packet(cf(0x23, bytes.fromhex(units), **FIRST)))
    for form, body in ((0x20, b"a"), (0x21, BOB + s(0) * 3), (0x22, s(0) + b"a"), (0x23, b"\0a"), (0x24, b""),
                       (0x25, s(0) + s(0) + v(1)), (0x26, b""), (0x27, b"\x00")):
        for value in (0, 1):
            file.bad(f"the form 0x{form:02X} with the compression {value}", "W-86",
                     packet(BEGIN, cf(form, body, compression=value)), BEGIN_FRAME)


def deliveries(file):
    def sent(place, *numbers, words="a", defined=b""):
        return cf(0x21, u8(place | (0x80 if defined else 0)), defined, *map(s, numbers), words, length=True)

    ada, bob = u64(8) + v(3) + b"ada", u64(9) + v(3) + b"bob"
    start = cf(0x21, BOB, s(69), s(1000), s(4), "a", **FIRST, length=True)
    begun = delivery(70, 1000, 9, "bob", 5, "a", **FIRST)
    file.good("deliveries that go on", "W-87", packet(start, sent(0, 0, 0, 0), sent(0, 2, 500, 1)), begun,
              delivery(71, 1000, 9, "bob", 6, "a", **SECOND), delivery(74, 1500, 9, "bob", 8, "a", **THIRD))
    file.good("deliveries that go back", "W-87", packet(start, sent(0, -3, -500, -2), sent(0, -1, -1, -1)), begun,
              delivery(68, 500, 9, "bob", 4, "a", **SECOND), delivery(68, 499, 9, "bob", 4, "a", **THIRD))
    file.good("deliveries modulo 2^64", "W-80 W-87", packet(start, sent(0, -72, -1001, -7)), begun,
              delivery((1 << 64) - 1, (1 << 64) - 1, 9, "bob", (1 << 64) - 1, "a", **SECOND))
    file.good("an author who is defined again, and then begins with the counter 1", "W-87",
              packet(start, sent(0, 0, 0, 0, defined=bob), sent(0, 0, 0, 0)), begun,
              delivery(71, 1000, 9, "bob", 1, "a", **SECOND), delivery(72, 1000, 9, "bob", 2, "a", **THIRD))
    file.good("an author in another's place", "W-87",
              packet(start, sent(0, 0, 0, 6, defined=ada), sent(0, 0, 0, 0)), begun,
              delivery(71, 1000, 8, "ada", 7, "a", **SECOND), delivery(72, 1000, 8, "ada", 8, "a", **THIRD))
    names = "abcdefgh"
    eight = [sent(place, 0, 0, 0, defined=u64(place) + v(1) + name.encode()) for place, name in enumerate(names)]
    file.good("eight authors, and the first again", "W-84 W-87", packet(BEGIN, eight, sent(0, 0, 0, 0)), BEGIN_FRAME,
              *(delivery(n + 1, 0, n, name, 1, "a", session=1, sequence=n + 2) for n, name in enumerate(names)),
              delivery(9, 0, 0, "a", 2, "a", session=1, sequence=10))
    file.good("offsets are the session's, times and authors the direction's", "W-84 W-87",
              packet(start, cf(0x21, u8(0), s(0), s(0), s(0), "b", session=3, sequence=1, length=True),
                     cf(0x21, u8(0), s(0), s(0), s(0), "c", session=1)),
              begun, delivery(1, 1000, 9, "bob", 6, "b", session=3, sequence=1),
              delivery(71, 1000, 9, "bob", 7, "c", **SECOND))
    file.bad("an author who is not defined", "W-85 W-87", packet(start, sent(1, 0, 0, 0)), begun)
    file.good("a delivery in UTF-16", "W-87",
              packet(start, cf(0x21, u8(0x40), s(0) * 3, utf16("你好😀"), length=True), sent(0, 0, 0, 0)), begun,
              delivery(71, 1000, 9, "bob", 6, "你好😀", **SECOND), delivery(72, 1000, 9, "bob", 7, "a", **THIRD))
    file.good("a delivery in UTF-16 that defines its author", "W-87",
              packet(BEGIN, cf(0x21, u8(0xC3), u64(9), v(3), "bob", s(0) * 3, utf16("你"))), BEGIN_FRAME,
              delivery(1, 0, 9, "bob", 1, "你", **SECOND))
    for units in ("4f", "d83d", "de00"):
        file.bad(f"a delivery in UTF-16 of {units}", "W-86 W-87",
                 packet(start, cf(0x21, u8(0x40), s(0) * 3, bytes.fromhex(units))), begun)
    for bit in (0x08, 0x10, 0x20):
        file.bad(f"the bit 0x{bit:02X} of a delivery", "W-87", packet(start, sent(bit, 0, 0, 0)), begun)
    for length in (1, 128):
        name = repeat(b"n", length)
        file.good(f"a sender of {length} bytes", "W-87",
                  packet(BEGIN, sent(7, 0, 0, 0, defined=[u64(1), v(length), name])), BEGIN_FRAME,
                  delivery(1, 0, 1, name, 1, "a", **SECOND))
    for length in (0, 129):
        file.bad(f"a sender of {length} bytes", "W-87",
                 packet(BEGIN, sent(7, 0, 0, 0, defined=[u64(1), v(length), repeat(b"n", length)])), BEGIN_FRAME)
    file.bad("a sender that the body ends in", "W-87",
             packet(BEGIN, cf(0x21, u8(0x80), u64(1), v(9), "n", length=True), compact_ping(0)), BEGIN_FRAME)
    file.bad("a delivery that ends before its counter", "W-87", packet(start, cf(0x21, u8(0), s(0), s(0))), begun)
    file.good("a delivery without a text", "W-87", packet(start, sent(0, 0, 0, 0, words="")), begun,
              delivery(71, 1000, 9, "bob", 6, "", **SECOND))


def accepteds(file):
    start = cf(0x25, s(4), s(99), v(1), **FIRST)
    begun = accepted(5, 1, 100, **FIRST)
    file.good("accepted at once", "W-86", packet(cf(0x24, **FIRST), cf(0x24)), accepted(1, 1, 1, **FIRST),
              accepted(2, 1, 2, **SECOND))
    file.good("accepted that goes on", "W-86", packet(start, cf(0x24), cf(0x25, s(0), s(3), v(1)), cf(0x24)), begun,
              accepted(6, 1, 101, **SECOND), accepted(7, 1, 105, **THIRD), accepted(8, 1, 106, session=1, sequence=4))
    file.good("a run, and what goes on behind its last message", "W-86",
              packet(start, cf(0x25, s(0), s(0), v(3)), cf(0x24)), begun, accepted(6, 3, 101, **SECOND),
              accepted(9, 1, 104, **THIRD))
    file.good("accepted at the offset 0, and one that goes back", "W-80 W-86",
              packet(start, cf(0x25, s(1), s(-101), v(1)), cf(0x25, s(-6), s(4), v(1))), begun,
              accepted(7, 1, 0, **SECOND), accepted(2, 1, 5, **THIRD))
    file.good("counters and offsets are the session's", "W-84 W-86",
              packet(start, cf(0x24, session=3, sequence=1), cf(0x24, session=1)), begun,
              accepted(1, 1, 1, session=3, sequence=1), accepted(6, 1, 101, **SECOND))
    file.good("accepted in TLVs leaves the forms accepted as they are", "W-84",
              packet(start, cf(0x05, u8(0x2A) + v(700) + v(1) + v(800), length=True), cf(0x24)), begun,
              accepted(700, 1, 800, **SECOND), accepted(6, 1, 101, **THIRD))
    for count in (0, 0xFFFFFFFF):
        file.good(f"a run of {count:,}", "W-86", packet(start, cf(0x25, s(0), s(0), v(count))), begun,
                  accepted(6, count, 101, **SECOND))
    file.bad("a run of 2^32", "W-86 W-90", packet(start, cf(0x25, s(0), s(0), v(1 << 32))), begun)


def acks(file):
    file.good("the next ack", "W-86 W-88", packet(BEGIN, cf(0x26), cf(0x26)), BEGIN_FRAME, ack(1, 1), ack(1, 2))
    rows = [
        ("nothing", 0, [], ack(1, 1)), ("another session", 0x01, [v(3)], ack(3, 1)),
        ("session 0", 0x01, [v(0)], ack(0, 1)), ("session 65,535", 0x01, [v(65_535)], ack(65_535, 1)),
        ("cumulative", 0x02, [v(7)], ack(1, 7)), ("credit", 0x04, [v(500)], ack(1, 1, 500)),
        ("link credit", 0x08, [v(600)], ack(1, 1, 0, 600)),
        ("an echo", 0x10, [v(1234), v(250)], ack(1, 1, echo=(1234, 250))),
        ("everything", 0x1F, [v(3), v(7), v(500), v(600), v(1234), v(250)], ack(3, 7, 500, 600, (1234, 250))),
    ]
    for name, bits, parts, frame_ in rows:
        file.good(f"an ack that announces {name}", "W-88", packet(BEGIN, cf(0x27, u8(bits), *parts)), BEGIN_FRAME,
                  frame_)
    everything = cf(0x27, u8(0x1F), *rows[-1][2])
    file.good("acks go on where the last one ended", "W-84 W-88",
              packet(BEGIN, everything, cf(0x27, u8(0x1F), *map(v, (3, 2, 5, 6, 100, 9))), cf(0x27, u8(0x00)),
                     cf(0x27, u8(0x01), v(3)), cf(0x27, u8(0x02), v(0)), cf(0x26)),
              BEGIN_FRAME, rows[-1][3], ack(3, 9, 505, 606, (1334, 9)), ack(1, 1, 0, 606), ack(3, 10, 505, 606),
              ack(1, 1, 0, 606), ack(1, 2, 0, 606))
    back = [v(3), *map(v, [(1 << 64) - 1] * 3), v(0xFFFFFFFF), v(0xFFFFFFFF)]
    file.good("an ack modulo 2^64, and its echo modulo 2^32", "W-80 W-88",
              packet(BEGIN, everything, cf(0x27, u8(0x1F), *back)),
              BEGIN_FRAME, rows[-1][3], ack(3, 6, 499, 599, (1233, 0xFFFFFFFF)))
    file.good("the session of an ack does not become the context's", "W-88",
              packet(BEGIN, cf(0x27, u8(0x01), v(3)), cf(0x11)), BEGIN_FRAME, ack(3, 1), suspend(2))
    file.good("an ack in TLVs leaves the forms ack as they are", "W-84",
              packet(BEGIN, cf(0x03, u8(0x17) + v(900), u8(0x18) + v(1) + v(7) + v(800) + v(0), length=True), cf(0x26)),
              BEGIN_FRAME, frame(0x2001, t(0x31, u64(900)), t(0x32, u16(1) + u64(7) + u64(800))), ack(1, 1))
    file.good("a ping behind an ack", "W-81", packet(BEGIN, cf(0x27, u8(0x02), v(7)), compact_ping(7)), BEGIN_FRAME,
              ack(1, 7), ping(7))
    for bit in (0x20, 0x40, 0x80):
        file.bad(f"the bit 0x{bit:02X} of an ack", "W-88", packet(BEGIN, cf(0x27, u8(bit))), BEGIN_FRAME)
    for name, bits, part in [("a session of 65,536", 0x01, v(65_536)), ("a delay of 2^32", 0x10, v(0) + v(1 << 32)),
                             ("an echo that the payload ends in", 0x10, v(0))]:
        file.bad(f"an ack with {name}", "W-88 W-90", packet(BEGIN, cf(0x27, u8(bits), part)), BEGIN_FRAME)
    for form, body in ((0x26, b""), (0x27, u8(0))):
        file.bad(f"the form 0x{form:02X} where no session was named", "W-85 W-88", packet(cf(form, body)))


PARTS = (types, texts, deliveries, accepteds, acks)
