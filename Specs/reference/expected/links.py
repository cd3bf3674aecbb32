"""Vectors of Specs/session.md 12: the valid frames that a server refuses because of the state of the link."""

from expected.vector import RELIABLE, VectorFile
from vector_bytes import compact, frame, repeat, size, t, u8, u16, u32, u64

LEAST = 17_408
CREDIT = t(0x31, u64(1 << 20))


def reliable(kind, body, sequence, session=1, flags=RELIABLE):
    return frame(kind, body, session=session, sequence=sequence, flags=flags)


def opening(session=1, room=None, kind=0, sequence=1):
    name = f"room {session}" if room is None else room
    return reliable(0x5001, [t(0x50, name), t(0x51, u8(kind)), t(0x52, u64(0))], sequence, session)


def post(counter, length, sequence, session=1):
    """A message with a body of `length` bytes."""
    head = [t(0x40, u64(counter)), t(0x41, u16(0xF000))]
    fill = length - size(head) - 12
    content = [b"\x01\x42" + u32(fill + 6), b"\x02\x02" + u32(fill), repeat(b"\x00", fill)]
    return reliable(0x1000, [head, content], sequence, session)


def closing(sequence, session=1):
    return reliable(0x5003, [], sequence, session)


def reset(session, sequence, code=0x0407, used=None):
    more = [] if used is None else t(0x34, u64(used))
    return reliable(0x5004, [t(0x57, u16(session)), t(0x01, u16(code)), more], sequence, 0)


def ack(*entries):
    return frame(0x2001, [CREDIT, [
        t(0x32, u16(session) + u64(cumulative) + u64(0) + b"".join(u64(a) + u64(b) for a, b in ranges))
        for session, cumulative, *ranges in entries]])


def ping(number):
    return frame(0x3001, t(0x33, u64(number)))


class Links(VectorFile):
    needs = "link state"

    def link(self, name, clauses, *pieces, error=None, resets=(), **limits):
        vector = {"name": name, "clauses": clauses.split()}
        if limits:
            vector["limits"] = limits
        vector["bytes"] = compact(list(pieces))
        if error:
            vector["error"] = error
        if resets:
            vector["resets"] = [{"session": session, "code": code} for session, code in resets]
        self.vectors.append(vector)


def acknowledgements(file):
    file.link("an ack of nothing", "W-50", opening(), ack((0, 0), (1, 0)))
    file.link("an ack of what was never sent", "W-50 S-23", ack((0, 1)), error="ackUnsent")
    file.link("an ack far beyond what was sent", "W-50 S-23", opening(), ack((1, 1 << 40)), error="ackUnsent")
    file.link("a range of what was never sent", "W-50 S-23", opening(), ack((1, 0, (100, 101))), error="ackUnsent")
    file.link("an ack of a session that is not there", "S-21", ack((0, 0), (7, 3)))
    file.link("an ack that names a session that is not there twice", "S-21", ack((7, 3), (7, 3)))
    file.link("an ack that names a session twice", "S-21", ack((0, 0), (0, 0)), error="protocolViolation")
    for what, ranges in (("that touches what is in order", [(1, 2)]), ("that ends before it begins", [(5, 4)]),
                         ("that meets the one before", [(3, 5), (5, 6)])):
        file.link(f"an ack with a range {what}", "W-48 S-21", opening(), ack((1, 0, *ranges)), error="invalidValue")
    file.link("an ack with ranges that touch each other, of what was never sent", "S-21 S-23", opening(),
              ack((1, 0, (3, 4), (5, 6))), error="ackUnsent")


def credit(file):
    half = LEAST // 2
    file.link("a session's window, met", "W-51 W-52", opening(), post(1, half, 2), post(2, half, 3),
              sessionWindow=LEAST)
    file.link("a session's window, passed by one", "W-52 S-36", opening(), post(1, half, 2), post(2, half + 1, 3),
              error="creditExceeded", sessionWindow=LEAST)
    file.link("the link's window, met by two sessions", "W-51 W-52", opening(), opening(3), post(1, half, 2),
              post(2, half, 2, session=3), linkWindow=LEAST)
    file.link("the link's window, passed by one by two sessions", "W-52 S-36", opening(), opening(3), post(1, half, 2),
              post(2, half + 1, 2, session=3), error="creditExceeded", linkWindow=LEAST)
    file.link("a frame that comes again is not charged again", "W-52 S-35", opening(), post(1, LEAST, 2),
              post(1, LEAST, 2), sessionWindow=LEAST)
    file.link("what is held behind a gap is charged", "S-36", opening(), post(2, half, 3), post(3, half + 1, 4),
              error="creditExceeded", sessionWindow=LEAST)
    quarter = [post(n, 16_384, n + 1) for n in range(1, 5)]
    file.link("signaling has 64 KiB", "W-51", opening(kind=2), quarter)
    file.link("signaling has 64 KiB and no more", "W-51 W-52", opening(kind=2), quarter, post(5, 50, 6),
              error="creditExceeded")
    file.link("frames that cost no credit", "S-34", opening(), [
        reliable(0x2002, [t(0x61, u8(1)), t(0x62, u64(0)), t(0x3000, repeat(b"\x00", LEAST - 100))], n)
        for n in (2, 3)], sessionWindow=LEAST)


def sessions(file):
    file.link("a session", "W-55 W-57", opening(), post(1, 100, 2), closing(3))
    file.link("open with another sequence than 1", "S-3", opening(sequence=2), error="protocolViolation")
    file.link("open of a session that is in use", "W-54 S-3", opening(), opening(sequence=2),
              error="protocolViolation")
    file.link("opened for a session that its sender opened", "S-5", opening(), reliable(
        0x5002, [t(0x53, u64(0)), t(0x54, u64(1))], 2), error="protocolViolation")
    file.link("a frame behind close", "W-57 S-7", opening(), closing(2), post(1, 100, 3), error="protocolViolation")
    file.link("a frame of a session that is not open", "W-59 S-15", post(1, 100, 1, session=5),
              resets=[(5, "unknownSession")])
    file.link("two frames of a session that is not open, told once", "W-59 S-15", post(1, 100, 1, session=5),
              post(2, 100, 2, session=5), resets=[(5, "unknownSession")])
    file.link("a typing of a session that is not open", "W-59 S-15", frame(0x1001, t(0x81, u8(1)), session=5))
    deep = [b"\x01\x42" + u32(6 * (8 - level)) for level in range(9)]
    for what, kind, body in (
            ("of an unknown critical tag", 0x5005, t(0x8999, b"")), ("of containers nested too deep", 0x1000, deep),
            ("of a body that is no TLVs", 0x2002, b"\0\0\0\0")):
        file.link(f"a frame {what} on a session that is not open", "W-8 W-59 S-15", reliable(kind, body, 1, session=5),
                  resets=[(5, "unknownSession")])
    for what, kind, body in (("accepted", 0x2003, t(0x60, u64(1) + u32(1) + u64(1))),
                             ("gap", 0x2004, [t(0x54, u64(1)), t(0x62, u64(1))])):
        file.link(f"{what} from a client on a session that is not open", "W-8 W-74",
                  reliable(kind, body, 1, session=5), error="protocolViolation")
    file.link("open of a session whose body is no TLVs", "W-8 S-3", reliable(0x5001, b"\0\0\0\0", 1),
              error="malformedTLV")
    file.link("open of a session that ended lately", "W-54 S-14", opening(), reset(1, 1, used=0), opening(room="two"))
    file.link("as many sessions as negotiated", "S-4", opening(), opening(3), maxSessions=2)
    file.link("a session more than negotiated", "S-4", opening(), opening(3), opening(5),
              resets=[(5, "tooManySessions")], maxSessions=2)
    file.link("a message without a counter costs its session", "W-72 R-24", opening(), reliable(
        0x1000, [t(0x41, u16(0xF000)), t(0x0142)], 2), resets=[(1, "missingField")])


def resets(file):
    file.link("a reset that says what was used", "S-11", opening(), post(1, 100, 2), reset(1, 1, used=100))
    file.link("a reset that says more, for what was lost", "S-11", opening(), post(1, 100, 2), reset(1, 1, used=5000))
    file.link("a reset that says less than was received", "S-11", opening(), post(1, 100, 2), reset(1, 1, used=99),
              error="protocolViolation")
    file.link("a reset that says more than the link has", "S-11", opening(), reset(1, 1, used=LEAST + 1),
              error="creditExceeded", linkWindow=LEAST)
    file.link("a reset of a session that never was, and then its open", "S-12", reset(1, 1), opening())


def floods(file):
    file.link("255 sessions at once", "W-59 S-4", [opening(2 * n + 1) for n in range(255)])
    file.link("100 pings", "W-71", [ping(n) for n in range(100)])
    file.link("32 unknown frames", "W-73", [frame(0x7000)] * 32)


def more_floods(file):
    # The reset of the 256th may be lost with the connection (S-10, C-40).
    file.link("257 sessions at once", "W-59 S-4", [opening(2 * n + 1) for n in range(257)], error="churnLimit")
    file.link("101 pings", "W-71", [ping(n) for n in range(101)], error="controlFlood")
    file.link("33 unknown frames", "W-73", [frame(0x7000)] * 33, error="unknownFlood")


def windows(file):
    file.link("reliable frames of an unknown type take their place", "W-73 S-19", opening(),
              reliable(0x7000, b"any", 2), post(1, 100, 3), closing(4))
    for length, body in (("", b""), (" and a body", b"any")):
        file.link(f"an unknown reliable type with moreFragments{length}, then a message", "W-13 S-42", opening(),
                  reliable(0x7000, body, 2, flags=RELIABLE | 2), post(1, 100, 3), closing(4))
    file.link("an empty fragment of a message", "W-8 S-42", opening(),
              reliable(0x1000, b"", 2, flags=RELIABLE | 2), error="protocolViolation")
    file.link("a frame of an unknown type between fragments", "W-21 S-42", opening(),
              reliable(0x1000, b"\0\x40\0\0", 2, flags=RELIABLE | 2), reliable(0x7000, b"any", 3),
              error="protocolViolation")
    file.link("a sequence beyond the window", "W-14", opening(), post(1, 100, 8194), error="outOfWindow")
    file.link("a sequence at the window's end", "W-14", opening(), post(1, 100, 8193))


def make():
    links = Links("links", "What a server refuses of a link, though every frame is right by itself (session.md 12).")
    for part in (acknowledgements, credit, sessions, resets, windows):
        part(links)
    many = Links("floods", "What a server bounds by number (session.md 12).")
    floods(many)
    more = Links("floods-beyond", "What a server ends a connection for, bounded by number (session.md 12).")
    more_floods(more)
    return [links, many, more]
