"""Cases about a relay: rooms, messages, receipts, presence and requests."""

from dataclasses import replace

from kit import LIMITS, Skipped, Table, message, text, text_of
from martlet_bodies import Accepted, Cancel, Close, Gap, Response
from martlet_frames import Data, Receipt, Request, Transient
from martlet_registry import ContentKind, Features, Tag
from martlet_registry import ErrorCode as E
from martlet_registry import FrameType as T
from martlet_tlv import children, tlv

CASES = Table()
DELIVERED, READ, REFUSED = 1, 2, 3


def number(value, size=8):
    return value.to_bytes(size, "big")


@CASES.case("room-empty", "R-11 W-56 R-1")
def empty(context):
    """opened of an empty room has head 0, first 1, a log, the account as member and no counter"""
    opened = context.link().open()
    context.require((opened.head, opened.first) == (0, 1), "head 0, first 1", opened)
    context.require(opened.log is not None and opened.counter is None, "a log and no counter", opened)
    context.require(opened.member == (context.options.account[0][0],), "the account", opened.member)


@CASES.case("room-members", "R-11 W-56")
def members(context):
    """opened names each account that has members once, and the log of the room is the same for all"""
    ada, bob = context.link(), context.link(1)
    first, second = ada.open(), bob.open()
    third = context.link(1).open()
    names = sorted(account for account, _ in context.options.account[:2])
    context.require(sorted(third.member) == names, names, third.member)
    context.equal({first.log, second.log, third.log}, {first.log}, "R-1")


@CASES.case("room-offsets", "R-1 R-28 W-66")
def offsets(context, ada, bob):
    """messages have the offsets 1, 2, 3 … and reach each reader once, in this order"""
    for expected in (1, 2, 3):
        context.equal(ada.post(f"text {expected}"), expected)
    context.equal(bob.post("bob's"), 4)
    for peer in (ada, bob):
        found = [(data.offset, text_of(data)) for data in (peer.expect(Data, 1) for _ in range(4))]
        wanted = [(1, "text 1"), (2, "text 2"), (3, "text 3"), (4, "bob's")]
        context.equal(found, wanted)
    ada.expect_none(Data)


@CASES.case("room-accepted", "W-64 R-22 R-19")
def accepted(context, ada, bob):
    """accepted names every counter once, in runs whose offsets are those of the messages"""
    for n in range(20):
        ada.post(str(n), wait=False)
    runs = []
    while sum(run.count for run in runs) < 20:
        runs += ada.expect(Accepted, 1).accepted_run
    found = [(run.counter + n, run.offset + n) for run in runs for n in range(run.count)]
    context.require(found == [(n, n) for n in range(1, 21)], "counters and offsets 1 to 20", found)
    context.equal([(data.counter, data.offset) for data in (bob.expect(Data, 1) for _ in range(20))], found)


@CASES.case("room-body", "W-61 R-2 W-28 W-29")
def body(context, ada, bob):
    """a delivered message has the relay's four fields, then the client's bytes unchanged, unknown tags included"""
    content = text("x") + tlv(0xC567, b"critical inside") + tlv(0x4321, b"")
    own = message(1, "x").encoded().replace(tlv(Tag.CONTENT, text("x")), tlv(Tag.CONTENT, content))
    own += tlv(Tag.TIME_TO_LIVE, number(9_999, 4)) + tlv(0x4ABC, b"unknown")
    ada.put(T.DATA, own, 1)
    data = bob.expect(Data, 1)
    context.require(data.sender == ada.account and data.device == ada.device, "ada and her device", data, "W-61")
    sent = next(e for e in reversed(context.trace) if e[1] == f"{bob.label} receives" and e[2].startswith("data 1/2"))
    received = bytes.fromhex(sent[3])
    context.require(received.endswith(own), f"{own.hex()} at the end", sent[3], "W-61")
    tags = [tag for tag, _ in children(received[28:])][:4]
    of_relay = [Tag.OFFSET, Tag.ACCEPTED_AT, Tag.DEVICE, Tag.SENDER]
    context.require(sorted(tags) == sorted(of_relay), "the relay's four fields first", tags, "R-2")


@CASES.case("room-kind", "W-72 W-61")
def kinds(context, ada, bob):
    """a kind without a row is forwarded unchanged, as an application's kind is"""
    for counter, kind in ((1, 0x1FFF), (2, 0xF123)):
        ada.send(Data(counter=counter, kind=kind, content=b""), 1)
        bob.expect(Data, 1, kind=kind, counter=counter)


@CASES.case("room-no-local", "W-55 R-10")
def no_local(context):
    """with noLocal the device's own messages are left out without a gap, and those of others arrive"""
    ada, bob = context.pair(no_local=1)
    ada.post("mine")
    bob.post("yours")
    context.equal(ada.texts(1), ["yours"])
    ada.expect_none(Gap)


def opening(context, count=5, **fields):
    """The offsets that a session with these fields receives of a room with five messages."""
    writer, reader = context.link(1), context.link()
    writer.open(no_local=1)
    for n in range(5):
        writer.post(str(n + 1))
    found = reader.open(**fields)
    context.require(found.head == 5, "head 5", found.head, "R-11")
    writer.post("the last")
    offsets = [reader.expect(Data, 1).offset for _ in range(count)]
    wanted = list(range(7 - count, 7))
    context.equal(offsets, wanted)
    reader.expect_none(Gap)


for name, clauses, title, count, fields in [
    ("cursor", "W-55 R-9", "a cursor of 3", 3, {"cursor": 3}),
    ("cursor-0", "R-9", "a cursor of 0", 6, {}),
    ("cursor-beyond", "R-10", "a cursor beyond the head", 1, {"cursor": 99}),
    ("cursor-log", "R-10 W-55", "a cursor of another log", 6, {"cursor": 3, "log": 12_345}),
    ("tail", "R-10 W-55", "a tail of 2", 3, {"tail": 2}),
    ("tail-cursor", "R-10", "a tail of 4 and a cursor of 4", 2, {"tail": 4, "cursor": 4}),
    ("tail-long", "R-10", "a tail longer than the room", 6, {"tail": 1000}),
]:
    CASES.row(f"room-{name}", clauses, f"a session with {title} receives the right messages", opening, count, **fields)


@CASES.case("room-again", "W-62 R-20 R-16")
def again(context, ada, bob):
    """a message that is published again is accepted at its offset and not delivered again, on another link too"""
    ada.post("filler")
    offset = ada.post("once")
    ada.send(message(2, "once"), 1)
    context.equal(ada.offset_of(2), offset, "R-20")
    link = context.dial()
    link.hello(device=ada.device)
    link.welcomed()
    opened = link.open(cursor=2)
    context.require(opened.counter == 2, "counter 2", opened.counter, "W-56")
    link.send(message(2, "once"), 1)
    context.equal(link.offset_of(2), offset, "W-62")
    bob.texts(2)
    bob.expect_none(Data)


@CASES.case("room-account-device", "W-60 R-16")
def account_device(context):
    """the same device ID and counter of another account is another message"""
    ada, bob = context.link(), context.dial(1)
    bob.hello(device=ada.device)
    bob.welcomed()
    ada.open()
    bob.open()
    context.equal([ada.post("ada's"), bob.post("bob's")], [1, 2])


@CASES.case("room-reused", "R-151 R-24")
def reused(context, peer):
    """another message under a used counter is refused with counterReused, and so is every later one of the session"""
    peer.post("first")
    peer.send(message(1, "second"), 1)
    peer.expect(Receipt, 1, receipt_kind=REFUSED, counter=1, code=E.COUNTER_REUSED)
    peer.send(message(2, "later"), 1)
    peer.expect(Receipt, 1, receipt_kind=REFUSED, counter=2, code=E.COUNTER_REUSED)


@CASES.case("room-too-old", "R-16 R-24")
def too_old(context, peer):
    """a counter in a skipped range is refused with counterTooOld, one within the window is taken"""
    for counter in (1, 200, 150):
        peer.send(message(counter, str(counter)), 1)
        peer.offset_of(counter)
    peer.send(message(50, "50"), 1)
    peer.expect(Receipt, 1, receipt_kind=REFUSED, counter=50, code=E.COUNTER_TOO_OLD)


@CASES.case("room-far", "R-16")
def far(context, peer):
    """a counter more than 2^32 above the watermark is refused with invalidValue"""
    peer.post("first")
    peer.send(message(2 + 2**32, "far"), 1)
    peer.expect(Receipt, 1, receipt_kind=REFUSED, counter=2 + 2**32, code=E.INVALID_VALUE)


COUNTER, KIND = tlv(Tag.COUNTER, number(1)), tlv(Tag.KIND, number(ContentKind.TEXT, 2))
CONTENT = tlv(Tag.CONTENT, text("x"))
BAD = [
    ("no-kind", "R-24 W-72", "no kind", COUNTER + CONTENT, E.MISSING_FIELD),
    ("no-content", "R-24 W-72", "no content", COUNTER + KIND, E.MISSING_FIELD),
    ("two-kinds", "W-25 R-24", "two kinds", COUNTER + KIND + KIND + CONTENT, E.DUPLICATE_FIELD),
    ("kind-size", "W-30 R-24", "a kind of one byte", COUNTER + tlv(Tag.KIND, b"\1") + CONTENT, E.INVALID_VALUE),
    ("no-text", "W-63", "no text", COUNTER + KIND + tlv(Tag.CONTENT, b""), E.MISSING_FIELD),
    ("two-texts", "W-63", "two texts", COUNTER + KIND + tlv(Tag.CONTENT, 2 * text("x")), E.DUPLICATE_FIELD),
    ("empty-text", "W-63", "an empty text", COUNTER + KIND + tlv(Tag.CONTENT, text("")), E.INVALID_VALUE),
    ("utf-8", "W-63 W-30", "a text that is not UTF-8", COUNTER + KIND + tlv(Tag.CONTENT, tlv(Tag.TEXT, b"\xc0\x80")),
     E.INVALID_VALUE),
    ("offset", "W-61", "an offset", tlv(Tag.OFFSET, number(1)) + COUNTER + KIND + CONTENT, E.INVALID_VALUE),
    ("relayed", "W-61", "the relay's four fields", tlv(Tag.OFFSET, number(1)) + tlv(Tag.ACCEPTED_AT, number(1)) + tlv(
        Tag.DEVICE, number(1)) + tlv(Tag.SENDER, b"eve") + COUNTER + KIND + CONTENT, E.INVALID_VALUE),
    ("erased", "R-24", "the kind erased", COUNTER + tlv(Tag.KIND, number(ContentKind.ERASED, 2)) + CONTENT,
     E.INVALID_VALUE),
]


def bad(context, data, code):
    peer = context.member()
    peer.put(T.DATA, data, 1)
    peer.expect(Receipt, 1, receipt_kind=REFUSED, counter=1, code=code)
    peer.counter = 1
    context.equal(peer.post("the next"), 1, "R-24")


for name, clauses, title, data, code in BAD:
    CASES.row(f"message-{name}", clauses, f"a message with {title} is refused with {code.wire_name}, and the session "
              "continues", bad, data, code)


@CASES.case("message-nameless", "R-24 W-72")
def nameless(context, peer):
    """a message without a readable counter resets its session"""
    peer.put(T.DATA, KIND + CONTENT, 1)
    peer.expect_reset(E.MISSING_FIELD)
    peer.open(3, context.room)
    peer.put(T.DATA, tlv(Tag.COUNTER, bytes(8)) + KIND + CONTENT, 3)
    peer.expect_reset(E.INVALID_VALUE, 3)


@CASES.case("message-long", "R-18 R-24")
def long_message(context):
    """a reader whose maxMessage is less than a message is sent a gap of its offset"""
    ada, bob = context.member(), context.member(1, limits=replace(LIMITS, max_message=16_384))
    body = message(1, 20_000 * "z").encoded()
    ada.put(T.DATA, body[:16_000], 1, flags=11)
    ada.put(T.DATA, body[16_000:], 1)
    ada.counter = 1
    ada.post("short")
    bob.expect(Gap, 1, first=1, up_to=1)
    context.equal(bob.texts(1), ["short"])


@CASES.case("room-already", "R-13 R-14")
def already(context, peer):
    """a second session of a link on a room is reset with alreadyOpen; behind close the room opens again"""
    peer.open(3, wait=False)
    peer.expect_reset(E.ALREADY_OPEN, 3)
    peer.send(Close(), 1)
    peer.expect(Close, 1)
    peer.open(5)


@CASES.case("receipt-delivered", "R-35 R-34 W-65")
def receipt(context, ada, bob):
    """a receipt reaches the publisher with the relay's sender and device, at most at the last offset"""
    ada.needs(Features.RECEIPTS)
    ada.post("x")
    bob.texts(1)
    for kind in (DELIVERED, READ):
        bob.send(Receipt(receipt_kind=kind, up_to=99, sender="eve", device=5), 1)
        ada.expect(Receipt, 1, receipt_kind=kind, up_to=1, sender=bob.account, device=bob.device)
    bob.send(Receipt(receipt_kind=DELIVERED, up_to=1), 1)
    ada.expect_none(Receipt, clause="R-34")


@CASES.case("receipt-new-member", "R-36")
def new_member(context, ada, bob):
    """a new member is sent the offsets of the accounts that are furthest, without a device"""
    ada.needs(Features.RECEIPTS)
    ada.post("x")
    bob.send(Receipt(receipt_kind=READ, up_to=1), 1)
    ada.expect(Receipt, 1, receipt_kind=READ)
    other = context.member()
    other.expect(Receipt, 1, up_to=1, sender=bob.account, device=None)


@CASES.case("receipt-feature", "C-23")
def receipt_feature(context):
    """without the feature receipts, delivered receipts are ignored and not sent"""
    ada, bob = context.member(features=0), context.member(1)
    ada.post("x")
    bob.send(Receipt(receipt_kind=DELIVERED, up_to=1), 1)
    ada.expect_none(Receipt)


@CASES.case("presence", "R-37")
def presence(context, link):
    """members learn who comes, is away and leaves, once each and not of themselves"""
    link.needs(Features.PRESENCE)
    link.open()
    bob = context.member(1)
    link.expect(Transient, 1, presence=1, sender=bob.account)
    bob.cut()
    link.expect(Transient, 1, presence=2, sender=bob.account)
    bob = bob.again()
    link.expect(Transient, 1, presence=1, sender=bob.account)
    bob.leave()
    link.expect(Transient, 1, presence=0, sender=bob.account)
    link.expect_none(Transient)


@CASES.case("typing", "R-38 W-67")
def typing(context, ada, bob):
    """typing reaches the other members with the sender; a client's presence reaches nobody"""
    ada.needs(Features.PRESENCE)
    bob.send(Transient(presence=2), 1)
    bob.send(Transient(typing=1, sender="eve"), 1)
    found = ada.wait(lambda e: isinstance(e.value, Transient) and e.value.presence != 1, "typing").value
    context.require((found.typing, found.sender) == (1, bob.account), "typing of bob", found)
    bob.expect_none(Transient, fits=lambda value: value.typing is not None)


@CASES.case("transient-content", "R-38 W-67")
def transient(context, ada, bob):
    """an application's transient frame reaches the other members, is not stored and has a sender"""
    bob.send(Transient(kind=0xF001, content=b""), 1)
    ada.wait(lambda e: isinstance(e.value, Transient) and (e.value.kind, e.value.sender) == (0xF001, bob.account),
             "the transient frame with its sender")
    late = context.member()
    late.expect_none(Transient, fits=lambda value: value.kind is not None)


def asked(peer, method, content=None, **more):
    peer.needs(Features.REQUESTS)
    peer.correlation += 1
    peer.send(Request(**{"correlation": peer.correlation, "method": method, "deadline": 5_000, "content": content,
                         **more}), 1)
    return peer.expect(Response, 1, correlation=peer.correlation)


@CASES.case("request-head", "R-42")
def head(context, ada, bob):
    """the methods head and members answer what opened would contain"""
    ada.post("x")
    for method in ("head", "members"):
        found = dict(children(asked(ada, method).content))
        context.require((found.get(Tag.HEAD), found.get(Tag.FIRST)) == (number(1), number(1)), "head 1, first 1", found)
        context.require(Tag.LOG in found, "a log", found)
    context.require(found.get(Tag.MEMBER), "members", found)


@CASES.case("request-time", "R-96")
def clock(context, link):
    """the method time on session 0 answers the wall clock"""
    link.needs(Features.REQUESTS)
    link.send(Request(correlation=1, method="time", deadline=5_000))
    found = dict(children(link.expect(Response, 0, correlation=1, status=0).content))
    context.require(len(found.get(Tag.ACCEPTED_AT, b"")) == 8, "acceptedAt", found)


@CASES.case("request-forwarded", "R-40 R-41 S-54 W-68 W-69")
def forwarded(context, ada, bob):
    """a request reaches its recipient with the requester as sender, and the response the requester"""
    bob.needs(Features.REQUESTS)
    ada.send(Request(correlation=77, method="roll", deadline=900_000, recipient=bob.account, sender="eve",
                     content=text("?")), 1)
    request = bob.expect(Request, 1, method="roll", sender=ada.account, content=text("?"))
    context.require(request.deadline <= 300_000, "a deadline of at most 300 s", request.deadline, "R-41")
    bob.send(Response(correlation=request.correlation, status=0, content=text("6")), 1)
    ada.expect(Response, 1, correlation=77, status=0, content=text("6"))


@CASES.case("request-ends", "R-41 S-56 S-55")
def request_ends(context, ada, bob):
    """a cancel reaches the recipient; a deadline and a recipient that leaves are answered"""
    bob.needs(Features.REQUESTS)
    for correlation, deadline in ((1, 9_000), (2, 200), (3, 9_000)):
        ada.send(Request(correlation=correlation, method="roll", deadline=deadline, recipient=bob.account), 1)
    first = bob.expect(Request, 1)
    ada.send(Cancel(correlation=1), 1)
    bob.expect(Cancel, 1, correlation=first.correlation)
    ada.expect(Response, 1, correlation=2, status=E.DEADLINE_EXCEEDED)
    bob.leave()
    ada.expect(Response, 1, correlation=3, status=E.NO_RECIPIENT)


@CASES.case("request-many", "R-41")
def request_many(context, ada, bob):
    """the 65th open request is answered with tooManyRequests"""
    bob.needs(Features.REQUESTS)
    for correlation in range(65):
        ada.send(Request(correlation=correlation, method="roll", deadline=9_000, recipient=bob.account), 1)
    ada.expect(Response, 1, correlation=64, status=E.TOO_MANY_REQUESTS)


@CASES.case("history", "R-80 R-81 R-83 R-84")
def history(context, ada, bob):
    """room.history answers the messages of the requested place, ascending"""
    for n in range(5):
        ada.post(str(n))
    for place, wanted in ((Tag.BEFORE, [2, 3]), (Tag.CURSOR, [5])):
        answer = asked(bob, "room.history", tlv(place, number(4)) + tlv(Tag.LIMIT, number(2, 2)))
        if answer.status == E.UNKNOWN_METHOD:
            raise Skipped("the relay has no room.history")
        pages = [value for tag, value in children(answer.content) if tag == Tag.MESSAGE]
        found = [int.from_bytes(dict(children(page))[Tag.OFFSET], "big") for page in pages]
        context.equal(found, wanted)
    place = tlv(Tag.BEFORE, number(4)) + tlv(Tag.LIMIT, number(2, 2)) + tlv(Tag.LOG, bytes(8))
    answer = asked(bob, "room.history", place)
    found = dict(children(answer.content))
    context.require(Tag.MESSAGE not in found and Tag.LOG in found, "the log and no messages", found, "R-83")
    for content, status in ((b"", E.MISSING_FIELD),
                            (tlv(Tag.BEFORE, number(2)) + tlv(Tag.CURSOR, number(2)), E.DUPLICATE_FIELD)):
        found = asked(bob, "room.history", content + tlv(Tag.LIMIT, number(2, 2))).status
        context.require(found == status, status.wire_name, hex(found), "R-84")


@CASES.case("roles", "R-55 R-56 R-58")
def roles(context, ada, bob):
    """where the relay keeps roles: an owner bans and kicks a member, who may not do so"""
    if asked(ada, "room.roles").status == E.UNKNOWN_METHOD:
        raise Skipped("the relay keeps no roles")
    target = tlv(Tag.ACCOUNT, ada.account.encode())
    context.equal(asked(bob, "room.kick", target).status, E.FORBIDDEN)
    target = tlv(Tag.ACCOUNT, bob.account.encode())
    context.equal(asked(ada, "room.kick", target).status, 0)
    bob.expect_reset(E.KICKED)
    bob.open(3, context.room)
    context.equal(asked(ada, "room.ban", target).status, 0)
    bob.expect_reset(E.ROOM_FORBIDDEN, 3)
    bob.open(5, context.room, wait=False)
    bob.expect_reset(E.ROOM_FORBIDDEN, 5)
