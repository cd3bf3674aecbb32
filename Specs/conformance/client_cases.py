"""Cases about a client."""

import time
import zlib

import relay_frames
from client_kit import ACCOUNT, OTHER, TOKEN
from kit import FEATURES, SHOULD, Table, frame, text_of
from martlet_bodies import (
    Accepted, Ack, Gap, GoAway, Hello, Ping, Pong, Reject, Response, Resume, Suspend, WelcomeResume,
)
from martlet_frames import Data, Open, Receipt, Request
from martlet_packets import PacketWriter
from martlet_registry import ErrorCode as E
from martlet_registry import Features, Flags, Tag
from martlet_registry import FrameType as T
from martlet_tlv import Run, SessionAck, Version, tlv
from relay_frames import CHECKED, NONCE, RELIABLE, head, patched

CASES = Table()
TIGHT = dict(max_body=17_408, max_message=65_536, link_window=17_408, session_window=17_408)


@CASES.case("client-hello", "C-12 W-32 W-33 C-14 C-22")
def hello(context):
    """the first frame is hello with the account, the credential and version 1.x"""
    peer = context.accept()
    found = peer.expect(Hello)
    header = context.last.header
    context.require((header.timestamp, header.sequence, header.compression) == (0, 0, 0), "timestamp, sequence and "
                    "compression 0", header, "C-14")
    context.require((found.account, found.credential) == (ACCOUNT, TOKEN.encode()), "account and token", found)
    context.require(1 in [version.major for version in found.spoken_version], "a version 1.x", found, "C-22")
    context.require(found.resume is None, "no resume", found.resume, "C-29")
    context.require(found.features < 256, "the features of the registry", hex(found.features), "W-41")


@CASES.case("client-early", "C-16 C-17")
def early(context):
    """before welcome a client sends at most 8,192 bytes of early frames"""
    context.start()
    context.types(*(f"{n} " + 900 * "x" for n in range(30)))
    peer = context.accept()
    found = peer.expect(Hello)
    context.serve(time.monotonic() + 0.4)
    early = sum(28 + e.header.length for e in peer.inbox if not isinstance(e.value, (Ack, Ping)))
    context.require(early <= 8192, "at most 8,192 bytes", early)
    peer.inbox.insert(0, context.last)
    peer.greet()
    peer.admit()
    for n in range(30):
        got = text_of(peer.taken())
        context.require(got.startswith(f"{n} x"), f"message {n}", got[:9], "R-17")
    context.ends()


@CASES.case("client-text", "W-60 R-17 W-61 W-63 W-64 R-21")
def texts(context, peer):
    """each line is published once as a text, in order, under rising counters; the program ends when all are accepted"""
    lines = ["one", "two with ünïcödé", "three"]
    context.types(*lines)
    found = [peer.taken() for _ in lines]
    context.require([text_of(data) for data in found] == lines, lines, [text_of(data) for data in found])
    counters = [data.counter for data in found]
    context.require(counters == sorted(set(counters)) and counters[0] > 0, "rising counters", counters, "W-60")
    context.ends()
    left = [e for e in peer.inbox if isinstance(e.value, Data)]
    context.require(not left, "no further message", left, "R-21")


@CASES.case("client-priority", "S-45")
def priority(context, peer):
    """messages of a session of the kind chat have the priority high"""
    context.types("high")
    peer.taken()
    flags = next(int(e[3][32:34], 16) for e in context.trace if e[2].startswith("data"))
    context.equal(flags >> 4 & 3, 1)


@CASES.case("client-one", "C-4")
def one_connection(context, peer):
    """a client makes no second connection beside an established one"""
    context.accepts_none(1)
    peer.ping()


@CASES.case("client-packets", "W-76 W-79 W-81 W-84 W-86 W-87 W-88 W-89 W-90 W-92")
def packets(context):
    """with version 1.1 and the features compact and sharedDeflate, packets are read and written"""
    peer = context.accept()
    peer.greet(spoken_version=Version(1, 1), features=FEATURES | Features.COMPACT | Features.SHARED_DEFLATE)
    peer.needs(Features.COMPACT)
    peer.packer = PacketWriter(deflates=bool(peer.features & Features.SHARED_DEFLATE))
    peer.admit()
    lines = ["one", "naïve 漢字漢字", "one more", "a long text " * 400, "the last"]
    for line in lines:
        peer.deliver(line)
    context.prints(*lines)
    context.types(*lines[:3])
    context.equal([text_of(peer.taken()) for _ in range(3)], lines[:3])
    context.ends()


@CASES.case("client-waits", "R-21 C-7")
def waits(context, peer):
    """at the end of its input, the program does not end before its messages are accepted"""
    context.types("waits for its answer")
    data = peer.taken(answer=False)
    context.process.stdin.close()
    context.serve(time.monotonic() + 0.7)
    context.require(context.process.poll() is None, "a program that runs", "its end")
    peer.accepted(data)
    context.ends()


@CASES.case("client-accepted-other", "R-21 W-64")
def accepted_other(context, peer):
    """accepted for counters that the client does not have, or again, has no effect"""
    context.types("one")
    data = peer.taken()
    for run in (Run(data.counter, 1, context.head), Run(data.counter + 500, 9, 900)):
        peer.send(Accepted(accepted_run=(run,)), peer.room)
    context.types("two")
    peer.taken()
    context.ends()


@CASES.case("client-refused", "R-24 W-65")
def refused(context, peer):
    """a message that a receipt refuses has failed, and is not published again"""
    context.types("refused", "taken")
    data = peer.taken(answer=False)
    peer.send(Receipt(receipt_kind=3, counter=data.counter, code=E.REFUSED), peer.room)
    peer.taken()
    peer.expect_none(Data, clause="R-21")
    context.ends(code=None)


@CASES.case("client-prints", "R-32 R-28 W-56")
def prints(context):
    """messages are given to the application once and in order, those before the client came included"""
    context.head = 2
    peer = context.begin()
    for offset in (1, 2):
        peer.deliver(f"old {offset}", offset)
    peer.deliver("new")
    context.prints("old 1", "old 2", "new")
    context.prints_nothing()
    context.ends()


@CASES.case("client-ack", "W-48 W-49 S-20")
def acknowledges(context, peer):
    """a message is acknowledged within 25 ms as far as a network permits, and nothing that was not sent"""
    peer.expect_ack(peer.room, 1)
    began = time.monotonic()
    sequence = peer.deliver("one")
    peer.expect_ack(peer.room, sequence)
    took = time.monotonic() - began
    context.require(took < 0.025 + context.options.slack, "an ack within 25 ms", f"{took:.3f} s", "W-49")
    context.prints("one")


@CASES.case("client-duplicate", "S-18 W-14")
def duplicate(context, peer):
    """a frame that arrives twice is acknowledged twice and given to the application once"""
    sequence = peer.deliver("once")
    peer.expect_ack(peer.room, sequence)
    before = peer.acks
    peer.raw(peer.sessions[peer.room].out[sequence], "the same frame")
    peer.ping()
    context.require(peer.acks > before, "another ack", "none", "W-14")
    context.prints("once")
    context.prints_nothing()


@CASES.case("client-gap", "S-18 W-48")
def sequence_gap(context, peer):
    """frames behind a gap are held, acknowledged in ranges, and given to the application in order"""
    peer.expect_ack(peer.room, 1)
    peer.deliver("second", 2, sequence=3)
    peer.deliver("third", 3, sequence=4)
    peer.expect_ack(peer.room, 1, ((3, 4),), "W-48")
    context.prints_nothing()
    peer.deliver("first", 1, sequence=2)
    context.prints("first", "second", "third")
    peer.expect_ack(peer.room, 4)


@CASES.case("client-offset-again", "R-32")
def offset_again(context, peer):
    """a message at an offset that is not above the client's cursor is dropped"""
    peer.deliver("one")
    peer.deliver("two")
    peer.deliver("one again", 1)
    peer.deliver("three")
    context.prints("one", "two", "three")


@CASES.case("client-offset-gap", "R-32 W-66")
def offset_gap(context, peer):
    """a gap of offsets is passed; one that begins below the cursor counts from there"""
    peer.deliver("one")
    peer.send(Gap(first=1, up_to=5), peer.room)
    peer.deliver("behind", 6)
    peer.deliver("inside", 4)
    context.prints("one", "behind")
    context.prints_nothing()


CONTENTS = [
    ("field", "R-32 W-72", "with two texts", dict(content=2 * tlv(Tag.TEXT, b"x"))),
    ("utf-8", "R-32", "with a text that is not UTF-8", dict(content=tlv(Tag.TEXT, b"\xff"))),
    ("critical", "W-29", "with a critical tag inside the content",
     dict(content=tlv(Tag.TEXT, b"fine") + tlv(0xC777, b""))),
]


def content(context, fields):
    peer = context.begin()
    peer.deliver("", **fields)
    peer.deliver("next")
    context.prints(*(["fine"] if b"fine" in fields["content"] else []), "next")
    peer.ping()


for name, clauses, title, fields in CONTENTS:
    CASES.row(f"client-content-{name}", clauses, f"a message {title} ends neither connection nor session",
              content, fields)


@CASES.case("client-fragments", "W-21 W-22 S-42")
def fragments(context, peer):
    """fragments with a ping between them are joined"""
    whole = "a long text " * 2500
    body = Data(offset=1, accepted_at=1, device=1, sender=OTHER, counter=1, kind=0x1001,
                content=tlv(Tag.TEXT, whole.encode())).encoded()
    more = RELIABLE | Flags.MORE_FRAGMENTS
    peer.put(T.DATA, body[:16_000], peer.room, flags=more)
    peer.ping()
    peer.put(T.DATA, body[16_000:], peer.room)
    context.prints(whole)


@CASES.case("client-zlib", "W-18 W-19")
def deflated(context, peer):
    """a compressed message is read, if the client offers zlib"""
    peer.needs(Features.ZLIB)
    peer.deliver("squeezed", compress=zlib.compress)
    context.prints("squeezed")


@CASES.case("client-long", "W-7 W-22 S-43")
def long_line(context):
    """a long line arrives whole, in one message or several, in bodies within maxBody"""
    peer = context.begin(limits=TIGHT)
    line, found = "0123456789" * 3000, ""
    context.types(line)
    while len(found) < len(line):
        found += text_of(peer.taken())
    context.equal(found, line)
    context.ends()


@CASES.case("client-credit", "W-52 S-35")
def credit(context):
    """a client stays within the credit of a slow relay, and sends the rest when credit returns"""
    peer = context.accept()
    peer.grants = False
    peer.greet(limits=TIGHT)
    peer.admit()
    context.types(*(f"{n} " + 5000 * "y" for n in range(6)))
    context.serve(time.monotonic() + 0.8)
    peer.grants = True
    peer.acknowledge(force=True)
    for n in range(6):
        found = text_of(peer.taken())
        context.require(found.startswith(f"{n} y"), f"message {n}", found[:9], "R-17")
    context.ends()


@CASES.case("client-credit-probe", "S-41 W-52")
def credit_probe(context):
    """a client that only credit holds back asks for the lost acknowledgement with a ping"""
    peer = context.accept()
    peer.grants = False
    peer.greet(limits=TIGHT)
    peer.admit()
    context.types(*(f"{n} " + 5000 * "y" for n in range(6)))
    context.serve(time.monotonic() + 0.3)
    peer.pongs = False
    context.timeout += 3
    ping = peer.expect(Ping)
    context.require(context.last.header.flags & Flags.ACK_NOW, "a ping with ackNow", "one without", "S-28")
    peer.send(Pong(nonce=ping.nonce, echo=(0, 0)))


@CASES.case("client-probe", "S-26 S-28 S-27")
def probe(context, peer):
    """a message without an acknowledgement is sent again under its sequence after a probe"""
    peer.expect_ack(peer.room, 1)
    peer.acknowledges = peer.pongs = False
    context.types("lost")
    peer.taken(answer=False)
    flow = peer.sessions[peer.room]
    sequence = flow.receiver.window.cumulative
    flow.receiver.window.cumulative, flow.receiver._next = sequence - 1, sequence
    context.timeout += 3
    ping = peer.expect(Ping)
    peer.acknowledges = peer.pongs = True
    peer.acknowledge(force=True)
    peer.send(Pong(nonce=ping.nonce, echo=(0, 0)))
    data = peer.taken()
    context.require(text_of(data) == "lost", "the same message", text_of(data))
    context.ends()


@CASES.case("client-ping", "W-70 W-53 S-28")
def pong(context, peer):
    """a ping with ackNow is answered by an ack and a pong of its nonce that echoes its timestamp"""
    peer.expect_ack(peer.room, 1)
    before = peer.acks
    peer.send(Ping(nonce=2**64 - 2), ack_now=True, timestamp=777)
    found = peer.expect(Pong, nonce=2**64 - 2)
    context.require(found.echo.timestamp == 777, "the timestamp 777", found.echo.timestamp, "W-53")
    context.require(peer.acks > before, "an ack before the pong", "none", "S-28")


@CASES.case("client-unknown", "W-73 S-19 W-28")
def unknown(context, peer):
    """unknown types, reliable ones included, and unknown tags are ignored, and the reliable ones acknowledged"""
    peer.raw(frame(0x7ABC, b"\xff", 9, flags=CHECKED | Flags.MORE_FRAGMENTS), "an unknown frame")
    peer.put(0x7ABC, b"\xff", peer.room, flags=RELIABLE)
    peer.raw(frame(T.PING, NONCE + tlv(0x4777, b"x")), "a ping with an unknown tag")
    peer.expect(Pong, nonce=0)
    sequence = peer.reaches("behind")
    peer.expect_ack(peer.room, sequence)


# Frames of a relay, each of which makes a client end the connection with the code, show nothing of what follows, and
# resume its link.
# Those that end a connection to a relay, too: their names here and in relay_frames.
SHARED = dict(pair.split(":") for pair in """
    no-checksum:checksum-flag major:major reserved:reserved-80 compression:compression-9
    critical-type:critical-type critical-tag:critical-tag malformed:tlv-length deep:tlv-deep many:tlv-many
    more:ping-more sequence:ping-sequence field:field-missing unknown-flood:unknown-flood""".split())
HOSTILE = [
    ("checksum", "W-10 C-41", "a wrong checksum", patched(frame(T.PING, NONCE), 35, 1), E.BAD_CHECKSUM),
    ("magic", "W-5", "a wrong magic", b"HTTP/1.1 200 OK\r\n", E.BAD_MAGIC),
    ("length", "W-7", "a body longer than maxBody", head(1 << 24), E.FRAME_TOO_LARGE),
    ("hello", "W-74", "a hello", frame(T.HELLO), E.PROTOCOL_VIOLATION),
    ("welcome", "C-6 W-74", "a second welcome", frame(T.WELCOME), E.PROTOCOL_VIOLATION),
    ("ack-unsent", "S-23 W-50", "an ack of a frame that was never sent",
     frame(T.ACK, Ack(link_credit=1 << 20, session_ack=(SessionAck(0, 99, 65_536),)).encoded()), E.ACK_UNSENT),
    ("parity", "S-3 W-54", "an open with an odd ID",
     frame(T.OPEN, Open(room="x", session_kind=0, cursor=0).encoded(), 9, 1), E.PROTOCOL_VIOLATION),
    ("pings", "W-71", "300 pings at once", 300 * frame(T.PING, NONCE), E.CONTROL_FLOOD),
] + [(mine, *row) for mine, its in SHARED.items() for name, *row in relay_frames.HOSTILE if name == its]


def hostile(context, data, code):
    peer = context.begin()
    peer.reaches("before")
    peer.raw(data, "hostile bytes")
    sequence = peer.deliver("behind", context.head + 1)
    peer.pongs = peer.acknowledges = False
    peer.expect_end(code)
    context.prints_nothing(clause=None)
    context.head += 1
    again = context.resumed(peer)
    context.prints("behind")
    again.expect_ack(again.room, sequence)


for name, clauses, title, data, code in HOSTILE:
    CASES.row(f"client-hostile-{name}", clauses, f"{title}: the client ends the connection with {code.wire_name}, and "
              "resumes", hostile, data, code)


def before_welcome(context, act, code=E.PROTOCOL_VIOLATION):
    peer = context.accept()
    act(peer)
    peer.expect_end(code)
    context.accept().greet()
    context.peer.admit()


for name, clauses, title, act in [
    ("ping", "C-19", "a ping before welcome", lambda p: p.expect(Hello) and p.send(Ping(nonce=1))),
    ("resume", "C-20 W-36", "welcome with a resume that was not requested",
     lambda p: p.greet(resume=WelcomeResume())),
    ("version", "C-20", "welcome with version 2.0", lambda p: p.greet(spoken_version=Version(2, 0))),
]:
    CASES.row(f"client-before-{name}", clauses, f"{title}: the client ends the connection with protocolViolation",
              before_welcome, act)


# Losses of the connection.

@CASES.case("client-cut-hello", "C-5 C-6 C-55")
def cut_hello(context):
    """a connection that ends before welcome is replaced"""
    for _ in range(2):
        peer = context.accept()
        peer.expect(Hello)
        peer.cut()
    peer = context.accept()
    found = peer.greet()
    context.require(found.resume is None, "no resume", found.resume, "C-29")
    peer.admit()
    context.types("arrives")
    peer.taken()
    context.ends()


@CASES.case("client-cut-open", "C-29 C-33 W-45")
def cut_open(context):
    """an open that was lost with the connection is sent again under its sequence after a resume"""
    peer = context.accept()
    peer.acknowledges = False
    peer.greet()
    peer.expect(Open)
    peer.sessions = {0: peer.sessions[0]}
    peer.cut()
    again = context.resumed(peer)
    again.admit()
    again.reaches("hello")


@CASES.case("client-cut-data", "C-33 S-26 R-21")
def cut_data(context, peer):
    """a message that was lost with the connection is sent again under its sequence and its counter"""
    peer.expect_ack(peer.room, 1)
    peer.acknowledges = False
    context.types("lost")
    first = peer.taken(answer=False)
    sequence = context.last.header.sequence
    flow = peer.sessions[peer.room]
    flow.receiver.window.cumulative, flow.receiver._next = sequence - 1, sequence
    peer.cut()
    again = context.resumed(peer)
    data = again.taken()
    context.require(context.last.header.sequence == sequence, f"sequence {sequence}", context.last.header.sequence)
    context.require(data == first, "the same body", data, "S-16")
    context.ends()


@CASES.case("client-cut-accepted", "C-33 S-22 R-21")
def cut_accepted(context, peer):
    """an acknowledged message is not sent again after a resume, and counts as accepted only with accepted"""
    context.types("acknowledged")
    data = peer.taken(answer=False)
    peer.ping()
    peer.cut()
    again = context.resumed(peer)
    again.expect_none(Data)
    again.accepted(data)
    context.ends()


@CASES.case("client-cut-delivery", "C-29 S-18 C-33")
def cut_delivery(context, peer):
    """frames that a relay sends again after a resume are given to the application once"""
    first = peer.reaches("one")
    peer.cut()
    peer.deliver("two, into a broken connection")
    again = context.resumed(peer)
    again.raw(peer.sessions[peer.room].out[first], "again, although the client has it")
    again.deliver("three")
    context.prints("two, into a broken connection", "three")
    context.prints_nothing()


@CASES.case("client-token", "C-31 W-44 W-47")
def tokens(context, peer):
    """each resume uses the token of the latest welcome"""
    for n in range(3):
        peer.cut()
        peer = context.resumed(peer, epoch=n + 2)
        peer.deliver(str(n))
        context.prints(str(n))


@CASES.case("client-refused-resume", "C-34 C-36 R-9 R-21 W-46")
def refused_resume(context, peer):
    """after a refused resume the client begins a new link on the same connection, opens the room from its cursor and
    publishes under the same counters"""
    peer.reaches("one")
    context.types("unanswered")
    data = peer.taken(answer=False)
    peer.cut()
    again = context.accept()
    again.discards = True
    again.expect(Hello)
    again.send(Reject(code=E.RESUME_REJECTED))
    hello = again.wait(lambda e: isinstance(e.value, Hello), "hello without resume", "C-34")
    context.require(hello.value.resume is None, "no resume", hello.value.resume, "C-34")
    again.discards = False
    again.inbox.insert(0, hello)
    again.greet()
    asked = again.admit(head=1)
    context.require(asked.cursor == 1, "cursor 1", asked.cursor, "R-9")
    context.require(asked.log in (None, context.log), "the log", asked.log, "R-9")
    found = again.taken()
    context.require((found.counter, found.content) == (data.counter, data.content), data, found, "R-21")
    again.reaches("two")
    context.ends()


@CASES.case("client-log", "R-12")
def other_log(context, peer):
    """when opened names another log, everything in it is given to the application"""
    for n in range(3):
        peer.deliver(f"old {n}")
    context.prints("old 0", "old 1", "old 2")
    peer.reset(E.STORE_UNAVAILABLE)
    context.log, context.head = context.log + 1, 2
    peer.admit()
    peer.deliver("first of another log", 1)
    peer.deliver("second", 2)
    context.prints("first of another log", "second")


@CASES.case("client-head", "R-12")
def lower_head(context, peer):
    """when the head of the same log is below the client's cursor, delivery continues behind the head"""
    for n in range(3):
        peer.deliver(f"old {n}")
    context.prints("old 0", "old 1", "old 2")
    peer.reset(E.STORE_UNAVAILABLE)
    context.head = 1
    peer.admit()
    peer.reaches("at offset 2")


# What a client does about codes.

@CASES.case("client-reset", "R-13 S-2 R-21 R-9")
def reset(context, peer):
    """a session that is reset with storeUnavailable is opened again under another ID, from the cursor; messages
    without an answer are published again under their counters"""
    peer.reaches("one")
    context.types("unanswered")
    data = peer.taken(answer=False)
    first = peer.room
    peer.reset(E.STORE_UNAVAILABLE)
    asked = peer.admit()
    context.require(peer.room != first and peer.room % 2, "another odd ID", peer.room, "S-2")
    context.require(asked.cursor == 1, "cursor 1", asked.cursor, "R-9")
    context.equal(peer.taken().counter, data.counter, "R-21")
    context.ends()


@CASES.case("client-reset-answer", "S-12 S-11 W-57")
def reset_answer(context, peer):
    """a reset of a session with an unacknowledged message is answered by a reset with the credit used"""
    peer.acknowledges = False
    context.types("unacknowledged")
    used = len(peer.taken(answer=False).encoded())
    session = peer.room
    peer.reset(E.STORE_UNAVAILABLE)
    found = peer.expect_reset(E.STORE_UNAVAILABLE, session)
    context.require(found.credit_used == used, f"creditUsed {used}", found.credit_used, "S-11")


@CASES.case("client-reset-retry", "S-64 W-103")
def reset_retry(context, peer):
    """a reset with retryAfter is not followed by an open before this time"""
    peer.reset(E.SERVER_BUSY, retry_after=1500)
    began = time.monotonic()
    peer.admit()
    took = time.monotonic() - began
    context.require(took >= 1.45, "an open after 1.5 s at the earliest", f"{took:.2f} s")


@CASES.case("client-reset-forbidden", "R-13")
def reset_forbidden(context, peer):
    """a client gives the room up after roomForbidden: it does not open it again, and its messages have failed"""
    context.types("never accepted")
    peer.taken(answer=False)
    peer.reset(E.ROOM_FORBIDDEN)
    context.serve(time.monotonic() + 2.3)
    again = [e for e in peer.inbox if isinstance(e.value, Open)]
    context.require(not again, "no open", again)
    context.ends(code=None)


@CASES.case("client-server-open", "S-2")
def server_open(context, peer):
    """the open of a server is answered by reset unsupportedKind"""
    peer.flow(2)
    peer.send(Open(room="x", session_kind=0, cursor=0), 2)
    peer.expect_reset(E.UNSUPPORTED_KIND, 2)
    peer.ping()


@CASES.case("client-unknown-session", "S-15 W-59")
def unknown_session(context, peer):
    """a reliable frame of an unknown session is answered by reset unknownSession; a transient one is dropped"""
    peer.flow(999)
    peer.put(T.TRANSIENT, tlv(Tag.TYPING, b"\1"), 999)
    peer.put(T.CLOSE, b"", 999, sequence=2)
    peer.expect_reset(E.UNKNOWN_SESSION, 999)
    peer.ping()


@CASES.case("client-request", "S-58 R-40")
def request(context, peer):
    """a request that reaches a client is answered"""
    peer.needs(Features.REQUESTS)
    peer.send(Request(correlation=31, method="no such method", deadline=4000, sender=OTHER), peer.room)
    peer.expect(Response, peer.room, correlation=31, status=E.UNKNOWN_METHOD)


@CASES.case("client-receipt", "R-33")
def receipt(context, peer):
    """with the feature receipts, a message that was printed is reported as delivered"""
    peer.needs(Features.RECEIPTS)
    peer.deliver("one")
    peer.deliver("two")
    context.prints("one", "two")
    peer.wait(lambda e: isinstance(e.value, Receipt) and e.value.receipt_kind in (1, 2) and e.value.up_to == 2,
              "a receipt delivered or read up to 2", "R-33")


@CASES.case("client-suspend", "S-9 W-58")
def suspend(context, peer):
    """a client that is suspended holds back messages until resume"""
    sequence = peer.send(Suspend(), peer.room)
    peer.expect_ack(peer.room, sequence)
    context.types("held back")
    context.serve(time.monotonic() + 0.5)
    early = [e for e in peer.inbox if isinstance(e.value, Data)]
    context.require(not early, "no message", early)
    peer.send(Resume(), peer.room)
    peer.taken()
    context.ends()


def stops(context, act):
    """The client makes no further attempt, and its program fails."""
    peer = context.accept()
    act(peer, context)
    context.accepts_none(1.2, "C-43")
    context.ends(code=None, clause="C-44")


def rejects(code, times=1, kind=Reject):
    def act(peer, context):
        for n in range(times):
            peer = peer if n == 0 else context.accept(clause="C-43")
            peer.expect(Hello)
            peer.send(kind(code=code))
            peer.cut()
    return act


def goes_away(code):
    def act(peer, context):
        peer.greet()
        peer.admit()
        peer.send(GoAway(code=code))
        peer.cut()
    return act


for name, title, act in [
    ("forbidden", "reject forbidden", rejects(E.FORBIDDEN)),
    ("revoked", "goaway revoked", goes_away(E.REVOKED)),
    ("replaced", "goaway replaced", goes_away(E.REPLACED)),
    ("version", "goaway unsupportedVersion before welcome", rejects(E.UNSUPPORTED_VERSION, kind=GoAway)),
    ("unauthenticated", "two rejects unauthenticated", rejects(E.UNAUTHENTICATED, 2)),
]:
    CASES.row(f"client-stops-{name}", "C-43 C-44", f"after {title} the client stops", stops, act)


def returns(context, kind, code, retry_after, welcomed):
    """The client connects again, after `retryAfter` at the earliest."""
    peer = context.accept()
    if welcomed:
        peer.greet()
        peer.admit()
    else:
        peer.expect(Hello)
    peer.send(kind(code=code, retry_after=retry_after))
    peer.cut()
    began = time.monotonic()
    context.timeout += 3
    again = context.accept(clause="C-43", earlier=peer if welcomed else None)
    took = time.monotonic() - began
    context.require(took * 1000 >= (retry_after or 0) - 20, f"at least {retry_after} ms", f"{took:.2f} s", "C-57")
    again.greet(peer if welcomed else None)
    if not welcomed:
        again.admit()
    again.reaches("again")


for name, title, *rest in [
    ("busy", "reject serverBusy with retryAfter", Reject, E.SERVER_BUSY, 1200, False),
    ("unknown", "reject with an unknown code", Reject, 0xF123, None, False),
    ("draining", "goaway draining with retryAfter", GoAway, E.DRAINING, 1200, True),
    ("fault", "goaway badChecksum", GoAway, E.BAD_CHECKSUM, None, True),
]:
    CASES.row(f"client-returns-{name}", "C-43 C-57 C-42", f"after {title} the client connects again", returns, *rest)


@CASES.case("client-redirect", "C-58 C-43")
def redirect(context):
    """a redirect leads the next attempt, and only that one, to another endpoint"""
    other = context.listen()
    peer = context.accept()
    peer.expect(Hello)
    peer.send(Reject(code=E.REDIRECTED, redirect=f"martlet://127.0.0.1:{other.getsockname()[1]}"))
    peer.cut()
    second = context.accept(other, clause="C-58")
    second.expect(Hello)
    second.cut()
    context.accept(clause="C-58").greet()
    context.peer.admit()


@CASES.case("client-behind-goaway", "C-40")
def behind_goaway(context, peer):
    """frames behind a goaway are not processed"""
    peer.reaches("before")
    flow = peer.sessions[peer.room]
    body = Data(offset=2, accepted_at=1, device=1, sender=OTHER, counter=9, kind=0x1001,
                content=tlv(Tag.TEXT, b"behind"))
    flow.sent += 1
    flow.out[flow.sent] = frame(T.DATA, body.encoded(), peer.room, flow.sent)
    peer.raw(frame(T.GOAWAY, tlv(Tag.CODE, b"\2\x08")) + flow.out[flow.sent], "goaway, a message")
    context.prints_nothing(clause="C-40")
    context.head = 2
    again = context.resumed(peer)
    again.deliver("after")
    context.prints("behind", "after")


@CASES.case("client-ends", "C-7 C-40", SHOULD)
def good_end(context, peer):
    """a client that ends in good order sends goaway none, and nothing behind it"""
    context.types("the only one")
    peer.taken()
    context.process.stdin.close()
    goaway = peer.wait(lambda e: isinstance(e.value, GoAway), "goaway none").value
    context.require(goaway.code == 0, "code none", goaway.code)


@CASES.case("client-welcome-timeout", "C-60 C-5")
def no_welcome(context):
    """a client without a welcome after 10 s makes another attempt"""
    context.accept().expect(Hello)
    context.accept(timeout=context.timeout + 10, clause="C-60").greet()
    context.peer.admit()
