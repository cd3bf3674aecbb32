"""Vectors of Specs/wire.md 13.2, tag by tag: lengths at their bounds and one beyond, repeated fields, listed values."""

from expected.handshake import (
    FRESH_CLIENT, FRESH_SERVER, HELLO_SHOWN, LIMITS, LIMITS_SHOWN, TOKEN, WELCOME_SHOWN,
)
from expected.vector import NAMES, VectorFile
from vector_bytes import repeat, t, times, u8, u16, u32, u64

FROM_SERVER = {"from": "server"}
LIMITS_BODY = [t(*tlv) for tlv in LIMITS.values()]
LIMITS_TLV = t(0x0101, LIMITS_BODY)
ECHO = u32(1234) + u32(250)
ECHO_SHOWN = {"timestamp": 1234, "held": 250}

# By type: the sender and the phase, and its fields by name with tag, value and the notation of the value.
SAMPLES = {
    0x1000: (FROM_SERVER, {
        "offset": (0x48, u64(7), "7"), "acceptedAt": (0x49, u64(8), "8"), "device": (0x11, u64(9), "9"),
        "sender": (0x4A, "bob", "bob"), "counter": (0x40, u64(1), "1"), "kind": (0x41, u16(0xF000), 0xF000),
        "content": (0x0142, b"", []), "timeToLive": (0x43, u32(5), 5)}),
    0x1001: ({}, {"typing": (0x81, u8(1), 1)}),
    0x2001: ({}, {
        "linkCredit": (0x31, u64(5), "5"),
        "sessionAck": (0x32, u16(1) + u64(2) + u64(3), [
            {"session": 1, "cumulative": "2", "credit": "3", "ranges": []}]),
        "echo": (0x30, ECHO, ECHO_SHOWN)}),
    0x2002: ({}, {"receiptKind": (0x61, u8(1), 1), "upTo": (0x62, u64(9), "9")}),
    0x2003: (FROM_SERVER, {
        "acceptedRun": (0x60, u64(1) + u32(1) + u64(1), [{"counter": "1", "count": 1, "offset": "1"}])}),
    0x2004: (FROM_SERVER, {"first": (0x54, u64(5), "5"), "upTo": (0x62, u64(9), "9")}),
    0x3002: (FROM_SERVER, {
        "nonce": (0x33, u64(7), "7"), "echo": (0x30, ECHO, ECHO_SHOWN),
        "reconnectSpread": (0xB0, u32(500), 500)}),
    0x4001: (FRESH_CLIENT, {
        "spokenVersion": (0x05, b"\x01\x00", ["1.0"]), "features": (0x10, u64(15), "15"),
        "limits": (0x0101, LIMITS_BODY, LIMITS_SHOWN), "device": (0x11, u64(1 << 63), str(1 << 63)),
        "account": (0x12, "ada", "ada"), "credential": (0x13, b"secret", b"secret".hex()),
        "agent": (0x14, "vectors", "vectors")}),
    0x4002: (FRESH_SERVER, {
        "spokenVersion": (0x05, b"\x01\x00", "1.0"), "features": (0x10, u64(15), "15"),
        "limits": (0x0101, LIMITS_BODY, LIMITS_SHOWN), "account": (0x12, "ada", "ada"), "link": (0x15, u64(9), "9"),
        "resumeToken": (0x16, TOKEN, TOKEN.hex()), "epoch": (0x18, u32(1), 1),
        "resumeLifetime": (0x19, u32(3600), 3600), "heartbeatInterval": (0x1A, u32(30_000), 30_000),
        "reconnectSpread": (0xB0, u32(500), 500)}),
    0x4004: ({}, {
        "code": (0x01, u16(0x0208), 0x0208), "reason": (0x02, "bye", "bye"), "retryAfter": (0x03, u32(5), 5),
        "redirect": (0x04, "b.example", "b.example")}),
    0x4005: ({}, {
        "credential": (0x13, b"secret", b"secret".hex()), "credentialLifetime": (0x1B, u32(60_000), 60_000)}),
    0x5001: ({}, {
        "room": (0x50, "lobby", "lobby"), "sessionKind": (0x51, u8(0), 0), "cursor": (0x52, u64(5), "5"),
        "log": (0x59, u64(6), "6"), "tail": (0x56, u32(10), 10), "noLocal": (0x58, u8(1), 1)}),
    0x5002: (FROM_SERVER, {
        "head": (0x53, u64(9), "9"), "first": (0x54, u64(3), "3"), "log": (0x59, u64(6), "6"),
        "member": (0x55, "ada", ["ada"])}),
    0x5004: ({}, {
        "session": (0x57, u16(1), 1), "code": (0x01, u16(0x0305), 0x0305), "reason": (0x02, "", ""),
        "retryAfter": (0x03, u32(5), 5), "creditUsed": (0x34, u64(5), "5")}),
    0x5007: (FROM_SERVER, {
        "room": (0x50, "lobby", "lobby"), "membership": (0xA1, u8(1), 1), "inviter": (0xA2, "bob", "bob"),
        "changedAt": (0xA3, u64(8), "8"), "log": (0x59, u64(6), "6"), "head": (0x53, u64(9), "9"),
        "first": (0x54, u64(3), "3"), "message": (0x63, b"body", b"body".hex()), "shortened": (0xA7, u8(1), 1),
        "deliveredUpTo": (0xA5, u64(8), "8"), "readUpTo": (0xA4, u64(7), "7"), "unread": (0xA6, u32(2), 2)}),
    0x6001: ({}, {
        "correlation": (0x70, u64(3), "3"), "method": (0x71, "roll", "roll"), "deadline": (0x72, u32(5000), 5000),
        "recipient": (0x73, "bot", "bot")}),
    0x6002: ({}, {
        "correlation": (0x70, u64(3), "3"), "status": (0x74, u16(0x040B), 0x040B), "retryAfter": (0x03, u32(5), 5)}),
}
HANDSHAKE = {0x4001, 0x4002, 0x4004, 0x4005}
# The fields with the length of their type, in a frame that contains them.
FIXED = [
    (0x1000, "offset acceptedAt device counter kind timeToLive"), (0x1001, "typing"), (0x2001, "linkCredit echo"),
    (0x2002, "receiptKind"), (0x2003, "acceptedRun"), (0x2004, "first upTo"), (0x3002, "nonce echo reconnectSpread"),
    (0x4001, "spokenVersion features device"),
    (0x4002, "link resumeToken epoch resumeLifetime heartbeatInterval reconnectSpread"),
    (0x4004, "code retryAfter"), (0x4005, "credentialLifetime"), (0x5001, "sessionKind cursor log tail noLocal"),
    (0x5002, "head first log"), (0x5004, "session retryAfter creditUsed"),
    (0x5007, "membership changedAt shortened deliveredUpTo readUpTo unread"), (0x6001, "correlation deadline"),
    (0x6002, "status retryAfter"),
]
# The fields of text or bytes, with the bounds of their bytes.
BOUNDED = [
    (0x1000, "sender", 1, 128), (0x4001, "account", 1, 128), (0x4001, "credential", 0, 4096), (0x4001, "agent", 0, 128),
    (0x4004, "reason", 0, 256), (0x4004, "redirect", 1, 512), (0x5001, "room", 1, 128), (0x5002, "member", 1, 128),
    (0x5007, "inviter", 1, 128), (0x6001, "method", 1, 64), (0x6001, "recipient", 1, 128),
]
REPEATS = ("spokenVersion", "sessionAck", "acceptedRun", "member")
LISTED = [
    (0x5001, "sessionKind", range(6)), (0x5001, "noLocal", range(2)), (0x1001, "typing", range(2)),
    (0x5007, "membership", range(3)), (0x5007, "shortened", range(2)),
]


def body(kind, name, *values):
    """The sample of a type with these values of one field, in its position."""
    return [t(tag, value) for key, (tag, usual, _) in SAMPLES[kind][1].items()
            for value in (values if key == name else (usual,))]


def good(file, what, kind, name, value, shown):
    given, sample = SAMPLES[kind]
    fields = {key: entry[2] for key, entry in sample.items()} | {name: shown}
    shown = {key: entry for key, entry in fields.items() if entry is not None}
    file.good(what, "W-30", kind, body(kind, name, value), shown, given)


def bad(file, what, kind, name, *values):
    given = SAMPLES[kind][0]
    code, clause = ("duplicateField", "W-25") if len(values) == 2 else ("invalidValue", "W-30")
    named = name not in ("counter", "correlation") or len(values) == 2
    pieces = body(kind, name, *values)
    if kind == 0x1000:
        ends = "message" if named or given == FROM_SERVER else "session"
        file.refused(what, clause + " W-72", kind, pieces, code, ends, given)
    elif kind == 0x6001 and named:
        file.refused(what, clause + " W-72", kind, pieces, code, "request", given)
    else:
        file.bad(what, clause, kind, pieces, "invalidHello" if kind == 0x4001 else code, given)


def wrong_lengths(file, kinds):
    for kind, names in FIXED:
        for name in names.split() if kind in kinds else ():
            value = SAMPLES[kind][1][name][1]
            where = f"{NAMES[kind]}: {name}"
            bad(file, f"{where} of {len(value) - 1} bytes", kind, name, value[1:])
            bad(file, f"{where} of {len(value) + 1} bytes", kind, name, b"\x00" + value)


def lengths_in_handshakes(file):
    wrong_lengths(file, HANDSHAKE)
    for key, (tag, value) in LIMITS.items():
        for other in (value[1:], b"\x00" + value):
            pieces = [t(*(tlv if name != key else (tag, other))) for name, tlv in LIMITS.items()]
            bad(file, f"hello: {key} of {len(other)} bytes", 0x4001, "limits", pieces)
    position = u16(1) + u64(2)
    for value in (position[1:], b"\x00" + position):
        file.bad(f"welcome: sessionPosition of {len(value)} bytes", "W-30", 0x4002,
                 [body(0x4002, None), t(0x0102, t(0x17, value))], "invalidValue", FRESH_SERVER)


def lengths(file):
    wrong_lengths(file, SAMPLES.keys() - HANDSHAKE)
    least = u16(1) + u64(0) + u64(3)
    ranges = [(n, n) for n in range(2, 66, 2)]
    most = least + b"".join(u64(first) + u64(last) for first, last in ranges)
    bad(file, "ack: sessionAck of 17 bytes", 0x2001, "sessionAck", least[1:])
    bad(file, "ack: sessionAck of 531 bytes", 0x2001, "sessionAck", most + b"\x00")


def bounds(file):
    for kind, name, least, most in BOUNDED:
        def shown(count):
            value = times("61" if name == "credential" else "a", count)
            return [value] if name == "member" else value

        where = f"{NAMES[kind]}: {name}"
        for count in (least, most):
            good(file, f"{where} of {count} bytes", kind, name, repeat(b"a", count) if count else b"", shown(count))
        if least:
            bad(file, f"{where} of {least - 1} bytes", kind, name, b"")
        bad(file, f"{where} of {most + 1} bytes", kind, name, repeat(b"a", most + 1))


def twice(file):
    """Every field that occurs once, in the first type that contains it."""
    done = set(REPEATS)
    for kind, (_, sample) in SAMPLES.items():
        for name, (_, value, _) in sample.items():
            if name not in done:
                done.add(name)
                bad(file, f"{NAMES[kind]}: {name} twice", kind, name, value, value)
    for key in LIMITS:
        pieces = [t(*tlv) for name, tlv in LIMITS.items() for _ in range(1 + (name == key))]
        bad(file, f"hello: {key} twice", 0x4001, "limits", pieces)
    token, link = t(0x16, TOKEN), t(0x15, u64(9))
    for name, pieces in (("link", [link, link, token]), ("resumeToken", [link, token, token])):
        file.bad(f"hello: {name} twice in resume", "W-25", 0x4001, [body(0x4001, None), t(0x0102, pieces)],
                 "invalidHello", FRESH_CLIENT)
    presence = t(0x80, u8(1))
    file.bad("transient: presence twice", "W-25", 0x1001, [presence, presence], "duplicateField")


def listed(file):
    for kind, name, values in LISTED:
        for value in values:
            shown = None if name in ("noLocal", "shortened") and value == 0 else value
            good(file, f"{NAMES[kind]}: {name} of {value}", kind, name, u8(value), shown)
        bad(file, f"{NAMES[kind]}: {name} of {len(values)}", kind, name, u8(len(values)))
    for value in range(3):
        file.good(f"transient: presence of {value}", "W-67", 0x1001, t(0x80, u8(value)), {"presence": value})
    for value in (b"", u8(3), u16(1)):
        file.bad(f"transient: presence, as {value.hex() or 'nothing'}", "W-30", 0x1001, t(0x80, value), "invalidValue")


def features(file):
    names = ("zlib", "requests", "receipts", "presence", "compact", "sharedDeflate", "attachments", "accountSession")
    for bit, name in enumerate(names):
        value = u64(1 << bit)
        good(file, f"hello: {name} alone", 0x4001, "features", value, str(1 << bit))
        good(file, f"welcome: {name} alone", 0x4002, "features", value, str(1 << bit))


def kinds(file):
    for number, name in [(0x1002, "image"), (0x1003, "file"), (0x1004, "audio"), (0x1005, "video"),
                         (0x1006, "location"), (0x1007, "contact"), (0x1008, "command"), (0x1009, "edit"),
                         (0x100A, "delete"), (0x100B, "reaction"), (0x100C, "reply"), (0x100D, "system"),
                         (0x100E, "attachment"), (0x100F, "erased"), (0x1010, "card"), (0x2001, "ack"),
                         (0x3001, "heartbeat"), (0xFFFE, "an application")]:
        good(file, f"data: a content of kind {name}", 0x1000, "kind", u16(number), number)
    fields = [(0x0201, b"a film"), (0x0202, b"\x00\xff"), (0x0203, b"a.mp4"), (0x0204, b"video/mp4"),
              (0x0205, u64(0) + u64(2) + b"ab"), (0x0206, u64(7) + u64(3) + u64(0) + b"ada"), (0x0207, b"!"),
              (0x0208, u8(0)), (0x0208, u8(1)), (0x0209, b"call.started"), (0x020A, u64(2)),
              (0x020B, b"https://a.example/b"), (0x020C, bytes(32)),
              (0x020D, b"png"), (0x0210, b""), (0x0211, u8(0)), (0x0211, u8(1)),
              (0x0212, u64(1)), (0x0213, u64(1 << 63)), (0x0214, bytes(8)), (0x0215, b"k"), (0x0220, b"build-7"),
              *[(0x0221, u8(number)) for number in range(6)], (0x0222, u64(1)), (0x0223, b"http://a")]
    good(file, "data: a content of every field that has a name", 0x1000, "content", [t(*field) for field in fields],
         [[tag, value.hex()] for tag, value in fields])
    good(file, "data: a content with an object in an array", 0x1000, "content", t(0x0160, t(0x0161), *[t(0x0162)] * 16),
         [[0x0160, [[0x0161, []], *[[0x0162, []]] * 16]]])


def senders(file):
    """Types of both senders, from the less frequent sender."""
    file.good("opened from a client", "W-56", 0x5002, body(0x5002, None),
              {"head": "9", "first": "3", "log": "6", "member": ["ada"]}, session=2)
    for kind, value in ((0x5005, {}), (0x5006, {"cursor": "5"})):
        file.good(f"{NAMES[kind]} from a server", "W-58", kind, t(0x52, u64(5)) if value else [], value, FROM_SERVER)
    for kind in (0x6001, 0x6002):
        shown = {key: entry[2] for key, entry in SAMPLES[kind][1].items()}
        file.good(f"{NAMES[kind]} from a server", "W-68 W-69", kind, body(kind, None), shown, FROM_SERVER)
    file.good("cancel from a server", "W-69", 0x6003, t(0x70, u64(3)), {"correlation": "3"}, FROM_SERVER)
    file.bad("suspend of session 0", "W-74", 0x5005, [], "protocolViolation", session=0)
    file.bad("suspend with an unknown critical tag", "W-28", 0x5005, t(0x8001), "unknownCritical")


def make():
    files = []
    for name, about, fill in [
        ("lengths", "Every value that has one length, with a byte less and a byte more (wire.md 13.2).", (lengths,)),
        ("lengths-handshake", "The same of hello, welcome, goaway and auth (wire.md 13.2).", (lengths_in_handshakes,)),
        ("bounds", "Text and bytes at their bounds and one beyond (wire.md 13.2).", (bounds,)),
        ("values", "Values that are listed, and one beyond (wire.md 13.2).", (listed,)),
        ("twice", "Every field that comes once, twice (wire.md 4.1).", (twice,)),
        ("kinds", "Every feature and every kind of content alone; types from their other sender (wire.md 13).",
         (features, kinds, senders)),
    ]:
        file = VectorFile(name, about)
        for part in fill:
            part(file)
        files.append(file)
    return files
