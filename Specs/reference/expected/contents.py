"""Vectors of Specs/messages.md: contents by kind, values, and changes in any order."""

from expected.vector import VectorFile
from vector_bytes import compact, flat, nest, repeat, t, times, u8, u64

TEXT, DATA, NAME, MEDIA = 0x0201, 0x0202, 0x0203, 0x0204
TARGET, REACTION, REMOVED, EVENT, COUNT, LOCATION, DIGEST = 0x0206, 0x0207, 0x0208, 0x0209, 0x020A, 0x020B, 0x020C
THUMBNAIL = 0x020D
CARD_NAME, STATUS, TIME, URL, DETAIL = 0x0220, 0x0221, 0x0222, 0x0223, 0x0162
ARRAY, OBJECT, NULL, BOOL, INTEGER, UNSIGNED, DOUBLE, KEY = (
    0x0160, 0x0161, 0x0210, 0x0211, 0x0212, 0x0213, 0x0214, 0x0215)
EDIT, DELETE, REACT, REPLY, SYSTEM, ATTACHMENT, COMMAND, CARD = (
    0x1009, 0x100A, 0x100B, 0x100C, 0x100D, 0x100E, 0x1008, 0x1010)
OTHER, CRITICAL = t(0x7ABC, b"x"), t(0xFABC, b"x")


def to(sender="ada", device=7, counter=3, offset=12):
    return t(TARGET, u64(device) + u64(counter) + u64(offset) + sender.encode())


ADA = {"sender": "ada", "device": "7", "counter": "3", "offset": "12"}
HI, WAVE = t(TEXT, "hi"), t(REACTION, "👋")


class Contents(VectorFile):
    """Contents, and the fields of each or the code of its fault."""

    def add(self, name, clauses, kind, pieces, **result):
        content = compact(flat([pieces]))
        self.vectors.append({"name": name, "clauses": clauses.split(), "kind": kind, "content": content} | result)

    def good(self, name, clauses, kind, pieces, fields):
        self.add(name, clauses, kind, pieces, fields=fields)

    def bad(self, name, clauses, kind, pieces, code):
        self.add(name, clauses, kind, pieces, error=code)


def references(file):
    good, bad = file.good, file.bad
    good("a reply", "M-1 M-2 M-3", REPLY, [to(), HI], {"target": ADA, "text": "hi"})
    good("a reply with its fields in another order, and an unknown one", "M-1", REPLY, [HI, OTHER, to()],
         {"target": ADA, "text": "hi"})
    good("a target without an offset", "M-2", DELETE, to(offset=0), {
        "target": {"sender": "ada", "device": "7", "counter": "3"}})
    good("a target of the longest account, with the highest numbers", "M-2", DELETE,
         to("a" * 128, (1 << 64) - 1, (1 << 64) - 1, (1 << 64) - 1),
         {"target": {"sender": times("a", 128), **dict.fromkeys(("device", "counter", "offset"), str((1 << 64) - 1))}})
    good("an edit", "M-4", EDIT, [to(), HI], {"target": ADA, "text": "hi"})
    good("a delete", "M-5", DELETE, to(), {"target": ADA})
    good("a delete ignores a text, also an empty one", "M-1", DELETE, [to(), t(TEXT)], {"target": ADA})
    good("a reaction", "M-6", REACT, [to(), WAVE], {"target": ADA, "reaction": "👋"})
    good("a reaction that is removed", "M-6", REACT, [to(), WAVE, t(REMOVED, u8(1))],
         {"target": ADA, "reaction": "👋", "removed": 1})
    good("a reaction with removed 0", "M-6", REACT, [to(), WAVE, t(REMOVED, u8(0))], {"target": ADA, "reaction": "👋"})
    good("a reaction of 64 bytes", "M-6", REACT, [to(), t(REACTION, "r" * 64)],
         {"target": ADA, "reaction": times("r", 64)})
    bad("a reaction of 65 bytes", "M-6", REACT, [to(), t(REACTION, "r" * 65)], "invalidValue")
    bad("an empty reaction", "M-6", REACT, [to(), t(REACTION)], "invalidValue")
    bad("a reaction that is not UTF-8", "M-6", REACT, [to(), t(REACTION, b"\xff")], "invalidValue")
    bad("a reaction with removed 2", "M-6", REACT, [to(), WAVE, t(REMOVED, u8(2))], "invalidValue")
    for kind, name, rest in ((EDIT, "an edit", [HI]), (DELETE, "a delete", []), (REACT, "a reaction", [WAVE]),
                             (REPLY, "a reply", [HI])):
        bad(f"{name} without its target", "M-1", kind, rest, "missingField")
        bad(f"{name} with two targets", "M-1", kind, [to(), to(), *rest], "duplicateField")
        bad(f"{name} with an unknown critical field", "M-1", kind, [to(), *rest, CRITICAL], "unknownCritical")
        if rest:
            bad(f"{name} without its text", "M-1", kind, to(), "missingField")
    bad("an edit with an empty text", "M-1", EDIT, [to(), t(TEXT)], "invalidValue")
    bad("a reply with two texts", "M-1", REPLY, [to(), HI, HI], "duplicateField")
    bad("a target with the counter 0", "M-2", DELETE, to(counter=0), "invalidValue")
    bad("a target without an account", "M-2", DELETE, to(""), "invalidValue")
    bad("a target with an invalid account", "M-2", DELETE, to("a\n"), "invalidValue")
    bad("a target with an account of 129 bytes", "M-2", DELETE, to("a" * 129), "invalidValue")
    bad("a target of 23 bytes", "M-2", DELETE, t(TARGET, bytes(23)), "invalidValue")
    bad("a target that is cut", "M-1", DELETE, [b"\x02\x06\x00\x00\x00\x1b", bytes(26)], "malformedTLV")


def others(file):
    good, bad = file.good, file.bad
    sums = bytes(range(32))
    good("a system message", "M-7", SYSTEM, [t(EVENT, "call.started"), t(TEXT, "Ada calls")],
         {"event": "call.started", "text": "Ada calls"})
    good("a system message without a text", "M-7", SYSTEM, t(EVENT, "e" * 64), {"event": times("e", 64)})
    bad("a system message without an event", "M-7", SYSTEM, HI, "missingField")
    bad("an event of 65 bytes", "M-7", SYSTEM, t(EVENT, "e" * 65), "invalidValue")
    bad("an event with a line feed", "M-7", SYSTEM, t(EVENT, "a\nb"), "invalidValue")
    size = t(COUNT, u64(2))
    good("an attachment with its bytes", "M-8", ATTACHMENT, [size, t(DATA, b"ab")], {"byteCount": "2", "data": "6162"})
    good("an attachment elsewhere, with every field", "M-8", ATTACHMENT,
         [t(COUNT, u64(1 << 40)), t(LOCATION, "https://a.example/b"), t(NAME, "b.mp4"), t(MEDIA, "video/mp4"),
          t(DIGEST, sums), HI],
         {"byteCount": str(1 << 40), "location": "https://a.example/b", "name": "b.mp4", "mediaType": "video/mp4",
          "digest": sums.hex(), "text": "hi"})
    good("a location of 2,048 bytes", "M-8", ATTACHMENT, [size, t(LOCATION, repeat(b"l", 2048))],
         {"byteCount": "2", "location": times("l", 2048)})
    bad("a location of 2,049 bytes", "M-8", ATTACHMENT, [size, t(LOCATION, repeat(b"l", 2049))], "invalidValue")
    bad("an attachment without its length", "M-8", ATTACHMENT, t(DATA, b"ab"), "missingField")
    bad("an attachment of another length", "M-8", ATTACHMENT, [size, t(DATA, b"abc")], "invalidValue")
    bad("an attachment without bytes and location", "M-8", ATTACHMENT, size, "missingField")
    bad("an attachment with bytes and location", "M-8", ATTACHMENT, [size, t(DATA, b"ab"), t(LOCATION, "x")],
        "invalidValue")
    at_relay = t(LOCATION, "martlet:attachment")
    good("an attachment at the relay, with a thumbnail", "M-20 M-21", ATTACHMENT,
         [size, at_relay, t(DIGEST, sums), t(THUMBNAIL, b"png")],
         {"byteCount": "2", "location": "martlet:attachment", "digest": sums.hex(), "thumbnail": "706e67"})
    bad("an attachment at the relay without a digest", "M-20", ATTACHMENT, [size, at_relay], "missingField")
    bad("a thumbnail of 16,385 bytes", "M-21", ATTACHMENT,
        [size, t(DATA, b"ab"), t(THUMBNAIL, repeat(b"p", 16385))], "invalidValue")
    bad("a digest of 31 bytes", "M-8", ATTACHMENT, [size, t(DATA, b"ab"), t(DIGEST, bytes(31))], "invalidValue")
    bad("a file name of 257 bytes", "M-8", ATTACHMENT, [size, t(DATA, b"ab"), t(NAME, "n" * 257)], "invalidValue")
    bad("a media type of 129 bytes", "M-8", ATTACHMENT, [size, t(DATA, b"ab"), t(MEDIA, "m" * 129)], "invalidValue")


def cards(file):
    good, bad = file.good, file.bad
    head = [t(CARD_NAME, "build-7"), t(TEXT, "Build 7")]
    least = [*head, t(STATUS, u8(4))]
    fields = {"card": "build-7", "text": "Build 7", "cardStatus": "failed"}

    def pair(key, text):
        return t(DETAIL, t(KEY, key), t(TEXT, text))

    good("a card", "M-39", CARD, least, fields)
    good("a card with every field", "M-39", CARD,
         [*least, pair("branch", "main"), pair("empty", ""), t(TIME, u64(1700000000000)),
          t(URL, "https://ci.example/7?a=1#b")],
         fields | {"details": [["branch", "main"], ["empty", ""]], "statusTime": "1700000000000",
                   "url": "https://ci.example/7?a=1#b"})
    good("a card with its fields in another order, and an unknown one", "M-39", CARD,
         [OTHER, t(STATUS, u8(4)), t(TEXT, "Build 7"), t(CARD_NAME, "build-7")], fields)
    for number, name in enumerate(("unknown", "ok", "running", "warning", "failed", "removed", "unknown")):
        good(f"a card with the status {number}", "M-42", CARD, [*head, t(STATUS, u8(number))],
             fields | {"cardStatus": name})
    good("a card with the status 255", "M-42", CARD, [*head, t(STATUS, u8(255))], fields | {"cardStatus": "unknown"})
    good("a card with the longest texts", "M-40", CARD,
         [t(CARD_NAME, "c" * 128), t(TEXT, "t" * 256), t(STATUS, u8(1)), pair("k" * 64, "v" * 256),
          *[pair("a", "b")] * 15, t(TIME, u64(253402300799999)), t(URL, repeat(b"http://h", 128))],
         {"card": times("c", 128), "text": times("t", 256), "cardStatus": "ok",
          "details": [["k" * 64, times("v", 256)], *[["a", "b"]] * 15], "statusTime": "253402300799999",
          "url": times("http://h", 128)})
    good("a detail with an unknown field", "M-39", CARD, [*least, t(DETAIL, t(TEXT, "b"), OTHER, t(KEY, "a"))],
         fields | {"details": [["a", "b"]]})
    for name, pieces in (("its name", least[1:]), ("its title", [least[0], least[2]]), ("its status", head)):
        bad(f"a card without {name}", "M-39", CARD, pieces, "missingField")
    for name, piece in (("names", least[0]), ("titles", least[1]), ("statuses", least[2])):
        bad(f"a card with two {name}", "M-39", CARD, [*least, piece], "duplicateField")
    for name, piece in (("times", t(TIME, u64(1))), ("URLs", t(URL, "http://a"))):
        bad(f"a card with two {name}", "M-39", CARD, [*least, piece, piece], "duplicateField")
    bad("a card with an unknown critical field", "M-39", CARD, [*least, CRITICAL], "unknownCritical")
    bad("a detail with an unknown critical field", "M-39", CARD,
        [*least, t(DETAIL, t(KEY, "a"), t(TEXT, "b"), CRITICAL)], "unknownCritical")
    bad("17 details", "M-39", CARD, [*least, *[pair("a", "b")] * 17], "tooManyTLVs")
    bad("a detail without a key", "M-39", CARD, [*least, t(DETAIL, t(TEXT, "b"))], "missingField")
    bad("a detail without a text", "M-39", CARD, [*least, t(DETAIL, t(KEY, "a"))], "missingField")
    bad("a detail with two keys", "M-39", CARD, [*least, t(DETAIL, t(KEY, "a"), t(KEY, "a"), t(TEXT, "b"))],
        "duplicateField")
    invalid = {
        "an empty name": [t(CARD_NAME), *least[1:]], "a name of 129 bytes": [t(CARD_NAME, "c" * 129), *least[1:]],
        "a name with a line feed": [t(CARD_NAME, "a\nb"), *least[1:]],
        "an empty title": [least[0], t(TEXT), least[2]],
        "a title of 257 bytes": [least[0], t(TEXT, "t" * 257), least[2]],
        "a title that is not UTF-8": [least[0], t(TEXT, b"\xff"), least[2]],
        "a status of two bytes": [*head, t(STATUS, bytes(2))], "a time of four bytes": [*least, t(TIME, bytes(4))],
        "a time beyond the year 9999": [*least, t(TIME, u64(253402300800000))],
        "a key of 65 bytes": [*least, pair("k" * 65, "v")], "an empty key": [*least, pair("", "v")],
        "a detail of 257 bytes": [*least, pair("k", "v" * 257)],
        "a URL of 1,025 bytes": [*least, t(URL, [b"http://h/", repeat(b"u", 1016)])],
    }
    for number in (0x00, 0x0A, 0x1B, 0x7F, 0x9B, 0x061C, 0x200E, 0x2028, 0x202E, 0x2066):
        invalid[f"a title with U+{number:04X}"] = [least[0], t(TEXT, f"a{chr(number)}b"), least[2]]
    invalid["a key with U+001B"] = [*least, pair("a\x1b", "b")]
    invalid["a detail with U+202E"] = [*least, pair("a", "\u202eb")]
    for url in ("javascript:alert(1)", "data:text/html,a", "https://", "http:///path", "ftp://host/", "HTTPS://host",
                "https://a b", "https://a\nb", "https://a@b/", "https://a.example:x@b/", "https://\u00e9.example",
                'https://a/"', "https://a/<", "https://a\\b", "//host/path", ""):
        invalid[f"the URL {url!r}"] = [*least, t(URL, url)]
    for name, pieces in invalid.items():
        clause = "M-41" if "URL" in name else "M-40" if "U+" in name or "bytes" in name else "M-39"
        bad(f"a card with {name}", clause, CARD, pieces, "invalidValue")


def values(file):
    def good(name, clauses, pieces, value):
        file.good(name, clauses, COMMAND, pieces, {"value": value})

    def bad(name, clauses, pieces, code):
        file.bad(name, clauses, COMMAND, pieces, code)

    def number(value):
        return t(INTEGER, u64(value % (1 << 64)))

    good("null", "M-14", t(NULL), {"null": True})
    good("false", "M-14", t(BOOL, u8(0)), {"bool": False})
    good("true", "M-14", t(BOOL, u8(1)), {"bool": True})
    for value in (0, -1, -(1 << 63), (1 << 63) - 1):
        good(f"the integer {value}", "M-16", number(value), {"integer": str(value)})
    for value in (1 << 63, (1 << 64) - 1):
        good(f"the integer {value}", "M-16", t(UNSIGNED, u64(value)), {"unsigned": str(value)})
    good("one half", "M-14", t(DOUBLE, bytes.fromhex("3fe0000000000000")), {"double": "3fe0000000000000"})
    good("an infinite number", "M-14", t(DOUBLE, bytes.fromhex("fff0000000000000")), {"double": "fff0000000000000"})
    good("an empty text", "M-14", t(TEXT), {"text": ""})
    good("bytes", "M-14", t(DATA, b"\x00\xff"), {"data": "00ff"})
    good("an empty array", "M-14", t(ARRAY), {"array": []})
    good("an array", "M-14", t(ARRAY, number(1), t(NULL), t(ARRAY)), {
        "array": [{"integer": "1"}, {"null": True}, {"array": []}]})
    good("an empty object", "M-15", t(OBJECT), {"object": []})
    good("an object with the empty key", "M-15", t(OBJECT, t(KEY), number(1), t(KEY, "a"), t(TEXT, "b")), {
        "object": [{"key": "", "value": {"integer": "1"}}, {"key": "a", "value": {"text": "b"}}]})
    good("keys in the order of their bytes", "M-15",
         t(OBJECT, *[piece for key in ("Z", "a", "e\u0301", "\u00e9") for piece in (t(KEY, key), t(NULL))]),
         {"object": [{"key": key, "value": {"null": True}} for key in ("Z", "a", "e\u0301", "\u00e9")]})
    good("a key of 256 bytes", "M-15", t(OBJECT, t(KEY, "k" * 256), t(NULL)),
         {"object": [{"key": times("k", 256), "value": {"null": True}}]})
    inner = {"array": []}
    for _ in range(6):
        inner = {"array": [inner]}
    good("arrays 7 deep", "M-17", nest(ARRAY, 7), inner)
    bad("arrays 8 deep", "M-17", nest(ARRAY, 8), "tlvTooDeep")
    null = bytes.fromhex("021000000000")
    good("an array of 1,007 values", "M-17", t(ARRAY, repeat(null, 1007)), {"array": times([{"null": True}], 1007)})
    bad("an array of 1,008 values", "M-17", t(ARRAY, repeat(null, 1008)), "tooManyTLVs")
    bad("nothing", "M-14", [], "missingField")
    bad("two values", "M-14", [t(NULL), t(NULL)], "duplicateField")
    bad("another tag", "M-14", OTHER, "invalidValue")
    bad("another tag in an array", "M-14", t(ARRAY, OTHER), "invalidValue")
    bad("a critical tag", "M-14", t(ARRAY, CRITICAL), "unknownCritical")
    bad("null with a byte", "M-14", t(NULL, u8(0)), "invalidValue")
    bad("a truth value of 2", "M-14", t(BOOL, u8(2)), "invalidValue")
    bad("an integer of four bytes", "M-16", t(INTEGER, bytes(4)), "invalidValue")
    bad("an unsigned integer that is an integer", "M-16", t(UNSIGNED, u64((1 << 63) - 1)), "invalidValue")
    bad("a floating-point number of four bytes", "M-14", t(DOUBLE, bytes(4)), "invalidValue")
    bad("a text that is not UTF-8", "M-14", t(TEXT, b"\x80"), "invalidValue")
    bad("keys in another order", "M-15", t(OBJECT, t(KEY, "b"), t(NULL), t(KEY, "a"), t(NULL)), "invalidValue")
    bad("a key twice", "M-15", t(OBJECT, t(KEY, "a"), t(NULL), t(KEY, "a"), t(NULL)), "duplicateField")
    bad("a key of 257 bytes", "M-15", t(OBJECT, t(KEY, "k" * 257), t(NULL)), "invalidValue")
    bad("a value without a key", "M-15", t(OBJECT, t(NULL)), "missingField")
    bad("a key without a value", "M-15", t(OBJECT, t(KEY, "a")), "missingField")
    bad("an array that is cut", "M-14", [b"\x01\x60\x00\x00\x00\x06", null[:5]], "malformedTLV")


def changes(file):
    """The changes of a message of ada, which a replay applies in every order."""
    def change(offset, sender, kind, target=ADA, moderator=False, **fields):
        entry = {"offset": str(offset), "sender": sender, "kind": kind, "fields": {"target": target} | fields}
        return entry | ({"isModerator": True} if moderator else {})

    def add(name, clauses, steps, result):
        file.vectors.append({"name": name, "clauses": clauses.split(), "target": ADA, "changes": steps,
                             "result": result})

    def react(offset, sender, reaction="👋", removed=False):
        return change(offset, sender, "reaction", reaction=reaction, **({"removed": 1} if removed else {}))

    add("no change", "M-9", [], {})
    add("an edit", "M-9", [change(20, "ada", "edit", text="a")], {"text": "a"})
    add("an edit of another account", "M-9", [change(20, "bob", "edit", text="a")], {})
    add("an edit of a moderator", "M-9", [change(20, "bob", "edit", text="a", moderator=True)], {})
    add("an edit of another message", "M-9", [change(20, "ada", "edit", ADA | {"counter": "4"}, text="a")], {})
    add("an edit with another offset of the target", "M-2", [
        change(20, "ada", "edit", ADA | {"offset": "9"}, text="a")], {"text": "a"})
    add("three edits", "M-10", [change(20, "ada", "edit", text="b"), change(21, "ada", "edit", text="a"),
                                change(22, "ada", "edit", text="c")], {"text": "c"})
    add("a delete", "M-9", [change(20, "ada", "delete")], {"isDeleted": True})
    add("a delete of another account", "M-9", [change(20, "bob", "delete")], {})
    add("a delete of a moderator", "M-9", [change(20, "bob", "delete", moderator=True)], {"isDeleted": True})
    add("a delete of an edit", "M-38", [
        change(20, "ada", "edit", text="a"), change(21, "ada", "delete", ADA | {"counter": "20"})], {"text": "a"})
    add("a delete, and later changes", "M-11", [
        change(20, "ada", "delete"), change(21, "ada", "edit", text="a"), react(22, "bob")], {"isDeleted": True})
    add("reactions of two accounts", "M-12", [react(20, "bob"), react(21, "ada"), react(22, "bob", "!")],
        {"reactions": [["bob", "👋"], ["ada", "👋"], ["bob", "!"]]})
    add("a reaction twice", "M-12", [react(20, "bob"), react(21, "bob")], {"reactions": [["bob", "👋"]]})
    add("a reaction, removed", "M-10 M-12", [react(20, "bob"), react(21, "bob", removed=True)], {})
    add("a reaction, removed and set again", "M-10 M-12", [
        react(20, "bob"), react(21, "bob", removed=True), react(22, "bob")], {"reactions": [["bob", "👋"]]})
    add("a removal of another account's reaction", "M-12", [react(20, "bob"), react(21, "ada", removed=True)],
        {"reactions": [["bob", "👋"]]})
    add("reactions with equal appearance and other bytes", "M-6", [react(20, "bob", "\u00e9"), react(
        21, "bob", "e\u0301", removed=True)], {"reactions": [["bob", "\u00e9"]]})


def make():
    contents = Contents("contents", "Contents of messages between applications, and values (messages.md 1 and 3).")
    references(contents)
    others(contents)
    cards(contents)
    values(contents)
    changed = VectorFile("changes", "Changes of a message (messages.md 2), to be applied in every order.")
    changes(changed)
    return [contents, changed]
