"""Cases about a relay: the resume of links, sessions, acknowledgement and credit."""

import time
from dataclasses import replace

from kit import FEATURES, LEAST, LIMITS, Failed, Skipped, Table, frame, message
from martlet_bodies import Ack, Close, GoAway, Ping, Pong, Reject, Reset, Response, Resume, Suspend
from martlet_frames import Data, Open, Request
from martlet_registry import ErrorCode as E
from martlet_registry import Features
from martlet_registry import FrameType as T
from martlet_registry import Tag
from martlet_tlv import Position, SessionAck, Version, tlv
from relay_frames import MORE, NONCE, a_text, hostile

CASES = Table()
# Paths of files that a relay must not have: another folder, a name with a dot, an encoded way out.
NO_FILES = ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/.git/config", "/..%2fetc%2fpasswd")
SMALL = replace(LIMITS, session_window=17_408)


# Links: resume, refusal, fencing.

@CASES.case("link-resume", "W-45 C-32 C-33")
def resume(context, ada, bob):
    """after a resume each side sends again what the other lacks, under the same sequences, and nothing else"""
    ada.post("taken")
    ada.texts(1)
    ada.expect_ack(1, 2)
    ada.carrier.close()
    bob.texts(1)
    bob.post("while ada is away")
    ada = ada.again(early=lambda peer: peer.post("early", wait=False))
    context.equal(ada.texts(2), ["while ada is away", "early"])
    context.require(ada.sessions[1].acked >= 2, "position 2 of session 1", ada.sessions[1].acked, "C-29")
    ada.offset_of(2)


@CASES.case("link-epoch", "W-47 C-32")
def epoch(context, link):
    """each resume raises the epoch by 1"""
    for wanted in (2, 3):
        link = link.again()
        context.require(link.welcome.epoch == wanted, f"epoch {wanted}", link.welcome.epoch)


@CASES.case("link-token", "W-44")
def new_token(context):
    """each welcome has another token, and a resume keeps the link's ID"""
    first = context.link()
    second = first.again()
    context.require(second.token_of_link != first.token_of_link, "another token", "the same one")
    context.equal(second.link_id, first.link_id, "W-45")


@CASES.case("link-unacknowledged", "C-33 S-26")
def unacknowledged(context, ada, bob):
    """frames that were not acknowledged are sent again after a resume, under the same sequences"""
    ada.acknowledges = False
    bob.post("sent twice")
    context.equal(ada.texts(1), ["sent twice"])
    sequence = context.last.header.sequence
    stale = ada.sessions[1]
    stale.receiver.window.cumulative, stale.offset = sequence - 1, 0
    stale.receiver._next = sequence
    again = ada.again()
    context.equal(again.texts(1), ["sent twice"])
    context.equal(context.last.header.sequence, sequence)


def refused(context, change, early=lambda peer: None):
    """A resume with a change is refused, and changes nothing: the right token is good for it afterwards."""
    peer = context.member()
    other = peer.again(cut=False, early=early, answer=Reject, **change(peer))
    other.expect(Reject, code=E.RESUME_REJECTED, retry_after=None)
    other.hello(resume=None, device=peer.device + 1)
    other.welcomed()
    peer.again()


REFUSED = [
    ("token", "W-46 C-35", "a forged token", lambda peer: {"resume_token": bytes(32)}),
    ("link", "C-31 C-35", "an unknown link", lambda peer: {"link": peer.link_id ^ 1}),
    ("device", "C-31 W-46", "the link of another device", lambda peer: {"device": peer.device ^ 1}),
    ("position", "C-30 C-31", "a position that was never sent",
     lambda peer: {"session_position": (Position(0, 0), Position(1, 999))}),
    ("limits", "C-24 C-31", "a lower limit", lambda peer: {"limits": replace(LIMITS, max_message=17_000)}),
    ("zlib", "C-23 C-31", "no zlib, which was in effect", lambda peer: {"features": 0}),
]
for name, clauses, title, change in REFUSED:
    CASES.row(f"resume-{name}", clauses, f"a resume with {title} is refused, changes nothing, and leaves the "
              "connection to another hello", refused, change)
CASES.row("resume-discards", "C-34 W-35", "frames behind a refused resume are discarded", refused,
          lambda peer: {"resume_token": bytes(32)}, lambda peer: peer.raw(frame(T.PING, NONCE) + a_text(9), "frames"))


@CASES.case("resume-used", "W-44 W-46 C-37")
def used(context, link):
    """a token is valid for one resume"""
    old = link.token_of_link
    link = link.again()
    link.again(answer=Reject, resume_token=old).expect(Reject, code=E.RESUME_REJECTED)


@CASES.case("resume-account", "W-46 C-31")
def other_account(context):
    """another account does not resume a link"""
    ada, bob = context.link(), context.dial(1)
    bob.device, bob.link_id, bob.token_of_link, bob.sessions = ada.device, ada.link_id, ada.token_of_link, {}
    bob.again(answer=Reject).expect(Reject, code=E.RESUME_REJECTED)
    ada.again()


@CASES.case("resume-five", "C-34 W-38")
def five(context, link):
    """the fifth refused resume ends the connection"""
    other = link.again(answer=Reject, resume_token=bytes(32))
    for _ in range(4):
        other.expect(Reject, code=E.RESUME_REJECTED)
        other.send(other.asked)
    other.expect_end(E.RESUME_REJECTED, Reject)


@CASES.case("fence-resume", "C-38 W-47")
def fence(context):
    """a resume ends the older connection with staleEpoch"""
    old = context.link()
    new = old.again(cut=False)
    old.expect_end(E.STALE_EPOCH)
    new.ping()


@CASES.case("fence-device", "C-39 C-2")
def replaced(context):
    """a new link of a device ends the old one with replaced; the same ID of another account is another device"""
    old, new, other = context.link(), context.dial(), context.dial(1)
    new.hello(device=old.device)
    new.welcomed()
    old.expect_end(E.REPLACED)
    old.again(answer=Reject).expect(Reject, code=E.RESUME_REJECTED)
    other.hello(device=old.device)
    other.welcomed()
    new.ping()


@CASES.case("end-none", "C-42 C-7")
def end_none(context, link):
    """goaway none ends the link"""
    link.leave()
    link.again(answer=Reject).expect(Reject, code=E.RESUME_REJECTED)


@CASES.case("end-other", "C-42")
def end_other(context, link):
    """after goaway with any other code the link resumes"""
    link.send(GoAway(code=E.BAD_CHECKSUM))
    link.again()


# Sessions.

OPEN = Open(room="conformance", session_kind=0, cursor=0).encoded()
RESET_LESS = Reset(session=1, code=E.CANCELLED, credit_used=0).encoded()


def ack(*acks):
    return frame(T.ACK, Ack(link_credit=1 << 20, session_ack=acks).encoded())


HOSTILE = [
    ("parity", "W-54 S-3", "an open with an even ID", frame(T.OPEN, OPEN, 2, 1), E.PROTOCOL_VIOLATION),
    ("in-use", "S-3 W-54", "a second open on a session", frame(T.OPEN, OPEN, 1, 2), E.PROTOCOL_VIOLATION),
    ("open-sequence", "S-3 W-55", "an open with sequence 2", frame(T.OPEN, OPEN, 3, 2), E.PROTOCOL_VIOLATION),
    ("kind", "S-51", "an unknown kind of session", frame(T.OPEN, OPEN.replace(b"\0\x51\0\0\0\1\0",
                                                                           b"\0\x51\0\0\0\1\x63"), 3, 1),
     E.INVALID_VALUE),
    ("room-name", "W-31", "a room with a control character",
     frame(T.OPEN, Open(room="a\tb", session_kind=0, cursor=0).encoded(), 3, 1), E.INVALID_VALUE),
    ("opened", "S-5", "opened for a session that the client has opened",
     frame(T.OPENED, tlv(Tag.HEAD, bytes(8)) + tlv(Tag.FIRST, bytes(8)), 1, 2), E.PROTOCOL_VIOLATION),
    ("window", "W-14 S-17", "a sequence 8,192 beyond the expected one", a_text(2 + 8192), E.OUT_OF_WINDOW),
    ("below", "W-14 S-17", "a sequence below 1", a_text(2**32 - 5), E.OUT_OF_WINDOW),
    ("ack-unsent", "W-50 S-23", "an ack of a frame that was never sent", ack(SessionAck(1, 77, 1 << 20)),
     E.ACK_UNSENT),
    ("ack-range", "S-23 W-50", "an ack with a range that was never sent",
     ack(SessionAck(1, 1, 1 << 20, ((5, 6),))), E.ACK_UNSENT),
    ("ack-twice", "S-21", "an ack that names a session twice", ack(*2 * (SessionAck(1, 1, 1 << 20),)),
     E.PROTOCOL_VIOLATION),
    ("ack-adjoins", "S-21 W-48", "an ack with a range beside the cumulative sequence",
     ack(SessionAck(1, 0, 1 << 20, ((1, 1),))), E.INVALID_VALUE),
    ("behind-close", "S-7", "a message behind close", frame(T.CLOSE, b"", 1, 2) + a_text(3), E.PROTOCOL_VIOLATION),
    ("reset-less", "S-11", "a reset with less creditUsed than was received",
     a_text(2) + frame(T.RESET, RESET_LESS, 0, 1), E.PROTOCOL_VIOLATION),
    ("reset-more", "S-11", "a reset with more creditUsed than the link's credit",
     frame(T.RESET, Reset(session=1, code=E.CANCELLED, credit_used=1 << 40).encoded(), 0, 1), E.CREDIT_EXCEEDED),
    ("reset-0", "S-1", "a reset of session 0",
     frame(T.RESET, tlv(Tag.SESSION, bytes(2)) + tlv(Tag.CODE, bytes(2)), 0, 1), E.INVALID_VALUE),
    ("pings", "W-71", "300 pings at once", 300 * frame(T.PING, NONCE), E.CONTROL_FLOOD),
    ("acks", "S-59", "3,000 acks without progress", 3000 * ack(SessionAck(1, 1, 0)), E.CONTROL_FLOOD),
    ("duplicates", "S-59", "3,000 duplicates", 3000 * frame(T.OPEN, OPEN, 1, 1), E.CONTROL_FLOOD),
    ("suspends", "S-59", "3,000 suspend", b"".join(frame(T.SUSPEND, b"", 1, n + 2) for n in range(3000)),
     E.CONTROL_FLOOD),
    ("churn", "S-4 W-59", "frames of 400 sessions that do not exist",
     b"".join(frame(T.CLOSE, b"", 2 * n + 3, 2) for n in range(400)), E.CHURN_LIMIT),
    ("request-nameless", "S-58 W-72", "a request without a correlation",
     frame(T.REQUEST, tlv(Tag.METHOD, b"head") + tlv(Tag.DEADLINE, bytes(4)), 1, 2), E.MISSING_FIELD),
]
for name, clauses, title, data, code in HOSTILE:
    CASES.row(f"session-{name}", clauses, f"{title}: the connection ends with {code.wire_name}", hostile, data, code)


@CASES.case("session-credit", "W-52 S-36 W-51")
def credit(context):
    """a message beyond the session's credit ends the connection with creditExceeded"""
    peer = context.member(limits=SMALL)
    for n in range(2):  # Behind a gap, so that no credit returns.
        peer.put(T.DATA, message(n + 1, 10_000 * "x").encoded(), 1, sequence=4 + n)
    peer.expect_end(E.CREDIT_EXCEEDED)


@CASES.case("session-credit-returns", "R-23 S-38 S-39")
def credit_returns(context):
    """the credit of accepted messages is returned, so a publisher never stalls"""
    peer = context.link(limits=replace(SMALL, link_window=17_408))
    peer.open(no_local=1)
    used = 0
    for number in range(8):
        body = message(number + 1, 8_000 * "x")
        used += len(body.encoded())
        until = time.monotonic() + context.timeout
        while min(peer.credit, peer.sessions[1].credit) < used:
            if not peer.pump(until):
                raise Failed(f"credit of {used} bytes", f"{min(peer.credit, peer.sessions[1].credit)} bytes")
        peer.send(body, 1)
        peer.offset_of(number + 1)


@CASES.case("session-reader-credit", "W-52 R-31 S-35")
def reader_credit(context):
    """a relay stays within the credit of a reader that returns none, and continues when credit returns"""
    reader, writer = context.link(limits=SMALL), context.link(1)
    reader.grants = False
    reader.open()
    writer.open(no_local=1)
    for _ in range(8):
        writer.post(6_000 * "x")
    reader.ping()
    reader.expect_none(Pong)
    reader.grants = True
    reader.sessions[1].is_reported = False
    reader.acknowledge()
    context.equal(len(reader.texts(8)), 8)


@CASES.case("session-reader-stops", "R-31")
def reader_stops(context):
    """messages without returned credit reach at most three quarters of the session's window and one message"""
    reader, writer = context.link(limits=SMALL), context.link(1)
    reader.grants = False
    reader.open()
    writer.open(no_local=1)
    for _ in range(8):
        writer.post(3_000 * "x")
    reader.expect_none(Reset)
    held = reader.sessions[1].received
    context.require(held < 17_408 * 3 // 4 + 3_300, "less than 13,056 bytes and one message", held)


@CASES.case("session-unknown", "S-15 W-59")
def unknown(context, link):
    """the first reliable frame of an unknown session is answered by reset unknownSession, the next one by an ack"""
    link.flow(9)
    link.put(T.DATA, message(1, "x").encoded(), 9, sequence=2)
    link.expect_reset(E.UNKNOWN_SESSION, 9)
    link.put(T.DATA, message(2, "x").encoded(), 9, sequence=3)
    link.expect_none(Reset)


@CASES.case("session-duplicate", "W-14 S-18")
def duplicate(context, peer):
    """a frame that arrives again is acknowledged again, and its message is taken once"""
    sequence = peer.send(message(1, "once"), 1)
    peer.texts(1)
    peer.expect_ack(1, 2)
    before = peer.acks
    peer.put(T.DATA, message(1, "once").encoded(), 1, sequence=sequence)
    peer.expect_none(Data)
    context.require(peer.acks > before, "another ack", "none", "W-14")


@CASES.case("session-gap", "W-48 S-18 S-20")
def gap(context, peer):
    """frames behind a gap are acknowledged in ranges, and processed in order when the gap closes"""
    for sequence in (3, 4, 6):
        peer.put(T.DATA, message(sequence, str(sequence)).encoded(), 1, sequence=sequence)
    peer.expect_ack(1, 1, ((3, 4), (6, 6)), "W-48")
    peer.expect_none(Data)
    for sequence in (5, 2):
        peer.put(T.DATA, message(sequence, str(sequence)).encoded(), 1, sequence=sequence)
    found = peer.texts(5)
    context.require(found == list("23456"), "2 to 6 in order", found, "S-18")
    peer.expect_ack(1, 6)


@CASES.case("session-ack-exact", "W-48 S-20 W-49")
def exact(context, peer):
    """what arrives is acknowledged, nothing else, and within 25 ms as far as a network permits"""
    began = time.monotonic()
    peer.send(message(1, "x"), 1)
    peer.expect_ack(1, 2)
    took = time.monotonic() - began
    context.require(took < 0.025 + context.options.slack, "an ack within 25 ms", f"{took:.3f} s", "W-49")


@CASES.case("session-probe", "W-70 S-28")
def probe(context, peer):
    """a ping with ackNow is answered by an ack of every session, then the pong"""
    peer.open(3, context.room + " 2")
    peer.expect_none(Reset)
    before = peer.acks
    peer.ping(ack_now=True)
    context.require(peer.acks > before, "an ack before the pong", "the pong alone")


@CASES.case("session-pong", "W-70 W-53 S-24")
def pong(context, link):
    """a pong has the nonce of its ping and echoes its timestamp"""
    link.send(Ping(nonce=2**64 - 1), timestamp=12_345)
    found = link.expect(Pong, nonce=2**64 - 1)
    context.require(found.echo.timestamp == 12_345, "the timestamp 12345", found.echo.timestamp, "W-53")


@CASES.case("session-fragments", "W-21 W-22 S-42")
def fragments(context, peer):
    """fragments are joined; frames of other sessions and transient frames may stand between them"""
    peer.open(3, context.room + " 2")
    body = message(1, 40_000 * "y").encoded()
    peer.put(T.DATA, body[:16_384], 1, flags=MORE)
    peer.put(T.TRANSIENT, tlv(Tag.TYPING, b"\1"), 1)
    peer.send(message(2, "between"), 3)
    context.equal(peer.texts(1, 3), ["between"])
    peer.put(T.DATA, body[16_384:32_768], 1, flags=MORE)
    peer.put(T.DATA, body[32_768:], 1)
    context.equal(peer.texts(1), [40_000 * "y"])


@CASES.case("session-too-long", "W-22 S-44")
def too_long(context):
    """a message longer than maxMessage resets its session with messageTooLarge, and no other"""
    peer = context.member(limits=replace(LIMITS, max_message=16_384))
    peer.open(3, context.room + " 2")
    body = message(1, 20_000 * "y").encoded()
    peer.put(T.DATA, body[:10_000], 1, flags=MORE)
    peer.put(T.DATA, body[10_000:], 1)
    peer.expect_reset(E.MESSAGE_TOO_LARGE)
    peer.post("still here", 3)


@CASES.case("session-too-many", "S-4")
def too_many(context):
    """an open beyond maxSessions is answered by reset tooManySessions"""
    peer = context.member(limits=LEAST)
    peer.open(3, context.room + " 2", wait=False)
    peer.expect_reset(E.TOO_MANY_SESSIONS, 3)
    peer.post()


@CASES.case("session-close", "S-7 R-49 W-57")
def close(context, link):
    """a session that the client closes is closed by the relay too, behind the acceptance of its messages"""
    link.open(no_local=1)
    link.post("first", wait=False)
    link.send(Close(), 1)
    link.expect(Close, 1, clause="S-7")
    accepted = [event for event in link.inbox if event.header.type == T.ACCEPTED]
    context.require(accepted, "accepted before close", "close alone", "R-49")


@CASES.case("session-priority", "S-45 S-51")
def priority(context, link):
    """a relay writes the priority of each kind into its frames, and serves the kinds or refuses them"""
    for session, (kind, wanted) in enumerate(((0, 1), (1, 2), (2, 0), (3, 3))):
        number = 2 * session + 1
        link.open(number, f"{context.room} {kind}", kind, wait=False)
        event = link.wait(lambda e: e.header.session == number or getattr(e.value, "session", 0) == number, "opened")
        if isinstance(event.value, Reset):
            context.equal(event.value.code, E.UNSUPPORTED_KIND, "S-51")
        else:
            context.equal(event.header.flags >> 4 & 3, wanted)


@CASES.case("session-account", "R-120 S-63")
def account_session(context):
    """one session of the kind account is opened, under the account's name, and carries no messages"""
    more = int(FEATURES | Features.ACCOUNT_SESSION)
    peer = context.link(spoken_version=(Version(1, 1),), features=more)
    peer.needs(Features.ACCOUNT_SESSION)
    peer.open(1, "another account", 5, wait=False)
    peer.expect_reset(E.FORBIDDEN)
    peer.open(3, peer.account, 5)
    peer.open(5, peer.account, 5, wait=False)
    peer.expect_reset(E.ALREADY_OPEN, 5)
    peer.send(message(1, "x"), 3)
    peer.expect_end(E.PROTOCOL_VIOLATION, clause="S-63")


@CASES.case("session-account-feature", "R-120")
def no_account_session(context, link):
    """without the feature, a session of the kind account is refused with unsupportedKind"""
    link.open(1, link.account, 5, wait=False)
    link.expect_reset(E.UNSUPPORTED_KIND)


@CASES.case("session-late-open", "W-54 S-13")
def late_open(context, peer):
    """an open with the ID of a session that has ended opens nothing, and is acknowledged"""
    peer.send(Reset(session=1, code=E.CANCELLED, credit_used=0))
    peer.expect_ack(0, 1)
    peer.put(T.OPEN, Open(room=context.room, session_kind=0, cursor=0).encoded(), 1, sequence=1)
    peer.expect_none(Reset)
    context.require(not any(e.header.type == T.OPENED for e in peer.inbox), "no opened", "opened")


@CASES.case("session-reset", "S-10 W-57")
def reset(context, peer):
    """a reset ends its session and no other, and is not answered"""
    peer.open(3, context.room + " 2")
    peer.send(Reset(session=1, code=E.CANCELLED, credit_used=0))
    peer.post("other", 3)
    peer.expect_none(Reset, clause="S-12")
    head = context.link(1).open().member
    context.require(peer.account not in head, "no member but bob", head, "S-10")


@CASES.case("session-suspend", "S-9 R-29 W-58")
def suspend(context, ada, bob):
    """a suspended session receives acceptances and no messages; they follow when it resumes"""
    ada.send(Suspend(), 1)
    ada.post("mine")
    bob.post("one")
    ada.expect_none(Data, clause="R-29")
    ada.send(Resume(), 1)
    context.equal(ada.texts(2), ["mine", "one"])


@CASES.case("session-resume-cursor", "R-29 W-58")
def resume_cursor(context, ada, bob):
    """a cursor in the frame resume skips messages without a gap"""
    ada.send(Suspend(), 1)
    ada.expect_ack(1, 2)
    for value in ("one", "two", "three"):
        bob.post(value)
    ada.send(Resume(cursor=2), 1)
    context.equal(ada.expect(Data, 1).offset, 3)


def http(context, head, *fields):
    """The status, the fields and the content of the answer to a request of HTTP; None if the relay does not answer."""
    peer = context.dial()
    lines = [f"{head} HTTP/1.1", "Host: conformance", *fields, "", ""]
    peer.raw("\r\n".join(lines).encode(), f"a request of HTTP, {head}")
    answer = b""
    try:
        while data := peer.carrier.recv(65_536):
            answer += data
    except OSError as problem:
        if not answer.startswith(b"HTTP/"):
            return None
        raise Failed(f"the end of the connection after the response to {head}", problem, "C-131") from None
    top, _, content = answer.partition(b"\r\n\r\n")
    line, *lines = top.decode("latin-1").split("\r\n")
    context.note(f"{peer.label} receives", line, answer)
    if not line.startswith("HTTP/1.1 "):
        return None
    values = {name.lower(): value.strip() for name, _, value in (row.partition(":") for row in lines)}
    return int(line.split()[1]), values, content


@CASES.case("web-files", "C-131")
def web_files(context):
    """a relay with files answers GET and HEAD with them, has none of other folders, and refuses other methods"""
    if context.options.tls:
        raise Skipped("the connection has the application protocol martlet/1")
    answer = http(context, "HEAD /")
    if answer is None and not context.options.files:
        raise Skipped("the relay has no files for browsers")
    answers = [("HEAD /", answer), ("GET /", http(context, "GET /"))]
    answers += [(f"GET {path}", http(context, f"GET {path}")) for path in (*NO_FILES, "/no-such-file", "/%zz")]
    answers.append(("DELETE /", http(context, "DELETE /")))
    for head, found in answers:
        context.require(found is not None, f"a response to {head}", "none")
        if found[0] == 400:
            continue  # C-119 has no such fields.
        options, policy = found[1].get("x-content-type-options"), found[1].get("content-security-policy") or ""
        context.require(options == "nosniff", f"nosniff in the answer to {head}", options)
        rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";") if rule.strip()}
        scripts = rules.get("script-src", rules.get("default-src"))
        context.require(scripts == ["'self'"], f"scripts of 'self' only in the answer to {head}", policy)
    (status, fields, content), (other, others, _) = answers[0][1], answers[1][1]
    context.equal((content, status), (b"", other))
    context.equal(fields.get("content-length"), others.get("content-length"))
    for head, found in answers[2:-2]:
        context.require(found[0] in (400, 404), f"404 to {head}", found[0])
    context.equal(answers[-2][1][0], 400)
    context.equal((answers[-1][1][0], answers[-1][1][1].get("allow")), (405, "GET, HEAD"))
    if "etag" in others:
        again = http(context, "GET /", f"If-None-Match: {others['etag']}")
        context.require(again is not None and again[0] == 304, "304 to the entity tag", again and again[0])


REQUESTS = [
    ("unknown", "S-58 R-40", "an unknown method", {"method": "no such method"}, E.UNKNOWN_METHOD),
    ("control", "S-58", "an unknown method on session 0", {"method": "no such method", "on": 0}, E.UNKNOWN_METHOD),
    ("recipient", "R-40", "a recipient that is not in the room", {"recipient": "no such account"}, E.NO_RECIPIENT),
]


def request(context, on=1, status=None, **fields):
    peer = context.member()
    peer.send(Request(**{"correlation": 5, "method": "head", "deadline": 5_000, **fields}), on)
    peer.needs(2)
    peer.expect(Response, on, correlation=5, status=status)


for name, clauses, title, fields, status in REQUESTS:
    CASES.row(f"request-{name}", clauses, f"a request with {title} is answered with {status.wire_name}",
              request, status=status, **fields)


@CASES.case("request-field", "S-58 W-72")
def request_field(context, link):
    """a request without a method is answered with missingField, and the session continues"""
    link.needs(2)
    link.open()
    link.put(T.REQUEST, tlv(Tag.CORRELATION, bytes(7) + b"\7") + tlv(Tag.DEADLINE, bytes(4)), 1)
    link.expect(Response, 1, correlation=7, status=E.MISSING_FIELD)
    link.post()


@CASES.case("request-feature", "C-23")
def request_feature(context):
    """without the feature requests, a request is answered with unknownMethod"""
    peer = context.member(features=0)
    peer.send(Request(correlation=5, method="head", deadline=5_000), 1)
    peer.expect(Response, 1, correlation=5, status=E.UNKNOWN_METHOD)
