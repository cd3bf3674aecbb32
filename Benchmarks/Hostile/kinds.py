"""Every kind of frame at the maximum rate: in the plain form, in zlib bodies, in deflated packets."""

import time
import zlib

from attack import Attack
from martlet_bodies import Ack, Cancel, Close, Ping, Pong, Reset, Response, Resume, Suspend
from martlet_frames import Receipt, Request, Transient
from martlet_link import CREDITED
from martlet_registry import Flags, FrameType
from martlet_tlv import Echo, SessionAck
from peer import MORE, PADDING, Deflated, Gone, compact, frame_bytes, plain_packet, text_of

BATCH = 64
ROOM_BOUND = 200_000  # Bytes that a flood keeps of its credit.
MANY_SESSIONS = tuple(SessionAck(session, 0, 1 << 40) for session in range(1001, 1512, 2))

# By name: consecutive frames, as (type, body), on session 0 if the type belongs there.
KINDS = {
    "acks": [(FrameType.ACK, Ack(link_credit=1).encoded())],
    "acks-of-unknown-sessions": [(FrameType.ACK, Ack(link_credit=1, session_ack=MANY_SESSIONS).encoded())],
    "pings": [(FrameType.PING, Ping(nonce=1).encoded())],
    "pongs": [(FrameType.PONG, Pong(nonce=1, echo=Echo(1, 1)).encoded())],
    "receipts": [(FrameType.RECEIPT, Receipt(receipt_kind=1, up_to=1).encoded())],
    "suspend-resume": [(FrameType.SUSPEND, Suspend().encoded()), (FrameType.RESUME, Resume().encoded())],
    "cancels": [(FrameType.CANCEL, Cancel(correlation=1).encoded())],
    "transients": [(FrameType.TRANSIENT, Transient(typing=1).encoded())],
    "messages-sent-before": [(FrameType.DATA, text_of(1))],
    "requests": [(FrameType.REQUEST, Request(correlation=1, method="members", deadline=5000).encoded())],
    "responses": [(FrameType.RESPONSE, Response(correlation=1, status=0).encoded())],
    "resets": [(FrameType.RESET, Reset(session=999, code=0x0407).encoded())],
    "unknown-types": [(0x7001, b"")],
}
ON_LINK = (FrameType.ACK, FrameType.PING, FrameType.PONG, FrameType.RESET)


def session_of(kind):
    return 0 if kind in ON_LINK else 1


def entered(link, name):
    link.open(1, f"room-of-{name}")
    if link.is_packed:
        # The context then contains the next sequence of session 0.
        link.send(link.writer.pack([link.frame(FrameType.RESET, KINDS["resets"][0][1])]))


def with_credit(link, count):
    """Waits until a number of bytes may be sent on session 1."""
    while link.room_for(1) < count and link.is_on():
        link.turn(0.05)


def plain(name):
    def say(link):
        entered(link, name)
        while True:
            frames = [
                link.frame(kind, body, session_of(kind)) for _ in range(BATCH) for kind, body in KINDS[name]]
            if KINDS[name][0][0] in CREDITED:
                with_credit(link, ROOM_BOUND // 4)
            yield b"".join(frames)

    return lambda attacker: attacker.flood(say)


def in_zlib(name):
    """Bodies of 50 KB that are compressed to 120 bytes: the fields of the type, and an unknown one."""
    padded = [(kind, body + PADDING) for kind, body in KINDS[name]]
    short = [(kind, body, zlib.compress(body, 9)) for kind, body in padded]

    def say(link):
        entered(link, name)
        while True:
            for kind, body, compressed in short:
                if kind in CREDITED:
                    with_credit(link, len(body))
                batch = 1 if kind in CREDITED or len(short) > 1 else BATCH
                yield b"".join(
                    link.frame(kind, body, session_of(kind), compressed=compressed) for _ in range(batch))

    return lambda attacker: attacker.flood(say)


def small_compact(name):
    if name == "acks":
        return b"\x27\x02\x00"  # Form 0x27 on the context's session: cumulative + 0.
    return b"".join(compact(kind, body) for kind, body in KINDS[name])


def deflated(name):
    packets = Deflated(small_compact(name))
    cost = packets.count * sum(len(body) for kind, body in KINDS[name] if kind in CREDITED)

    def say(link):
        entered(link, name)
        if cost:
            # The window does not contain the beginning of the stream, but each packet can follow the previous one.
            data = packets.begin
            link.used += 20 * cost
            link.session_used[1] += 20 * cost
            yield data
            while True:
                with_credit(link, cost)
                link.used += cost
                link.session_used[1] += cost
                yield packets.again
        yield packets.begin
        while True:
            yield packets.again * BATCH

    return lambda attacker: attacker.flood(say, is_packed=True)


def in_packets(name):
    packet = plain_packet(small_compact(name))

    def say(link):
        entered(link, name)
        while True:
            yield packet * 16

    return lambda attacker: attacker.flood(say, is_packed=True)


def same_frame_again(attacker):
    """A reliable frame that was sent before, repeated."""
    def say(link):
        entered(link, "duplicates")
        again = frame_bytes(FrameType.SUSPEND, b"", 1, 2, int(Flags.RELIABLE))
        while True:
            yield again * 1024

    attacker.flood(say)


def empty_fragments(attacker):
    def say(link):
        entered(link, "fragments")
        while True:
            yield b"".join(link.frame(FrameType.DATA, b"", 1, flags=MORE) for _ in range(BATCH))

    attacker.flood(say)


def unknown_reliable(attacker):
    def say(link):
        entered(link, "unknown")
        while True:
            yield b"".join(link.frame(0x7001, b"", 1) for _ in range(BATCH))

    attacker.flood(say)


def only_a_server_says(attacker):
    """Types that a client must not send. Each ends its connection."""
    kinds = (FrameType.ACCEPTED, FrameType.GAP, FrameType.OPENED, FrameType.WELCOME, FrameType.REJECT, FrameType.HELLO)
    begun = iter(range(1 << 30))

    def say(link):
        entered(link, "server")
        kind = kinds[next(begun) % len(kinds)]
        while True:
            yield link.frame(kind, b"", 1 if kind in (FrameType.ACCEPTED, FrameType.GAP, FrameType.OPENED) else 0)
            link.turn(0.05)

    attacker.flood(say)


def fresh_messages(is_zlib=False):
    """Messages at the rate of the credit, to a room of the attacker."""
    def say(link):
        entered(link, f"posts-{link.account}")
        while True:
            with_credit(link, ROOM_BOUND // 4)
            if is_zlib:
                link.counter += 1
                body = text_of(link.counter, 40_000)
                yield link.frame(FrameType.DATA, body, 1, compressed=zlib.compress(body, 9))
            else:
                yield b"".join(link.text(1) for _ in range(BATCH))

    return lambda attacker: attacker.flood(say)


def open_and_close(attacker):
    """Sessions that are opened and closed on one link, each on the same room."""
    def say(link):
        session = 1
        while session < 65_000:
            frames = []
            for _ in range(BATCH):
                frames += [link.open_frame(session, "door"), link.frame(FrameType.CLOSE, Close().encoded(), session)]
                session += 2
            yield b"".join(frames)
            link.turn()

    attacker.flood(say)


def requests_to_a_member(attacker):
    """Requests to another member that never responds, and their cancels."""
    def say(link):
        link.open(1, "asked")
        correlation = 0
        while True:
            frames = []
            for _ in range(BATCH):
                correlation += 1
                body = Request(correlation=correlation, method="never", deadline=60_000, recipient="asked").encoded()
                frames += [link.frame(FrameType.REQUEST, body, 1),
                           link.frame(FrameType.CANCEL, Cancel(correlation=correlation).encoded(), 1)]
            with_credit(link, ROOM_BOUND // 4)
            yield b"".join(frames)

    attacker.flood(say)


def asked(attacker):
    """The recipient of the requests, which reads and sends no responses."""
    link = attacker.link(account="asked")
    link.open(1, "asked")
    attacker.begin()
    while attacker.is_on():
        link.turn(0.1)


def asked_late(attacker):
    """The recipient of the requests, which reads at once, acknowledges after 50 ms, and counts its resets."""
    link = attacker.link(account="asked")
    link.open(1, "asked")
    attacker.begin()
    try:
        while attacker.is_on():
            link.acknowledges, late = False, time.monotonic() + 0.05
            while time.monotonic() < late:
                link.turn(0.01)
            link.acknowledges = True
            link.turn()
    except Gone:
        attacker.tally["members reset"] += 1
    attacker.tally["members reset"] += len(link.resets)


def author_that_pauses(attacker):
    """Sends 1,000 messages at once, does not read for half a second thereafter, and counts its resets."""
    link = attacker.link(account="author")
    link.open(1, "marked")
    attacker.begin()
    try:
        while attacker.is_on():
            with_credit(link, ROOM_BOUND // 2)
            link.send(b"".join(link.text(1) for _ in range(1000)))
            time.sleep(0.5)
            caught_up = time.monotonic() + 0.5
            while time.monotonic() < caught_up:
                link.turn(0.01)
    except Gone:
        attacker.tally["members reset"] += 1
    attacker.tally["members reset"] += len(link.resets)


def marks_one_by_one(attacker):
    """Raises both receipts by one message at a time, over all received messages."""
    def say(link):
        link.open(1, "marked")
        marked = 0
        while True:
            link.turn(0.01)
            offsets = range(marked + 1, link.seen[FrameType.DATA] + 1)
            marked = max(marked, link.seen[FrameType.DATA])
            yield b"".join(
                link.frame(FrameType.RECEIPT, Receipt(receipt_kind=kind, up_to=offset).encoded(), 1)
                for offset in offsets for kind in (1, 2))

    attacker.flood(say)


def family(name, text, count=4):
    return [
        Attack(name, text, ((plain(name), count),)),
        Attack(f"{name}-zlib", f"{text}, in bodies of 120 bytes that inflate to 50 KB", ((in_zlib(name), count),)),
        Attack(f"{name}-deflated", f"{text}, in deflated packets", ((deflated(name), count),)),
    ]


ATTACKS = [
    *family("acks", "acknowledgements without news", 12),
    Attack("acks-packets", "acknowledgements without news, in plain packets", ((in_packets("acks"), 12),)),
    *family("acks-of-unknown-sessions", "256 unknown sessions in each acknowledgement"),
    *family("pings", "pings"),
    *family("pongs", "pongs that nobody asked for"),
    *family("receipts", "receipts that raise no mark"),
    *family("suspend-resume", "suspend and resume by turns"),
    *family("cancels", "cancels of no request"),
    *family("transients", "typing"),
    *family("messages-sent-before", "one message again and again"),
    *family("requests", "requests to the relay"),
    *family("responses", "responses to no request"),
    *family("resets", "resets of no session"),
    Attack("unknown-types", "frames of an unknown type", ((plain("unknown-types"), 4),)),
    Attack("unknown-types-zlib", "the same, in zlib bodies", ((in_zlib("unknown-types"), 4),)),
    Attack("unknown-types-reliable", "the same, reliable", ((unknown_reliable, 4),)),
    Attack("duplicates", "a reliable frame that has come before", ((same_frame_again, 4),)),
    Attack("empty-fragments", "fragments without a byte", ((empty_fragments, 4),)),
    Attack("server-types", "types that only a server sends", ((only_a_server_says, 4),)),
    Attack("messages", "short messages as fast as credit allows", ((fresh_messages(), 4),)),
    Attack("messages-zlib", "messages of 40 KB in 100 bytes", ((fresh_messages(True), 4),)),
    Attack("open-close", "sessions opened and closed at once", ((open_and_close, 4),)),
    Attack("requests-to-a-member", "requests that are cancelled at once", ((asked, 1), (requests_to_a_member, 4))),
    Attack("requests-to-a-late-member", "the same, to one that acknowledges 50 ms late",
           ((asked_late, 1), (requests_to_a_member, 4))),
    Attack("marks-one-by-one", "receipts for each of 1,000 messages, to an author that does not read for 0.5 s",
           ((author_that_pauses, 1), (marks_one_by_one, 3))),
]
