"""Vectors of Specs/wire.md 7, 8 and 11: ack, ping, pong, and the life of a session."""

from expected.vector import VectorFile
from vector_bytes import repeat, t, times, u8, u16, u32, u64

FROM_SERVER = {"from": "server"}
LAST = (1 << 64) - 1
CREDIT = t(0x31, u64(1 << 20))
ECHO = t(0x30, u32(1234) + u32(250))
ECHO_SHOWN = {"timestamp": 1234, "held": 250}


def session_ack(session, cumulative, credit, *ranges):
    return t(0x32, u16(session) + u64(cumulative) + u64(credit) + b"".join(u64(a) + u64(b) for a, b in ranges))


def session_ack_shown(session, cumulative, credit, *ranges):
    return {"session": session, "cumulative": str(cumulative), "credit": str(credit),
            "ranges": [[str(a), str(b)] for a, b in ranges]}


def acks(file):
    def good(name, clauses, *entries):
        file.good(name, clauses, 0x2001, [CREDIT, [session_ack(*e) for e in entries]],
                  {"linkCredit": "1048576", "sessionAck": [session_ack_shown(*e) for e in entries]})

    def bad(name, clauses, *body, code="invalidValue"):
        file.bad(name, clauses, 0x2001, [CREDIT, *body], code)

    good("an ack of one session", "W-48", (0, 5, 0))
    good("an ack of two sessions, not in order", "W-48", (3, 1, 262_144), (1, LAST, LAST))
    good("a range of one", "W-48", (1, 5, 0, (7, 7)))
    good("ranges that ascend", "W-48", (1, 5, 0, (7, 9), (11, 11), (1 << 40, LAST)))
    good("32 ranges", "W-48", (1, 0, 0, *((n, n) for n in range(2, 66, 2))))
    file.good("an ack with an echo", "W-53", 0x2001, [CREDIT, session_ack(0, 5, 0), ECHO],
              {"linkCredit": "1048576", "sessionAck": [session_ack_shown(0, 5, 0)], "echo": ECHO_SHOWN})
    bad("33 ranges", "W-48", session_ack(1, 0, 0, *((n, n) for n in range(2, 68, 2))))
    bad("a range that touches the first number", "W-48", session_ack(1, 5, 0, (6, 7)))
    bad("a range below the first number", "W-48", session_ack(1, 5, 0, (2, 3)))
    bad("a range that ends before it begins", "W-48", session_ack(1, 5, 0, (9, 8)))
    bad("ranges that descend", "W-48", session_ack(1, 5, 0, (20, 21), (7, 9)))
    bad("ranges that overlap", "W-48", session_ack(1, 5, 0, (7, 9), (9, 11)))
    bad("a range behind the last number there is", "W-48", session_ack(1, LAST, 0, (0, 1)))
    bad("a range cut in half", "W-30 W-48", t(0x32, u16(1) + u64(5) + u64(0) + u64(7)))
    bad("an ack of a session without its credit", "W-30", t(0x32, u16(1) + u64(5)))
    bad("two echoes", "W-25", session_ack(0, 5, 0), ECHO, ECHO, code="duplicateField")
    bad("an echo of four bytes", "W-30 W-53", session_ack(0, 5, 0), t(0x30, u32(1)))
    file.bad("an ack without credit", "W-51 W-72", 0x2001, session_ack(0, 5, 0), "missingField")


def many_acks(file):
    many = [session_ack(n, 1, 0) for n in range(256)]
    file.good("256 sessions", "W-48", 0x2001, [CREDIT, many], {
        "linkCredit": "1048576", "sessionAck": [session_ack_shown(n, 1, 0) for n in range(256)]})


def too_many_acks(file):
    many = [session_ack(n, 1, 0) for n in range(257)]
    file.bad("257 sessions", "W-25 W-48", 0x2001, [CREDIT, many], "tooManyTLVs")


def pings(file):
    file.good("a ping", "W-70", 0x3001, t(0x33, u64(LAST)), {"nonce": str(LAST)})
    file.good("a pong", "W-53 W-70", 0x3002, [t(0x33, u64(7)), ECHO], {"nonce": "7", "echo": ECHO_SHOWN})
    file.bad("a ping without its nonce", "W-70 W-72", 0x3001, [], "missingField")
    file.bad("a nonce of seven bytes", "W-30", 0x3001, t(0x33, u64(7)[1:]), "invalidValue")
    file.bad("a nonce of nine bytes", "W-30", 0x3001, t(0x33, b"\x00" + u64(7)), "invalidValue")
    file.bad("two nonces", "W-25", 0x3001, t(0x33, u64(7)) * 2, "duplicateField")
    file.good("a pong with a reconnectSpread", "W-70 C-93", 0x3002, [t(0x33, u64(7)), ECHO, t(0xB0, u32(0))],
              {"nonce": "7", "echo": ECHO_SHOWN, "reconnectSpread": 0}, FROM_SERVER)
    file.bad("a pong without its echo", "W-53", 0x3002, t(0x33, u64(7)), "missingField")
    file.bad("a pong without its nonce", "W-70", 0x3002, ECHO, "missingField")


def opens(file):
    room, kind, cursor = t(0x50, "lobby"), t(0x51, u8(0)), t(0x52, u64(0))
    shown = {"room": "lobby", "sessionKind": 0, "cursor": "0"}

    def bad(name, clauses, code, *body):
        file.bad(name, clauses, 0x5001, body, code)

    file.good("the least open", "W-55", 0x5001, [room, kind, cursor], shown)
    file.good("an open with everything", "W-55", 0x5001, [room, t(0x51, u8(3)), t(0x52, u64(LAST)),
              t(0x59, u64(LAST)), t(0x56, u32(50)), t(0x58, u8(1))], {
                  "room": "lobby", "sessionKind": 3, "cursor": str(LAST), "log": str(LAST), "tail": 50, "noLocal": 1})
    file.good("an open of log 0", "W-55", 0x5001, [room, kind, cursor, t(0x59, u64(0))], shown | {"log": "0"})
    file.good("a server opens a session", "W-54", 0x5001, [room, kind, cursor], shown, FROM_SERVER, session=2)
    file.good("the last session of a client", "W-54", 0x5001, [room, kind, cursor], shown, session=65_535)
    for i, name in enumerate(["room", "sessionKind", "cursor"]):
        bad(f"an open without {name}", "W-55 W-72", "missingField",
            *[f for k, f in enumerate([room, kind, cursor]) if k != i])
    file.good("a room of 128 bytes", "W-31", 0x5001, [t(0x50, "r" * 128), kind, cursor],
              shown | {"room": times("r", 128)})
    bad("a room of 129 bytes", "W-31", "invalidValue", t(0x50, "r" * 129), kind, cursor)
    bad("a room without a name", "W-31", "invalidValue", t(0x50), kind, cursor)
    bad("a room with a tabulator", "W-31", "invalidValue", t(0x50, "a\tb"), kind, cursor)
    bad("a room whose name reads from right to left", "W-31", "invalidValue", t(0x50, "a\u202eb"), kind, cursor)
    bad("a room with a byte order mark", "W-31", "invalidValue", t(0x50, "\ufefflobby"), kind, cursor)
    bad("a room that ends with a blank", "W-31", "invalidValue", t(0x50, "lobby "), kind, cursor)
    bad("a session of kind 200", "W-55", "invalidValue", room, t(0x51, u8(200)), cursor)
    bad("noLocal 2", "W-55", "invalidValue", room, kind, cursor, t(0x58, u8(2)))
    bad("two rooms", "W-25", "duplicateField", room, room, kind, cursor)


def openeds(file):
    head, first = t(0x53, u64(9)), t(0x54, u64(3))
    file.good("opened, an empty room", "W-56", 0x5002, [t(0x53, u64(0)), t(0x54, u64(1))],
              {"head": "0", "first": "1"}, FROM_SERVER)
    file.good("opened with members", "W-56", 0x5002, [head, first, t(0x55, "ada"), t(0x55, "bob")],
              {"head": "9", "first": "3", "member": ["ada", "bob"]}, FROM_SERVER)
    file.good("opened with its log", "W-56", 0x5002, [head, first, t(0x59, u64(LAST))],
              {"head": "9", "first": "3", "log": str(LAST)}, FROM_SERVER)
    file.good("opened with the part of an earlier log", "W-56", 0x5002,
              [head, first, t(0x59, u64(LAST)), t(0x62, u64(5))],
              {"head": "9", "first": "3", "log": str(LAST), "upTo": "5"}, FROM_SERVER)
    file.bad("opened with two parts of an earlier log", "W-25", 0x5002,
             [head, first, t(0x62, u64(5)), t(0x62, u64(5))], "duplicateField", FROM_SERVER)
    file.good("opened with the highest counter of the device", "W-56", 0x5002, [head, first, t(0x40, u64(7))],
              {"head": "9", "first": "3", "counter": "7"}, FROM_SERVER)
    file.bad("opened with the counter 0", "W-30", 0x5002, [head, first, t(0x40, u64(0))], "invalidValue", FROM_SERVER)
    file.bad("opened with a log of seven bytes", "W-30", 0x5002, [head, first, t(0x59, u64(7)[1:])], "invalidValue",
             FROM_SERVER)
    file.bad("opened without a head", "W-56", 0x5002, first, "missingField", FROM_SERVER)
    file.bad("opened without a first", "W-56", 0x5002, head, "missingField", FROM_SERVER)
    member = repeat(bytes.fromhex("0055 00000001 61"), 256)
    file.good("256 members", "W-25", 0x5002, [head, first, member],
              {"head": "9", "first": "3", "member": times(["a"], 256)}, FROM_SERVER)
    file.bad("257 members", "W-25", 0x5002, [head, first, member, t(0x55, "a")], "tooManyTLVs", FROM_SERVER)
    file.bad("an empty member", "W-31", 0x5002, [head, first, t(0x55)], "invalidValue", FROM_SERVER)
    file.bad("a member of no width", "W-31", 0x5002, [head, first, t(0x55, "\u200b")], "invalidValue", FROM_SERVER)


def ends(file):
    code = t(0x01, u16(0x0302))
    file.good("a close that says nothing", "W-57", 0x5003, [], {})
    file.good("a close with its reason", "W-57", 0x5003, [t(0x01, u16(0)), t(0x02, "bye")],
              {"code": 0, "reason": "bye"})
    file.bad("a close with a code of one byte", "W-30", 0x5003, t(0x01, u8(0)), "invalidValue")
    file.good("the least reset", "W-57", 0x5004, [t(0x57, u16(1)), code], {"session": 1, "code": 0x0302})
    file.good("a reset with everything", "W-57", 0x5004,
              [t(0x57, u16(65_535)), code, t(0x02, "gone"), t(0x34, u64(1 << 33))],
              {"session": 65_535, "code": 0x0302, "reason": "gone", "creditUsed": str(1 << 33)}, FROM_SERVER)
    file.good("a reset with a retryAfter", "W-57 W-103", 0x5004, [t(0x57, u16(1)), code, t(0x03, u32(500))],
              {"session": 1, "code": 0x0302, "retryAfter": 500})
    file.bad("a reset of session 0", "W-57", 0x5004, [t(0x57, u16(0)), code], "invalidValue")
    file.bad("a reset of no session", "W-57", 0x5004, code, "missingField")
    file.bad("a reset without a code", "W-57", 0x5004, t(0x57, u16(1)), "missingField")
    file.bad("a reset whose reason is not UTF-8", "W-30 W-72", 0x5004, [t(0x57, u16(1)), code, t(0x02, b"\xff")],
             "invalidValue")
    file.good("a suspend", "W-58", 0x5005, [], {})
    file.good("a suspend with a field that it does not have", "W-28", 0x5005, t(0x52, b"any"), {})
    file.good("a resume", "W-58", 0x5006, [], {})
    file.good("a resume from a cursor", "W-58", 0x5006, t(0x52, u64(41)), {"cursor": "41"})
    file.bad("a resume from two cursors", "W-25", 0x5006, t(0x52, u64(41)) * 2, "duplicateField")


def updates(file):
    least = {
        "room": t(0x50, "lobby"), "membership": t(0xA1, u8(2)), "head": t(0x53, u64(0)), "first": t(0x54, u64(1)),
    }
    shown = {"room": "lobby", "membership": 2, "head": "0", "first": "1"}
    zeros = [t(0xA7, u8(0)), t(0xA5, u64(0)), t(0xA4, u64(0)), t(0xA6, u32(0))]
    file.good("an update without fields", "W-102", 0x5007, [], {}, FROM_SERVER)
    file.good("the least entry of an update", "W-102", 0x5007, [*least.values()], shown, FROM_SERVER)
    file.good("an update with fields of 0", "W-102", 0x5007, [*least.values(), *zeros], shown, FROM_SERVER)
    for name in least:
        body = [tlv for key, tlv in least.items() if key != name]
        file.bad(f"an update without {name}", "W-102", 0x5007, body, "missingField", FROM_SERVER)


def make():
    link = VectorFile("acks", "ack, ping and pong (wire.md 7, 11).")
    acks(link)
    too_many_acks(link)
    pings(link)
    many = VectorFile("acks-many", "The largest ack (wire.md 7.1).")
    many_acks(many)
    life = VectorFile("sessions", "open, opened, close, reset, suspend and resume (wire.md 8).")
    opens(life)
    openeds(life)
    ends(life)
    updates(life)
    return [link, many, life]
