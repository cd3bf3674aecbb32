"""Vectors of Specs/wire.md 5: hello, welcome, reject, goaway, and the frames permitted in each phase."""

from expected.vector import VectorFile, shown
from vector_bytes import flat, frame, header, joined, repeat, size, t, times, u16, u32, u64

LIMITS = {
    "maxBody": (0x20, u32(65_536)), "maxMessage": (0x21, u32(1 << 20)), "linkWindow": (0x22, u32(1 << 20)),
    "sessionWindow": (0x23, u32(262_144)), "maxSessions": (0x24, u16(64)),
}
LIMITS_SHOWN = {"maxBody": 65_536, "maxMessage": 1 << 20, "linkWindow": 1 << 20, "sessionWindow": 262_144,
                "maxSessions": 64}
TOKEN = bytes(range(32))
HELLO = {
    "spokenVersion": (0x05, b"\x01\x00"), "features": (0x10, u64(15)), "limits": None, "device": (0x11, u64(1 << 63)),
    "account": (0x12, "ada"),
}
HELLO_SHOWN = {"spokenVersion": ["1.0"], "features": "15", "limits": LIMITS_SHOWN, "device": str(1 << 63),
               "account": "ada"}
WELCOME = {
    "spokenVersion": (0x05, b"\x01\x00"), "features": (0x10, u64(15)), "limits": None, "account": (0x12, "ada"),
    "link": (0x15, u64(9)), "resumeToken": (0x16, TOKEN), "epoch": (0x18, u32(1)), "resumeLifetime": (0x19, u32(3600)),
}
WELCOME_SHOWN = {"spokenVersion": "1.0", "features": "15", "limits": LIMITS_SHOWN, "account": "ada", "link": "9",
                 "resumeToken": TOKEN.hex(), "epoch": 1, "resumeLifetime": 3600}
# W-31: code points at the ends of the refused ranges, and their permitted neighbours.
NOT_IN_NAMES = (
    ("0000 001F", "0021"), ("007F 0080 009F 00A0", "007E 00A1"), ("00AD", "00AC 00AE"), ("034F", "034E 0350"),
    ("0600 0605", "05FF 0606"), ("061C", "061B 061D"), ("06DD", "06DC 06DE"), ("070F", "070E 0710"),
    ("0890 0891", "088F 0892"), ("08E2", "08E1 08E3"), ("115F 1160", "115E 1161"), ("1680", "167F 1681"),
    ("17B4 17B5", "17B3 17B6"), ("180B 180F", "180A 1810"), ("2000 200A 200B 200D 200E 200F", "1FFF 2010"),
    ("2028 2029 202A 202E 202F", "2027 2030"), ("205F 2060 2065 2066 2069 206A 206F", "205E 2070"),
    ("3000", "2FFF 3001"), ("3164", "3163 3165"), ("E000 F8FF", "D7FF F900"), ("FDD0 FDEF", "FDCF FDF0"),
    ("FE00 FE0F", "FDFF FE10"), ("FEFF", "FEFE FF00"), ("FFA0", "FF9F FFA1"), ("FFF0 FFF8 FFF9 FFFB", "FFEF FFFC"),
    ("FFFE FFFF", "FFFD 10000"), ("110BD", "110BC 110BE"), ("110CD", "110CC 110CE"), ("13430 1343F", "1342F 13440"),
    ("1BCA0 1BCA3", "1BC9F 1BCA4"), ("1D173 1D17A", "1D172 1D17B"), ("1FFFE 1FFFF", "1FFFD 20000"),
    ("E0000 E0001 E0FFF", "DFFFD E1000"), ("F0000 10FFFF", "EFFFD"),
)
BELOW_3000 = 17
FRESH_CLIENT = {"phase": "handshake"}
FRESH_SERVER = {"phase": "handshake", "from": "server"}


def limits(without=None, **replaced):
    fields = LIMITS | {key: (LIMITS[key][0], value) for key, value in replaced.items()}
    return t(0x0101, [t(*tlv) for key, tlv in fields.items() if key != without])


def body(fields, *more, without=None, limits_tlv=None, **replaced):
    pieces = []
    for key, tlv in fields.items():
        if key == without:
            continue
        if key == "limits":
            pieces += limits_tlv or limits()
        else:
            pieces += t(tlv[0], replaced.get(key, tlv[1]))
    return [*pieces, *flat(more)]


def hello(*more, **changes):
    return body(HELLO, *more, **changes)


def welcome(*more, **changes):
    return body(WELCOME, *more, **changes)


def position(session, highest):
    return t(0x17, u16(session) + u64(highest))


def resume(*positions, link=u64(9), token=TOKEN):
    return t(0x0102, t(0x15, link), t(0x16, token), positions)


def hellos(file):
    def good(name, clauses, body, **shown_fields):
        file.good(name, clauses, 0x4001, body, HELLO_SHOWN | shown_fields, FRESH_CLIENT)

    def bad(name, clauses, body, error="invalidHello"):
        file.bad(name, clauses, 0x4001, body, error, FRESH_CLIENT)

    good("the least hello", "W-32 W-33", hello())
    good("a hello with everything", "W-32 W-33 W-45",
         hello(t(0x13, b"secret"), t(0x14, "vectors"), resume(position(0, 5), position(1, 1 << 40))),
         credential=b"secret".hex(), agent="vectors",
         resume={"link": "9", "resumeToken": TOKEN.hex(),
                 "sessionPosition": [{"session": 0, "highest": "5"}, {"session": 1, "highest": str(1 << 40)}]})
    good("a hello whose fields stand in another order", "W-25",
         [t(0x12, "ada"), limits(), t(0x11, u64(1 << 63)), t(0x10, u64(15)), t(0x05, b"\x01\x00")])
    good("a hello of several versions", "W-40", hello(t(0x05, b"\x01\x01"), t(0x05, b"\x02\x00")),
         spokenVersion=["1.0", "1.1", "2.0"])
    good("features without a meaning", "W-41", hello(features=u64((1 << 64) - 1)), features=str((1 << 64) - 1))
    for field in HELLO:
        bad(f"a hello without {field}", "W-32", hello(without=field))
    for field in ("features", "device", "account"):
        bad(f"a hello with {field} twice", "W-25 W-32", hello(t(HELLO[field][0], HELLO[field][1])))
    good("16 versions", "W-25", hello([t(0x05, bytes([2, n])) for n in range(15)]),
         spokenVersion=["1.0", *(f"2.{n}" for n in range(15))])
    bad("17 versions", "W-25", hello([t(0x05, bytes([2, n])) for n in range(16)]), "tooManyTLVs")
    bad("a version of one byte", "W-30 W-32", hello(spokenVersion=b"\x01"))
    bad("features of four bytes", "W-30 W-32", hello(features=u32(1)))
    good("an account of 128 bytes", "W-31", hello(account="é" * 64), account=times("é", 64))
    bad("an account of 129 bytes", "W-31 W-32", hello(account="é" * 64 + "e"))
    bad("an empty account", "W-31 W-32", hello(account=""))
    for name in (" ada", "ada ", "ada  noor", " "):
        bad(f"an account named '{name}'", "W-31 W-32", hello(account=name))
    good("an account with a blank inside", "W-31", hello(account="ada noor"), account="ada noor")
    good("an account with a code point that has no character", "W-31", hello(account="a\u0378"), account="a\u0378")
    bad("an account that is not UTF-8", "W-30 W-32", hello(account=b"\xff"))
    good("a credential of 4,096 bytes", "W-33", hello(t(0x13, b"\xff" * 4096)), credential=times("ff", 4096))
    bad("a credential of 4,097 bytes", "W-32", hello(t(0x13, repeat(b"\xff", 4097))))
    first = b"p=tls-exporter,,n=ada,r=AAECAwQFBgcI"
    good("a hello that begins an exchange", "W-33 W-97", hello(t(0x1C, "SCRAM-SHA-256-PLUS"), t(0x13, first)),
         mechanism="SCRAM-SHA-256-PLUS", credential=first.hex())
    for count in (1, 32):
        good(f"a mechanism of {count} bytes", "W-30 W-33", hello(t(0x1C, "X" * count)), mechanism="X" * count)
    for count in (0, 33):
        bad(f"a mechanism of {count} bytes", "W-30 W-32", hello(t(0x1C, "X" * count)))
    bad("a mechanism with a blank at its end", "W-31 W-32", hello(t(0x1C, "SCRAM-SHA-256 ")))
    bad("a mechanism twice", "W-25 W-32", hello(t(0x1C, "X"), t(0x1C, "X")))
    good("an agent of 128 bytes", "W-30", hello(t(0x14, "a" * 128)), agent=times("a", 128))
    bad("an agent of 129 bytes", "W-30 W-32", hello(t(0x14, "a" * 129)))


def names(file, ranges):
    for refused, beside in ranges:
        for point in refused.split():
            file.bad(f"an account with U+{point}", "W-31 W-32", 0x4001,
                     hello(account="a" + chr(int(point, 16)) + "b"), "invalidHello", FRESH_CLIENT)
        name = "a" + "".join(chr(int(point, 16)) for point in beside.split()) + "b"
        file.good(f"an account with what is beside U+{refused.split()[0]}", "W-31", 0x4001, hello(account=name),
                  HELLO_SHOWN | {"account": name}, FRESH_CLIENT)


def hello_limits(file):
    least = {"maxBody": 17_408, "maxMessage": 16_384, "linkWindow": 17_408, "sessionWindow": 17_408, "maxSessions": 1}
    for field, number in least.items():
        write = u16 if field == "maxSessions" else u32
        file.good(f"{field} at its least", "W-42", 0x4001, hello(limits_tlv=limits(**{field: write(number)})),
                  HELLO_SHOWN | {"limits": LIMITS_SHOWN | {field: number}}, FRESH_CLIENT)
        file.bad(f"{field} below its least", "W-32 W-42", 0x4001,
                 hello(limits_tlv=limits(**{field: write(number - 1)})), "invalidHello", FRESH_CLIENT)
        file.bad(f"limits without {field}", "W-32", 0x4001, hello(limits_tlv=limits(without=field)), "invalidHello",
                 FRESH_CLIENT)


def hello_resumes(file):
    def bad(name, clauses, *more, error="invalidHello"):
        file.bad(name, clauses, 0x4001, hello(*more), error, FRESH_CLIENT)

    bad("a resume without its link", "W-32 W-45", t(0x0102, t(0x16, TOKEN), position(0, 1)))
    bad("a resume without its token", "W-32 W-45", t(0x0102, t(0x15, u64(9)), position(0, 1)))
    bad("a token of 31 bytes", "W-32 W-44", resume(token=TOKEN[:31]))
    bad("a token of 33 bytes", "W-32 W-44", resume(token=TOKEN + b"!"))
    bad("a position of 9 bytes", "W-30 W-32", resume(t(0x17, u16(0) + u64(5)[1:])))
    bad("two positions of one session", "W-32 W-45", resume(position(1, 5), position(1, 5)))
    bad("a resume twice", "W-25 W-32", resume(position(0, 1)), resume(position(0, 1)))
    many = [position(session, 0) for session in range(256)]
    file.good("256 positions", "W-25", 0x4001, hello(resume(many)), HELLO_SHOWN | {"resume": {
        "link": "9", "resumeToken": TOKEN.hex(),
        "sessionPosition": [{"session": session, "highest": "0"} for session in range(256)]}}, FRESH_CLIENT)
    bad("257 positions", "W-25", resume(many, position(256, 0)), error="tooManyTLVs")
    file.bad("an unknown critical tag inside limits", "W-28", 0x4001,
             hello(limits_tlv=t(0x0101, [t(*tlv) for tlv in LIMITS.values()],
                                t(0x8001))), "unknownCritical", FRESH_CLIENT)
    bad("an unknown critical tag inside resume", "W-28", t(0x0102, t(0x15, u64(9)), t(0x16, TOKEN), t(0x8001)),
        error="unknownCritical")
    file.good("an unknown tag inside limits and one inside resume", "W-28", 0x4001,
              hello(t(0x0102, t(0x3000), t(0x15, u64(9)), t(0x16, TOKEN)),
                    limits_tlv=t(0x0101, t(0x3000, b"any"), [t(*tlv) for tlv in LIMITS.values()])),
              HELLO_SHOWN | {"resume": {"link": "9", "resumeToken": TOKEN.hex()}}, FRESH_CLIENT)


def welcomes(file):
    def good(name, clauses, body, **shown_fields):
        file.good(name, clauses, 0x4002, body, WELCOME_SHOWN | shown_fields, FRESH_SERVER)

    def bad(name, clauses, body, error):
        file.bad(name, clauses, 0x4002, body, error, FRESH_SERVER)

    good("the least welcome", "W-36", welcome())
    good("a welcome with everything", "W-36", welcome(t(0x1A, u32(30_000)), t(0x0102, position(0, 7))),
         heartbeatInterval=30_000, resume={"sessionPosition": [{"session": 0, "highest": "7"}]})
    good("a welcome with a reconnectSpread", "W-36 C-93", welcome(t(0xB0, u32(16_384))), reconnectSpread=16_384)
    final = b"v=Kcrgf0mYhD1t2704NK+sy5L+5mdmiEW0DKJkKgYZ42E="
    good("a welcome that ends an exchange, with a credential that expires", "W-36 W-97",
         welcome(t(0x13, final), t(0x1B, u32(3_600_000))), credential=final.hex(), credentialLifetime=3_600_000)
    for field in WELCOME:
        bad(f"a welcome without {field}", "W-36 W-72", welcome(without=field), "missingField")
    bad("a welcome with two versions", "W-25 W-40", welcome(t(0x05, b"\x01\x01")), "duplicateField")
    bad("a welcome with an epoch of 8 bytes", "W-30 W-72", welcome(epoch=u64(1)), "invalidValue")
    bad("a welcome with two positions of one session", "W-25 W-36", welcome(t(0x0102, position(0, 7), position(0, 8))),
        "duplicateField")
    bad("a welcome whose limits are below the least", "W-42", welcome(limits_tlv=limits(maxBody=u32(17_407))),
        "invalidValue")


def refusals(file):
    for kind, name in [(0x4003, "reject"), (0x4004, "goaway")]:
        given = FRESH_SERVER
        file.good(f"the least {name}", "W-38 W-43", kind, t(0x01, u16(0x0201)), {"code": 0x0201}, given)
        file.good(f"a {name} with everything", "W-38 W-39", kind,
                  [t(0x01, u16(0x0102)), t(0x02, "no"), t(0x03, u32(5000)), t(0x04, "b.example:7227"),
                   t(0x05, b"\x01\x00"), t(0x05, b"\x02\x03")],
                  {"code": 0x0102, "reason": "no", "retryAfter": 5000, "redirect": "b.example:7227",
                   "spokenVersion": ["1.0", "2.3"]}, given)
        file.good(f"a {name} with a code without a row", "W-38", kind, t(0x01, u16(0xF001)), {"code": 0xF001}, given)
        file.bad(f"a {name} without a code", "W-72", kind, [], "missingField", given)
    file.good("a reason of 256 bytes", "W-30", 0x4004, [t(0x01, u16(0)), t(0x02, "r" * 256)],
              {"code": 0, "reason": times("r", 256)}, FRESH_SERVER)
    file.good("an empty reason", "W-30", 0x4004, [t(0x01, u16(0)), t(0x02)], {"code": 0, "reason": ""}, FRESH_SERVER)
    file.bad("a reason of 257 bytes", "W-30", 0x4004, [t(0x01, u16(0)), t(0x02, "r" * 257)], "invalidValue",
             FRESH_SERVER)
    file.good("a redirect of 512 bytes", "W-30", 0x4004, [t(0x01, u16(0x020A)), t(0x04, "h" * 512)],
              {"code": 0x020A, "redirect": times("h", 512)}, FRESH_SERVER)
    for value, name in [("h" * 513, "of 513 bytes"), ("", "of no bytes")]:
        file.bad(f"a redirect {name}", "W-30", 0x4004, [t(0x01, u16(0x020A)), t(0x04, value)], "invalidValue",
                 FRESH_SERVER)
    file.bad("17 versions in a goaway", "W-25", 0x4004, [t(0x01, u16(0x0102)), [t(0x05, b"\x01\x00")] * 17],
             "tooManyTLVs", FRESH_SERVER)
    file.good("a goaway from a client", "W-43", 0x4004, t(0x01, u16(0x0208)), {"code": 0x0208})


def auths(file):
    """Specs/connection.md 6.1, 6.2."""
    server_first = b"r=AAECAwQFBgcIQEFC,s=gIGCg4SFhoc=,i=4096"
    token, lifetime = t(0x13, b"another token"), t(0x1B, u32(60_000))
    token_shown = {"credential": b"another token".hex()}
    auth, auth_shown = frame(0x4005, t(0x13, server_first)), shown(0x4005, {"credential": server_first.hex()})
    first, first_shown = frame(0x4001, hello(t(0x1C, "X"))), shown(0x4001, HELLO_SHOWN | {"mechanism": "X"})
    answer, answer_shown = frame(0x4002, welcome()), shown(0x4002, WELCOME_SHOWN)
    file.stream("a challenge, then a welcome", "W-37 W-97", [auth, answer], [auth_shown, answer_shown], **FRESH_SERVER)
    file.stream("a hello, an early frame, then an answer", "W-35 W-97",
                [first, frame(0x3001, t(0x33, u64(7))), frame(0x4005, token)],
                [first_shown, shown(0x3001, {"nonce": "7"}), shown(0x4005, token_shown)], **FRESH_CLIENT)
    file.good("another token after welcome", "W-97", 0x4005, token, token_shown)
    file.good("the answer to another token", "W-97", 0x4005, lifetime, {"credentialLifetime": 60_000},
              {"from": "server"})
    file.good("the answer to a token that does not expire", "W-97", 0x4005, [], {}, {"from": "server"})
    file.good("a message of 4,096 bytes", "W-97", 0x4005, t(0x13, b"\xff" * 4096), {"credential": times("ff", 4096)},
              FRESH_SERVER)
    file.bad("a message of 4,097 bytes", "W-30 W-72", 0x4005, t(0x13, repeat(b"\xff", 4097)), "invalidValue",
             FRESH_SERVER)
    file.bad("two messages in one frame", "W-25", 0x4005, [token, token], "duplicateField")
    file.stream("a client's first frame is auth, known from its header", "W-32 W-97", [header(0x4005, 14)],
                error="expectedHello", **FRESH_CLIENT)
    file.bad("an auth on session 1", "W-74", 0x4005, token, "protocolViolation", session=1)
    file.bad("a reliable auth", "W-74", 0x4005, token, "protocolViolation", flags=9, sequence=1)
    file.bad("an auth with a sequence", "W-13 W-74", 0x4005, token, "protocolViolation", sequence=1)
    file.bad("a compressed auth", "W-20", 0x4005, token, "compressionNotAllowed", compression=1)


def phases(file):
    nonce = t(0x33, u64(7))
    ping, ping_shown = frame(0x3001, nonce), shown(0x3001, {"nonce": "7"})
    first, first_shown = frame(0x4001, hello()), shown(0x4001, HELLO_SHOWN)
    answer, answer_shown = frame(0x4002, welcome()), shown(0x4002, WELCOME_SHOWN)
    no, no_shown = frame(0x4003, t(0x01, u16(0x0203))), shown(0x4003, {"code": 0x0203})
    file.stream("a client's first frame is a ping, known from its header", "W-32", [header(0x3001, 14)],
                error="expectedHello", **FRESH_CLIENT)
    file.stream("a client's first frame is a ping with a wrong checksum", "W-8 W-32", [ping[:-1], b"\x08"],
                error="expectedHello", **FRESH_CLIENT)
    file.stream("a client's first frame is of an unknown type", "W-32 W-73", [header(0x7000, 1)],
                error="expectedHello", **FRESH_CLIENT)
    file.stream("a client's first frame is neither hello nor well formed", "W-6 W-32", [header(0x3001, 12_289)],
                error="frameTooLarge", **FRESH_CLIENT)
    file.stream("frames right behind a hello", "W-35", [first, ping], [first_shown, ping_shown], **FRESH_CLIENT)
    file.stream("a second hello before welcome", "W-38", [first, first], [first_shown, first_shown], **FRESH_CLIENT)
    file.bad("a hello after welcome", "W-32", 0x4001, hello(), "protocolViolation")
    padding = 12_288 - size(hello()) - 6
    file.stream("a hello of 12 KiB", "W-7", frame(0x4001, hello(), t(0x7FFF, repeat(b"\x00", padding))), [first_shown],
                **FRESH_CLIENT)
    file.stream("a hello of 12 KiB and a byte, known from its header", "W-7", [header(0x4001, 12_289)],
                error="frameTooLarge", **FRESH_CLIENT)
    file.stream("a server's first frame is a ping", "W-37 W-74", ping, error="protocolViolation", **FRESH_SERVER)
    for kind, name in [(0x7000, "an unknown type"), (0xF000, "an unknown critical type")]:
        file.stream(f"a server's first frame is of {name}", "W-37 W-74", frame(kind), error="protocolViolation",
                    **FRESH_SERVER)
    file.bad("a welcome on session 1", "W-74", 0x4002, welcome(), "protocolViolation", FRESH_SERVER, session=1)
    file.bad("a reliable welcome", "W-74", 0x4002, welcome(), "protocolViolation", FRESH_SERVER, flags=9, sequence=1)
    file.bad("a hello on session 1", "W-74", 0x4001, hello(), "protocolViolation", FRESH_CLIENT, session=1)
    file.stream("a reject, then a welcome", "W-38", [no, answer, ping], [no_shown, answer_shown, ping_shown],
                **FRESH_SERVER)
    file.stream("a second welcome", "W-74", [answer, answer], [answer_shown], error="protocolViolation",
                at=28 + size(welcome()), **FRESH_SERVER)
    file.stream("a reject after welcome", "W-74", [answer, no], [answer_shown], error="protocolViolation",
                at=28 + size(welcome()), **FRESH_SERVER)
    least = welcome(limits_tlv=limits(maxBody=u32(17_408)))
    narrow = frame(0x4002, least)
    narrow_shown = shown(0x4002, WELCOME_SHOWN | {"limits": LIMITS_SHOWN | {"maxBody": 17_408}})
    big = frame(0x3001, nonce, t(0x7FFF, repeat(b"\x00", 17_408 - 20)))
    file.stream("a server's frames before welcome are at most 12 KiB", "W-7", [header(0x4004, 12_289)],
                error="frameTooLarge", **FRESH_SERVER)
    file.stream("what welcome says holds from the next frame: its maxBody met", "W-7 W-42", [narrow, big],
                [narrow_shown, ping_shown], **FRESH_SERVER)
    file.stream("what welcome says holds from the next frame: its maxBody passed", "W-7 W-42",
                [narrow, header(0x3001, 17_409)], [narrow_shown], error="frameTooLarge", at=28 + size(least),
                **FRESH_SERVER)
    plain = frame(0x4002, welcome(features=u64(14)))
    file.stream("a welcome without zlib, then a compressed frame", "W-18 W-41",
                [plain, frame(0x3001, b"any", compression=1)],
                [shown(0x4002, WELCOME_SHOWN | {"features": "14"})], error="compressionNotAllowed",
                at=len(joined(plain)), **FRESH_SERVER)


def make():
    hello_file = VectorFile("hello", "hello (wire.md 5.1, 5.6, 6).")
    hellos(hello_file)
    edges = VectorFile("hello-edges", "The limits and the resume in hello (wire.md 5.6, 6).")
    hello_limits(edges)
    hello_resumes(edges)
    below = VectorFile("names-below-3000", "What names may not hold, from U+0000 on (wire.md 4.3).")
    names(below, NOT_IN_NAMES[:BELOW_3000])
    above = VectorFile("names-from-3000", "What names may not hold, from U+3000 on (wire.md 4.3).")
    names(above, NOT_IN_NAMES[BELOW_3000:])
    answers = VectorFile("answers", "welcome, reject and goaway (wire.md 5.2, 5.3, 5.7).")
    welcomes(answers)
    refusals(answers)
    exchange = VectorFile("auth", "auth, before and after welcome (wire.md 5.8).")
    auths(exchange)
    order = VectorFile("phases", "What may be sent before and after welcome (wire.md 5).")
    phases(order)
    return [hello_file, edges, below, above, answers, exchange, order]
