"""Vectors of Specs/wire.md 9 and 10: data, transient, accepted, receipt, gap, request, response, cancel."""

from expected.vector import VectorFile
from vector_bytes import repeat, t, times, u8, u16, u32, u64

FROM_SERVER = {"from": "server"}
COUNTER, KIND, HI = t(0x40, u64(1)), t(0x41, u16(0x1001)), t(0x0142, t(0x0201, "hi"))
PLAIN = {"counter": "1", "kind": 0x1001, "content": [[0x0201, "6869"]]}
RELAYED = [t(0x48, u64(12)), t(0x49, u64(1_700_000_000_000)), t(0x11, u64(77)), t(0x4A, "ada")]
RELAYED_SHOWN = {"offset": "12", "acceptedAt": "1700000000000", "device": "77", "sender": "ada"}
LAST = (1 << 64) - 1


def data(file):
    def refused(name, clauses, code, *body, given=None):
        file.refused(name, clauses, 0x1000, body, code, "message", given)

    file.good("a text", "W-60 W-63", 0x1000, [COUNTER, KIND, HI], PLAIN)
    file.good("a text with a time to live", "W-60", 0x1000, [COUNTER, KIND, HI, t(0x43, u32(60_000))],
              PLAIN | {"timeToLive": 60_000})
    file.good("the last counter", "W-60", 0x1000, [t(0x40, u64(LAST)), KIND, HI], PLAIN | {"counter": str(LAST)})
    file.good("a kind of an application, with an empty content", "W-60", 0x1000,
              [COUNTER, t(0x41, u16(0xFFFE)), t(0x0142)], {"counter": "1", "kind": 0xFFFE, "content": []})
    file.good("a kind without a row", "W-60", 0x1000, [COUNTER, t(0x41, u16(0x1FFF)), t(0x0142)],
              {"counter": "1", "kind": 0x1FFF, "content": []})
    file.good("a relayed text", "W-61", 0x1000, [RELAYED, COUNTER, KIND, HI], PLAIN | RELAYED_SHOWN, FROM_SERVER)
    file.good("a relayed text with an unknown tag of its sender", "W-28 W-61", 0x1000,
              [RELAYED, COUNTER, t(0x3000, b"x"), KIND, HI], PLAIN | RELAYED_SHOWN, FROM_SERVER)
    file.refused("a message without counter", "W-60 W-72", 0x1000, [KIND, HI], "missingField", "session")
    for missing, name in [(1, "kind"), (2, "content")]:
        body = [tlv for i, tlv in enumerate([COUNTER, KIND, HI]) if i != missing]
        refused(f"a message without {name}", "W-60 W-72", "missingField", *body)
    for twice, name in [(COUNTER, "counter"), (KIND, "kind"), (HI, "content"), (t(0x43, u32(1)) * 2, "timeToLive")]:
        refused(f"a message with {name} twice", "W-25 W-72", "duplicateField", COUNTER, KIND, HI, twice)
    for value, name in [(u64(0), "of 0"), (u32(1), "of four bytes")]:
        file.refused(f"a counter {name}", "W-30 W-60 W-72", 0x1000, [t(0x40, value), KIND, HI], "invalidValue",
                     "session")
    refused("a kind of four bytes", "W-30 W-72", "invalidValue", COUNTER, t(0x41, u32(0x1001)), HI)
    refused("a time to live of eight bytes", "W-30 W-72", "invalidValue", COUNTER, KIND, HI, t(0x43, u64(1)))
    for i, name in enumerate(RELAYED_SHOWN):
        refused(f"a client's message with {name}", "W-61", "invalidValue", RELAYED[i], COUNTER, KIND, HI)
        rest = [tlv for k, tlv in enumerate(RELAYED) if k != i]
        refused(f"a relay's message without {name}", "W-61", "invalidValue", rest, COUNTER, KIND, HI, given=FROM_SERVER)
    refused("a relay's message with none of its fields", "W-61", "invalidValue", COUNTER, KIND, HI, given=FROM_SERVER)
    refused("the offset 0", "W-61", "invalidValue", t(0x48, u64(0)), RELAYED[1:], COUNTER, KIND, HI, given=FROM_SERVER)


def texts(file):
    def refused(name, code, *content):
        file.refused(name, "W-63 W-72", 0x1000, [COUNTER, KIND, t(0x0142, *content)], code, "message")

    def good(name, clauses, *content, shown):
        file.good(name, clauses, 0x1000, [COUNTER, KIND, t(0x0142, *content)], PLAIN | {"content": shown})

    good("a text of one byte", "W-63", t(0x0201, "a"), shown=[[0x0201, "61"]])
    four = "\U0010ffff\u0000"
    good("a text of the last character and of U+0000", "W-30", t(0x0201, four), shown=[[0x0201, four.encode().hex()]])
    good("a text beside other fields", "W-63", t(0x0203, "n"), t(0x0201, "a"), shown=[[0x0203, "6e"], [0x0201, "61"]])
    good("a second text inside a container does not count", "W-63", t(0x0201, "a"), t(0x0150, t(0x0201, "b")),
         shown=[[0x0201, "61"], [0x0150, [[0x0201, "62"]]]])
    refused("a text without its field", "missingField")
    refused("a text whose field is inside a container", "missingField", t(0x0150, t(0x0201, "a")))
    refused("a text with its field twice", "duplicateField", t(0x0201, "a"), t(0x0201, "a"))
    refused("an empty text", "invalidValue", t(0x0201))
    for name, value in [
        ("a lone byte", b"\x80"), ("a sequence cut short", b"\xe2\x82"), ("an overlong slash", b"\xc0\xaf"),
        ("an overlong U+0000", b"\xe0\x80\x80"), ("a surrogate", b"\xed\xa0\x80"),
        ("beyond U+10FFFF", b"\xf4\x90\x80\x80"),
    ]:
        refused(f"a text that is not UTF-8: {name}", "invalidValue", t(0x0201, value))
    file.good("a content of a kind without rules may hold anything", "W-29", 0x1000,
              [COUNTER, t(0x41, u16(0xF000)), t(0x0142, t(0x0201, b"\xff"), t(0x0201))],
              {"counter": "1", "kind": 0xF000, "content": [[0x0201, "ff"], [0x0201, ""]]})
    file.good("a large text", "W-63", 0x1000, [COUNTER, KIND, t(0x0142, t(0x0201, repeat(b"abcdefgh", 2000)))],
              PLAIN | {"content": [[0x0201, times(b"abcdefgh".hex(), 2000)]]})


def transients(file):
    def bad(name, code, *body):
        file.bad(name, "W-67 W-72", 0x1001, body, code)

    typing, presence = t(0x81, u8(1)), t(0x80, u8(2))
    content = [KIND, HI]
    file.good("typing", "W-67", 0x1001, typing, {"typing": 1})
    file.good("presence, with its sender", "W-67", 0x1001, [presence, t(0x4A, "ada")], {"presence": 2, "sender": "ada"},
              FROM_SERVER)
    file.good("a message that is not kept", "W-67", 0x1001, content, {"kind": 0x1001, "content": [[0x0201, "6869"]]})
    bad("transient that says nothing", "missingField")
    bad("a kind without its content", "missingField", KIND)
    bad("a content without its kind", "missingField", HI)
    bad("typing and presence", "invalidValue", typing, presence)
    bad("typing and a content", "invalidValue", typing, *content)
    bad("typing 2", "invalidValue", t(0x81, u8(2)))
    bad("presence 3", "invalidValue", t(0x80, u8(3)))
    bad("typing twice", "duplicateField", typing, typing)
    bad("a transient text that is empty", "invalidValue", KIND, t(0x0142, t(0x0201)))


def accepteds(file):
    def run(counter, count, offset):
        return t(0x60, u64(counter) + u32(count) + u64(offset))

    def shown(*runs):
        keys = ("counter", "count", "offset")
        return {"acceptedRun": [dict(zip(keys, (str(a), b, str(c)))) for a, b, c in runs]}

    def good(name, *runs):
        file.good(name, "W-64", 0x2003, [run(*r) for r in runs], shown(*runs), FROM_SERVER)

    def bad(name, code, *body):
        file.bad(name, "W-64 W-72", 0x2003, body, code, FROM_SERVER)

    good("a run of one", (5, 1, 12))
    good("runs that are not in order", (500, 3, 900), (5, 2, 12))
    good("a run of one whose offset is no longer known", (5, 1, 0))
    good("the last counter and the last offset", (LAST, 1, LAST))
    bad("accepted without a run", "missingField")
    bad("a run of none", "invalidValue", run(5, 0, 12))
    bad("a run from counter 0", "invalidValue", run(0, 1, 12))
    bad("a run of two without an offset", "invalidValue", run(5, 2, 0))
    bad("a run of 19 bytes", "invalidValue", t(0x60, bytes(19)))
    bad("a run whose counters wrap", "invalidValue", run(LAST, 2, 12))
    bad("a run whose offsets wrap", "invalidValue", run(5, 2, LAST))
    runs = repeat(bytes.fromhex("006000000014 0000000000000005 00000001 000000000000000c"), 256)
    file.good("256 runs", "W-64 W-25", 0x2003, runs,
              {"acceptedRun": times([{"counter": "5", "count": 1, "offset": "12"}], 256)}, FROM_SERVER)
    file.good("an erased message", "M-37", 0x1000, [
        t(0x48, u64(1)), t(0x49, u64(2)), t(0x11, u64(3)), t(0x4A, "a"), t(0x40, u64(4)), t(0x41, u16(0x100F)),
        t(0x0142)],
        {"offset": "1", "acceptedAt": "2", "device": "3", "sender": "a", "counter": "4", "kind": 0x100F,
         "content": []}, FROM_SERVER)
    file.bad("257 runs", "W-25", 0x2003, [runs, run(5, 1, 12)], "tooManyTLVs", FROM_SERVER)


def receipts(file):
    def bad(name, code, *body):
        file.bad(name, "W-65 W-72", 0x2002, body, code)

    up_to, refused = t(0x62, u64(9)), [t(0x61, u8(3)), COUNTER, t(0x01, u16(0x0405))]
    file.good("delivered", "W-65", 0x2002, [t(0x61, u8(1)), up_to], {"receiptKind": 1, "upTo": "9"})
    file.good("read, with whose it is", "W-65", 0x2002, [t(0x61, u8(2)), up_to, t(0x4A, "ada"), t(0x11, u64(77))],
              {"receiptKind": 2, "upTo": "9", "sender": "ada", "device": "77"}, FROM_SERVER)
    file.good("refused", "W-65", 0x2002, refused, {"receiptKind": 3, "counter": "1", "code": 0x0405})
    file.good("refused with a reason", "W-65", 0x2002, [refused, t(0x02, "no")],
              {"receiptKind": 3, "counter": "1", "code": 0x0405, "reason": "no"})
    file.good("delivered, with fields of a refusal, which are ignored", "W-65", 0x2002,
              [t(0x61, u8(1)), up_to, COUNTER, t(0x02, "no")], {"receiptKind": 1, "upTo": "9"})
    file.good("refused, with fields of a mark, which are ignored", "W-65", 0x2002, [refused, up_to, t(0x11, u64(7))],
              {"receiptKind": 3, "counter": "1", "code": 0x0405})
    bad("a receipt of kind 0", "invalidValue", t(0x61, u8(0)), up_to)
    bad("a receipt of kind 4", "invalidValue", t(0x61, u8(4)), up_to)
    bad("a receipt without its kind", "missingField", up_to)
    bad("delivered up to nothing", "missingField", t(0x61, u8(1)))
    bad("refused without a counter", "missingField", t(0x61, u8(3)), t(0x01, u16(0x0405)))
    bad("refused without a code", "missingField", t(0x61, u8(3)), COUNTER)


def gaps(file):
    def body(first, last):
        return [t(0x54, u64(first)), t(0x62, u64(last))]

    file.good("a gap of one offset", "W-66", 0x2004, body(5, 5), {"first": "5", "upTo": "5"}, FROM_SERVER)
    file.good("a gap of many offsets", "W-66", 0x2004, body(1, LAST), {"first": "1", "upTo": str(LAST)}, FROM_SERVER)
    file.bad("a gap that ends before it begins", "W-66", 0x2004, body(6, 5), "invalidValue", FROM_SERVER)
    file.bad("a gap from offset 0", "W-66", 0x2004, body(0, 5), "invalidValue", FROM_SERVER)
    for i, name in enumerate(["first", "upTo"]):
        file.bad(f"a gap without {name}", "W-66", 0x2004, [body(5, 5)[1 - i]], "missingField", FROM_SERVER)


def requests(file):
    method, deadline, correlation = t(0x71, "rooms"), t(0x72, u32(5000)), t(0x70, u64(3))
    shown = {"correlation": "3", "method": "rooms", "deadline": 5000}

    def refused(name, clauses, code, *body):
        file.refused(name, clauses, 0x6001, body, code, "request")

    file.good("a request to the server", "W-68", 0x6001, [correlation, method, deadline], shown, session=0)
    file.good("a request with everything", "W-68", 0x6001,
              [correlation, method, deadline, t(0x73, "bob"), t(0x4A, "ada"), HI],
              shown | {"recipient": "bob", "sender": "ada", "content": [[0x0201, "6869"]]})
    file.good("a method of 64 bytes", "W-31", 0x6001, [correlation, t(0x71, "m" * 64), deadline],
              shown | {"method": "m" * 64})
    refused("a method of 65 bytes", "W-31 W-72", "invalidValue", correlation, t(0x71, "m" * 65), deadline)
    refused("an empty method", "W-31 W-72", "invalidValue", correlation, t(0x71), deadline)
    refused("a method with a line feed", "W-31 W-72", "invalidValue", correlation, t(0x71, "a\n"), deadline)
    refused("a method with a line separator", "W-31 W-72", "invalidValue", correlation, t(0x71, "a\u2028"), deadline)
    refused("a request without its method", "W-68 W-72", "missingField", correlation, deadline)
    refused("a request without its deadline", "W-68 W-72", "missingField", correlation, method)
    file.bad("a request without its correlation", "W-68 W-72", 0x6001, [method, deadline], "missingField")
    file.bad("a request with a correlation of four bytes", "W-30 W-72", 0x6001, [t(0x70, u32(3)), method, deadline],
             "invalidValue")
    refused("a request with two methods", "W-25 W-72", "duplicateField", correlation, method, method, deadline)
    file.good("a recipient of 128 bytes", "W-31", 0x6001, [correlation, method, deadline, t(0x73, "r" * 128)],
              shown | {"recipient": times("r", 128)})
    refused("a recipient of 129 bytes", "W-31", "invalidValue", correlation, method, deadline, t(0x73, "r" * 129))
    status = t(0x74, u16(0))
    file.good("a response", "W-69", 0x6002, [correlation, status], {"correlation": "3", "status": 0})
    file.good("a response with everything", "W-69", 0x6002, [correlation, t(0x74, u16(0x0409)), t(0x02, "what?"), HI],
              {"correlation": "3", "status": 0x0409, "reason": "what?", "content": [[0x0201, "6869"]]})
    file.bad("a response without its status", "W-69 W-72", 0x6002, correlation, "missingField")
    file.good("a cancel", "W-69", 0x6003, correlation, {"correlation": "3"})
    file.bad("a cancel of nothing", "W-72", 0x6003, [], "missingField")
    file.bad("a cancel with a correlation of four bytes", "W-30", 0x6003, t(0x70, u32(3)), "invalidValue")


def operations(file):
    """Requests for operations on a room and their responses, with fields of operations in the content."""
    def standing(role, is_banned, muted_until, name):
        return 0x5D, u8(role) + u8(is_banned) + u64(muted_until) + name.encode()

    def asked(method, *fields, what=""):
        shown = {"correlation": "3", "method": method, "deadline": 5000}
        if fields:
            shown["content"] = [[tag, value.hex()] for tag, value in fields]
        file.good(method + what, "W-68", 0x6001,
                  [t(0x70, u64(3)), t(0x71, method), t(0x72, u32(5000))]
                  + ([t(0x0142, [t(*field) for field in fields])] if fields else []), shown)

    def answered(name, *fields):
        file.good(name, "W-69", 0x6002,
                  [t(0x70, u64(3)), t(0x74, u16(0)), t(0x0142, [t(*field) for field in fields])],
                  {"correlation": "3", "status": 0, "content": [[tag, value.hex()] for tag, value in fields]},
                  FROM_SERVER)

    account = (0x12, b"bob")
    for method in ("kick", "ban", "unban", "unmute", "invite"):
        asked("room." + method, account)
    for seconds in (1, 3600):
        asked("room.mute", account, (0x5C, u32(seconds)), what=f" for {seconds} s")
    asked("room.role", account, what=", no role")
    for role in (1, 2, 3, 4):
        asked("room.role", account, (0x5A, u8(role)), what=f", role {role}")
    for access in (0, 1, 2):
        asked("room.access", (0x5B, u8(access)), what=f", access {access}")
    asked("room.roles")
    asked("room.roles", account, what=" behind an account")
    own = [(0x5A, u8(4)), (0x5B, u8(1))]
    answered("the roles of a room", *own, standing(4, 0, 0, "a"), standing(1, 0, 1_700_000_000_000, "bob"),
             standing(0, 1, 0, "carol"))
    answered("a part of the roles", *own, *(standing(2, 0, 0, f"a{number:02}") for number in range(64)))


def histories(file):
    """Requests for pages of history and their responses, and the response to `head` (relay.md 8 and 8.2)."""
    def shown(fields):
        return [[tag, value.hex()] for tag, value in fields]

    def asked(name, *fields):
        file.good(name, "W-68", 0x6001,
                  [t(0x70, u64(3)), t(0x71, "room.history"), t(0x72, u32(5000)),
                   t(0x0142, [t(*field) for field in fields])],
                  {"correlation": "3", "method": "room.history", "deadline": 5000, "content": shown(fields)})

    def answered(name, *fields):
        file.good(name, "W-69", 0x6002,
                  [t(0x70, u64(3)), t(0x74, u16(0)), t(0x0142, [t(*field) for field in fields])],
                  {"correlation": "3", "status": 0, "content": shown(fields)}, FROM_SERVER)

    log = (0x59, u64(0x1122_3344_5566_7788))
    asked("the newest message before an offset", (0x5E, u64(9)), (0x5F, u16(1)), log)
    asked("256 messages after an offset", (0x52, u64(9)), (0x5F, u16(256)), log)
    asked("messages from a time", (0x49, u64(1_700_000_000_000)), (0x5F, u16(50)))
    room = [(0x53, u64(900)), (0x54, u64(1)), log]

    def message(offset):
        # Two fields of a message, because notations of contents have no long values.
        return 0x63, u16(0x48) + u32(8) + u64(offset) + u16(0x40) + u32(8) + u64(offset)

    answered("a page of two messages", *room, message(7), message(8))
    answered("a page without messages", *room)
    answered("a page with the maximum number of messages", *room, *[(0x63, b"")] * 256)
    answered("the offsets and the retention of a room", *room, (0x64, u64(86_400_000)), (0x65, u64(1000)),
             (0x66, u64(1 << 20)))


def requests_of(file):
    """Functions that add a request with the method and fields of its content, and a response with fields."""
    def shown(fields):
        return [[tag, value.hex()] for tag, value in fields]

    def asked(name, method, *fields):
        file.good(name, "W-68", 0x6001,
                  [t(0x70, u64(3)), t(0x71, method), t(0x72, u32(5000)), t(0x0142, [t(*field) for field in fields])],
                  {"correlation": "3", "method": method, "deadline": 5000, "content": shown(fields)})

    def answered(name, *fields):
        file.good(name, "W-69", 0x6002,
                  [t(0x70, u64(3)), t(0x74, u16(0)), t(0x0142, [t(*field) for field in fields])],
                  {"correlation": "3", "status": 0, "content": shown(fields)}, FROM_SERVER)

    return asked, answered


def attachments(file):
    """Requests about attachments and their responses (relay.md 8.4)."""
    asked, answered = requests_of(file)

    digest, size = (0x020C, bytes(range(32))), (0x020A, u64(1 << 30))
    asked("the begin of an upload", "attachment.begin", digest, size, (0x0204, b"video/mp4"))
    asked("bytes of an upload", "attachment.write", digest, (0x90, u64(15360)), (0x0202, b"abc"))
    asked("a read of one byte", "attachment.read", digest, (0x90, u64(0)), (0x91, u32(1)))
    asked("a read of 15,360 bytes", "attachment.read", digest, (0x90, u64(1 << 29)), (0x91, u32(15360)))
    asked("a question for the length", "attachment.info", digest)
    asked("the end of an upload", "attachment.remove", digest)
    answered("the position of an upload", (0x90, u64(15363)), size)
    answered("bytes of an attachment", size, (0x0202, b"abc"))


def rooms(file):
    """Requests for the list of an account's rooms and their responses (R-124)."""
    def asked(name, *fields):
        file.good(name, "W-68", 0x6001,
                  [t(0x70, u64(3)), t(0x71, "rooms.list"), t(0x72, u32(5000)),
                   t(0x0142, [t(*field) for field in fields])],
                  {"correlation": "3", "method": "rooms.list", "deadline": 5000,
                   "content": [[tag, value.hex()] for tag, value in fields]})

    def answered(name, body, content):
        file.good(name, "W-69 W-102", 0x6002, [t(0x70, u64(3)), t(0x74, u16(0)), t(0x0142, body)],
                  {"correlation": "3", "status": 0, "content": content}, FROM_SERVER)

    asked("the first page of rooms", (0x5F, u16(64)))
    asked("a page of rooms behind a room", (0x50, b"lobby"), (0x5F, u16(1)))
    entry = (u16(0x50) + u32(1) + b"a" + u16(0xA1) + u32(1) + u8(2) + u16(0x53) + u32(8) + u64(0)
             + u16(0x54) + u32(8) + u64(1))
    for more in (0, 1):
        answered(f"a page of one room, hasMore {more}", [t(0xA0, entry), t(0xA8, u8(more))],
                 [[0xA0, entry.hex()], [0xA8, f"{more:02x}"]])
    answered("a page with the maximum number of entries", [t(0xA0)] * 64, [[0xA0, ""]] * 64)
    answered("an entry of the maximum size", t(0xA0, repeat(b"a", 8192)), [[0xA0, times("61", 8192)]])


def administration(file):
    """Requests for the administration of a relay and their responses (R-178)."""
    asked, answered = requests_of(file)

    def item(*fields):
        return 0xD0, b"".join(u16(tag) + u32(len(value)) + value for tag, value in fields)

    lobby, bob, next_page = (0x50, b"lobby"), (0x12, b"bob"), (0xD1, u64(1 << 32 | 64))
    asked("the first page of links", "admin.links", (0x5F, u16(10)))
    asked("the next page of links", "admin.links", next_page)
    asked("the mute of an account", "admin.mute", lobby, bob, (0x5C, u32(60)))
    asked("an announcement in all rooms", "admin.announce", (0x0201, b"at ten"))
    asked("a step of an erasure", "admin.erase", lobby, bob, (0xD1, u64(256)))
    asked("a step of an erasure in all rooms", "admin.erase", bob, (0xD1, u64(256)), (0xDF, b"lobby"))
    asked("the bounds of a room", "admin.retention", lobby, (0x64, u64(86400000)), (0x65, u64(100)),
          (0x66, u64(1 << 20)))
    asked("the removal of the bounds of a room", "admin.retention", lobby)
    asked("the end of the links of an account", "admin.kick", bob)
    asked("the drain of a relay by its name", "admin.drain", (0x0203, b"two"))
    asked("the next page of rooms", "admin.rooms", (0xDF, b"lobby"), (0x5F, u16(32)))
    link = (bob, (0x11, u64(7)), (0xD6, u64(512)), (0xD9, u32(1)))
    answered("a page of a link without a connection, and the place of the next page", item(*link), next_page)
    answered("the fields of a link with a connection", *link, (0x14, b"chat 1.0"), (0xD3, b"192.0.2.1:50000"),
             (0xD4, u64(1 << 40)), (0xD5, u32(21500)))
    for size in (0, 64):
        body = b"a" * size
        file.good(f"the address of a link, {size} bytes", "W-69", 0x6002,
                  [t(0x70, u64(3)), t(0x74, u16(0)), t(0x0142, t(0xD3, body))],
                  {"correlation": "3", "status": 0, "content": [[0xD3, times("61", size)]]}, FROM_SERVER)
    answered("a page without items", (0xD1, u64(1024)))
    answered("a page with the maximum number of items", *[(0xD0, b"")] * 32)
    answered("a page of accounts", item(bob, (0xD7, u32(3)), (0xD9, u32(5))))
    answered("a room with roles and bounds", lobby, (0xDA, u32(2)), (0x59, u64(9)), (0x53, u64(7)), (0x54, u64(1)),
             (0xDE, u64(2048)), (0xDC, u32(3)), (0x5B, bytes(1)), (0x65, u64(100000)))
    answered("the state of a relay", (0xD4, u64(1 << 40)), (0xD8, u32(2)), (0xD7, u32(3)), (0xDB, u32(1)),
             (0xDD, u64(70)), (0xDE, u64(1 << 20)))
    answered("the result of a step", (0xD2, u32(32)), (0xD1, u64(288)))
    for drains in (0, 1):
        answered(f"a relay of the bus, draining {drains}", (0xE0, u64(7)), (0x0203, b"two"), (0x14, b"martlet 1.0"),
                 (0xD7, u32(3)), (0xDB, u32(1)), (0xE1, bytes([drains])), (0xE2, u64(1 << 40)), (0xE3, u64(1 << 40)))
    answered("a page of relays", item((0xE0, u64(7)), (0xE1, bytes(1)), (0xE2, u64(1 << 40))))
    answered("a page of rooms, and the room behind which the next page begins",
             item(lobby, (0xDA, u32(0)), (0x59, u64(9)), (0x54, u64(1))), (0xDF, b"lobby"))
    answered("the result of a step in a room of several", (0xD2, u32(32)), (0xD1, u64(288)), (0xDF, b"lobby"))
    for size in (1, 128):
        file.good(f"the room behind which a page begins, {size} bytes", "W-69", 0x6002,
                  [t(0x70, u64(3)), t(0x74, u16(0)), t(0x0142, t(0xDF, b"a" * size))],
                  {"correlation": "3", "status": 0, "content": [[0xDF, times("61", size)]]}, FROM_SERVER)


def make():
    data_file = VectorFile("data", "data (wire.md 9.1).")
    data(data_file)
    texts(data_file)
    around = VectorFile("messages", "transient, accepted, receipt and gap (wire.md 9.2 to 9.5).")
    transients(around)
    accepteds(around)
    receipts(around)
    gaps(around)
    asked = VectorFile("requests", "request, response and cancel (wire.md 10).")
    requests(asked)
    operated = VectorFile("operations", "Operations on rooms in requests and responses (relay.md 8.1).")
    operations(operated)
    paged = VectorFile("history", "Requests for history and their responses (relay.md 8.2).")
    histories(paged)
    attached = VectorFile("attachments", "Requests about attachments and their responses (relay.md 8.4).")
    attachments(attached)
    listed = VectorFile("rooms", "Requests for an account's rooms and their responses (relay.md 8.3).")
    rooms(listed)
    administered = VectorFile("administration", "Requests for administration and their responses (relay.md 8.6).")
    administration(administered)
    return [data_file, around, asked, operated, paged, attached, listed, administered]
