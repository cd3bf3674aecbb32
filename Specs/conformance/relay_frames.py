"""Cases about a relay: bytes, frames and bodies, and the handshake."""

import zlib

from kit import FEATURES, LEAST, LIMITS, SHOULD, Table, frame, message
from martlet_bodies import GoAway, Hello, Ping, Pong, Reject
from martlet_header import Header
from martlet_packets import DEFLATED, PacketWriter, sealed
from martlet_registry import ErrorCode as E
from martlet_registry import Features, Flags
from martlet_registry import FrameType as T
from martlet_registry import Tag
from martlet_tlv import Version, tlv

CASES = Table()
NONCE = tlv(Tag.NONCE, bytes(8))
PING = frame(T.PING, NONCE)
CHECKED, RELIABLE = Flags.CHECKSUMMED, Flags.CHECKSUMMED | Flags.RELIABLE
MORE, BARE = RELIABLE | Flags.MORE_FRAGMENTS, CHECKED | Flags.MORE_FRAGMENTS


def nested(depth):
    body = b""
    for _ in range(depth):
        body = tlv(0x01F0, body)
    return NONCE + body


def patched(data, at, *values):
    return data[:at] + bytes(values) + data[at + len(values):]


def head(length, **more):
    """A header that announces a body of this length."""
    return patched(Header(T.PING, **more).encoded(b""), 20, *length.to_bytes(4, "big"))


def a_text(sequence=2, body=None, **more):
    return frame(T.DATA, body if body is not None else message(1, "a text").encoded(), 1, sequence, **more)


def squeezed(data):
    return a_text(body=data, compression=1)


# Frames on an established link with an open session 1, each of which ends the connection with the code.
HOSTILE = [
    ("magic", "W-5 W-8", "a wrong last byte of the magic", patched(PING, 3, 0x55), E.BAD_MAGIC),
    ("magic-first", "W-5", "one byte that begins no frame", b"G", E.BAD_MAGIC),
    ("magic-search", "W-5", "a byte before a frame", b"\0" + PING, E.BAD_MAGIC),
    ("major", "W-39 W-6", "another major version", frame(T.PING, NONCE, major=2), E.UNSUPPORTED_VERSION),
    ("reserved-40", "W-16", "the reserved flag 0x40", frame(T.PING, NONCE, flags=CHECKED | 0x40), E.RESERVED_BITS),
    ("reserved-80", "W-16", "the reserved flag 0x80", frame(T.PING, NONCE, flags=CHECKED | 0x80), E.RESERVED_BITS),
    ("length", "W-7", "a header with a body longer than maxBody", head(65_537), E.FRAME_TOO_LARGE),
    ("length-wraps", "W-7", "the length 2^32 - 1", head(2**32 - 1), E.FRAME_TOO_LARGE),
    ("compression-2", "W-6", "the reserved compression 2", frame(T.PING, NONCE, compression=2),
     E.COMPRESSION_NOT_ALLOWED),
    ("compression-9", "W-6", "an unknown compression", frame(T.PING, NONCE, compression=9),
     E.COMPRESSION_NOT_ALLOWED),
    ("order-version", "W-6", "a wrong version, flag and length: the version is reported",
     head(2**31, major=3, flags=0xC8), E.UNSUPPORTED_VERSION),
    ("order-bits", "W-6", "a wrong flag and length: the flag is reported", head(2**31, flags=0xC8), E.RESERVED_BITS),
    ("order-length", "W-6", "a wrong length and compression: the length is reported",
     head(2**31, compression=7), E.FRAME_TOO_LARGE),
    ("checksum", "W-10 W-9", "a flipped bit of the body", patched(PING, 35, 1), E.BAD_CHECKSUM),
    ("checksum-header", "W-9", "a flipped bit of the timestamp", patched(PING, 15, 1), E.BAD_CHECKSUM),
    ("checksum-flag", "W-10", "a frame without the flag checksummed", frame(T.PING, NONCE, flags=0), E.BAD_CHECKSUM),
    ("order-checksum", "W-8", "an unknown critical type with a wrong checksum: the checksum is reported",
     patched(frame(0x8FFF), 27, 0), E.BAD_CHECKSUM),
    ("order-type", "W-8", "a server's type with a malformed body: the type is reported",
     frame(T.ACCEPTED, b"\1", 1, 2), E.PROTOCOL_VIOLATION),
    ("critical-type", "W-73 W-8", "an unknown critical type", frame(0x8ABC), E.UNKNOWN_CRITICAL),
    ("unknown-flood", "W-73", "40 unknown frames at once", 40 * frame(0x7ABC), E.UNKNOWN_FLOOD),
    ("reliable-ping", "W-74", "a reliable ping", frame(T.PING, NONCE, sequence=1, flags=RELIABLE),
     E.PROTOCOL_VIOLATION),
    ("unreliable-data", "W-74", "a message that is not reliable", a_text(0, flags=CHECKED), E.PROTOCOL_VIOLATION),
    ("ping-on-session", "W-74", "a ping on session 1", frame(T.PING, NONCE, 1), E.PROTOCOL_VIOLATION),
    ("data-on-0", "W-74", "a message on session 0", frame(T.DATA, b"", 0, 1), E.PROTOCOL_VIOLATION),
    ("client-accepted", "W-74", "accepted from a client", frame(T.ACCEPTED, b"", 1, 2), E.PROTOCOL_VIOLATION),
    ("client-welcome", "W-74", "welcome from a client", frame(T.WELCOME), E.PROTOCOL_VIOLATION),
    ("client-reject", "W-74", "reject from a client", frame(T.REJECT), E.PROTOCOL_VIOLATION),
    ("ping-sequence", "W-13", "a ping with a sequence", frame(T.PING, NONCE, sequence=1), E.PROTOCOL_VIOLATION),
    ("ping-more", "W-21 S-42", "a ping with moreFragments", frame(T.PING, NONCE, flags=BARE), E.PROTOCOL_VIOLATION),
    ("receipt-more", "S-42 W-21", "a receipt with moreFragments", frame(T.RECEIPT, b"", 1, 2, flags=MORE),
     E.PROTOCOL_VIOLATION),
    ("empty-fragment", "S-42 W-21", "an empty fragment", a_text(body=b"", flags=MORE), E.PROTOCOL_VIOLATION),
    ("between-fragments", "W-21", "close between fragments", a_text(flags=MORE) + frame(T.CLOSE, b"", 1, 3),
     E.PROTOCOL_VIOLATION),
    ("unknown-between", "W-21 W-8", "a reliable frame of an unknown type between fragments",
     a_text(flags=MORE) + frame(0x7ABC, b"", 1, 3, flags=RELIABLE), E.PROTOCOL_VIOLATION),
    ("hello-again", "W-32", "hello after welcome", frame(T.HELLO), E.PROTOCOL_VIOLATION),
    ("auth", "W-97", "auth without a credentialLifetime", frame(T.AUTH), E.PROTOCOL_VIOLATION),
    ("tlv-length", "W-24", "a TLV that extends beyond the body", frame(T.PING, NONCE[:-1]), E.MALFORMED_TLV),
    ("tlv-head", "W-23 W-24", "bytes behind the last TLV", frame(T.PING, NONCE + b"\0"), E.MALFORMED_TLV),
    ("tlv-inner", "W-24 W-26", "a TLV that extends beyond an unknown container",
     frame(T.PING, NONCE + tlv(0x01F0, NONCE[:-1])), E.MALFORMED_TLV),
    ("tlv-deep", "W-27", "containers nested 9 deep", frame(T.PING, nested(9)), E.TLV_TOO_DEEP),
    ("tlv-many", "W-27", "1,025 TLVs", frame(T.PING, NONCE + 1024 * tlv(0x4000, b"")), E.TOO_MANY_TLVS),
    ("tlv-order", "W-8", "an unknown critical tag and a byte behind the last TLV: the structure is reported",
     frame(T.PING, NONCE + tlv(0xC000, b"") + b"\0"), E.MALFORMED_TLV),
    ("critical-tag", "W-28", "an unknown critical tag", frame(T.PING, NONCE + tlv(0xC123, b"")), E.UNKNOWN_CRITICAL),
    ("field-missing", "W-72", "a ping without a nonce", frame(T.PING), E.MISSING_FIELD),
    ("field-twice", "W-25", "a ping with two nonces", frame(T.PING, NONCE + NONCE), E.DUPLICATE_FIELD),
    ("field-size", "W-30", "a nonce of four bytes", frame(T.PING, tlv(Tag.NONCE, bytes(4))), E.INVALID_VALUE),
    ("inflate-damaged", "W-19", "a damaged compressed body", squeezed(zlib.compress(bytes(99))[:-6] + bytes(6)),
     E.INFLATE_FAILED),
    ("inflate-short", "W-19", "a truncated compressed body", squeezed(zlib.compress(bytes(99))[:-5]),
     E.INFLATE_FAILED),
    ("inflate-more", "W-19", "bytes behind a compressed body", squeezed(zlib.compress(bytes(99)) + b"\0"),
     E.INFLATE_FAILED),
    ("inflate-sum", "W-19", "a compressed body with a wrong Adler-32",
     squeezed(zlib.compress(bytes(99))[:-1] + b"\x77"), E.INFLATE_FAILED),
    ("inflate-limit", "W-19", "a body that inflates beyond maxBody", squeezed(zlib.compress(bytes(70_000))),
     E.INFLATE_LIMIT),
    ("packet", "W-76", "a packet without the feature compact", b"\x01\x07" + bytes(4), E.BAD_MAGIC),
]


def hostile(context, data, code, **hello):
    peer = context.member(**hello)
    peer.raw(data, "hostile bytes")
    peer.expect_end(code)


for name, clauses, title, data, code in HOSTILE:
    CASES.row(f"frame-{name}", clauses, title + f" ends the connection with {code.wire_name}", hostile, data, code)
CASES.row("frame-no-zlib", "W-18", "a compressed body without the feature zlib ends the connection with "
          "compressionNotAllowed", hostile, squeezed(zlib.compress(b"")), E.COMPRESSION_NOT_ALLOWED, features=0)

# Frames that are accepted: the pong of a ping behind them arrives.
HARMLESS = [
    ("minor", "W-39", "another minor version", frame(T.PING, NONCE, minor=9)),
    ("priority", "W-17 S-45", "every priority",
     b"".join(frame(T.PING, NONCE, flags=CHECKED | n << 4) for n in (1, 2, 3))),
    ("timestamp", "W-15", "every timestamp", b"".join(frame(T.PING, NONCE, timestamp=n) for n in (0, 2**32 - 1, 5))),
    ("unknown-type", "W-73 W-13", "an unknown type with moreFragments and a sequence",
     frame(0x7ABC, b"\xff", 7, 99, flags=BARE)),
    ("unknown-tag", "W-28", "an unknown tag", frame(T.PING, NONCE + tlv(0x4ABC, b"?"))),
    ("unlisted-tag", "W-28", "a known tag that the type does not list, twice and of a wrong size",
     frame(T.PING, NONCE + 2 * tlv(Tag.EPOCH, b"?"))),
    ("critical-in-ignored", "W-28", "a critical tag inside an ignored container",
     frame(T.PING, NONCE + tlv(0x01F0, tlv(0xC123, b"")))),
    ("deep", "W-27", "containers nested 8 deep", frame(T.PING, nested(8))),
    ("many", "W-27", "1,024 TLVs", frame(T.PING, NONCE + 1023 * tlv(0x4000, b""))),
    ("pong", "S-59 W-70", "a pong that no ping has caused", frame(T.PONG, NONCE + tlv(Tag.ECHO, bytes(8)))),
    ("transient", "S-15 W-59", "a transient frame of a session that does not exist",
     frame(T.TRANSIENT, tlv(Tag.TYPING, b"\1"), 9)),
]


def harmless(context, data):
    peer = context.link()
    peer.raw(data, "harmless bytes")
    peer.ping()
    peer.expect_none(GoAway)


for name, clauses, title, data in HARMLESS:
    CASES.row(f"frame-accepts-{name}", clauses, f"{title}: accepted", harmless, data)


@CASES.case("frame-versions", "W-39 C-22")
def versions(context, link):
    """goaway unsupportedVersion names every version that the receiver speaks, the lowest first"""
    link.raw(frame(T.PING, NONCE, major=7))
    spoken = link.expect_end(E.UNSUPPORTED_VERSION).spoken_version
    context.require(Version(1, 0) in spoken and list(spoken) == sorted(spoken), "1.0 and others, ascending", spoken)


@CASES.case("frame-split", "W-2")
def split(context, link):
    """frames arrive byte by byte, and many in one write"""
    for at in range(len(PING)):
        link.raw(PING[at : at + 1], "one byte")
    link.expect(Pong, nonce=0)
    link.raw(4 * PING, "4 frames")  # A receiver queues at most 4 pongs (W-71).
    for _ in range(4):
        link.expect(Pong, nonce=0)


@CASES.case("frame-cut", "W-2")
def cut(context, peer):
    """a frame that the end of the stream truncates is not delivered, and the link resumes"""
    peer.raw(a_text(2)[:-3], "a part of a message")
    peer = peer.again()
    context.require(peer.sessions[1].acked == 1, "position 1 of session 1", peer.sessions[1].acked)
    peer.counter = 1
    context.equal(peer.post(), 1, "R-1")


@CASES.case("frame-unknown-reliable", "W-73 S-19")
def unknown_reliable(context, peer):
    """a reliable frame of an unknown type takes its place in the order and is acknowledged"""
    peer.put(0x7ABC, b"\xff", 1, flags=RELIABLE)
    peer.post()
    peer.expect_ack(1, 3)


@CASES.case("frame-zlib", "W-18 W-22")
def deflated(context, link):
    """a compressed message is read, and so are fragments that are compressed each by itself"""
    link.needs(Features.ZLIB)
    link.open()
    link.send(message(1, "squeezed"), 1, compress=zlib.compress)
    body = message(2, "in parts").encoded()
    link.put(T.DATA, zlib.compress(body[:9]), 1, flags=MORE, compression=1)
    link.put(T.DATA, zlib.compress(body[9:]), 1, compression=1)
    found = link.texts(2)
    context.require(found == ["squeezed", "in parts"], "both texts", found)


def compact(context, more=Features(0)):
    peer = context.link(spoken_version=(Version(1, 1),), features=int(FEATURES | Features.COMPACT | more))
    for feature in Features.COMPACT | more:
        peer.needs(feature)
    return peer


@CASES.case("packet-accepted", "W-76 W-81")
def packets(context):
    """a packet of two pings, between frames, is read with the feature compact"""
    peer = compact(context)
    peer.raw(PacketWriter().pack([PING, PING]) + PING, "a packet of two pings, and a ping")
    for _ in range(3):
        peer.expect(Pong, nonce=0)


def conversation(context, more=Features(0)):
    """Packets in both directions: everything that the relay sends is read by a context of its own."""
    ada, bob = compact(context, more), context.link(1)
    ada.packer = PacketWriter(deflates=bool(more))
    ada.open()
    bob.open()
    lines = ["one", "naïve 漢字漢字", "one more", 6_000 * "long ", "the last"]
    for line in lines:
        ada.post(line)
    context.equal(bob.texts(5), lines)
    for line in lines:
        bob.post(line)
    context.equal(ada.texts(10), 2 * lines)
    ada.ping(ack_now=True)
    ada.expect_ack(1, ada.sessions[1].sent)


CASES.row("packet-conversation", "W-76 W-79 W-81 W-83 W-84 W-86 W-87 W-88 W-89 W-90", "a conversation in compact "
          "frames: both sides read what the other writes", conversation)
CASES.row("packet-deflated", "W-92 W-93 W-76", "a conversation in deflated packets", conversation,
          Features.SHARED_DEFLATE)


def deflated_packet(context, payload, code):
    peer = compact(context, Features.SHARED_DEFLATE)
    peer.raw(sealed((DEFLATED | len(payload)).to_bytes(2, "big") + payload), "a hostile deflated packet")
    peer.expect_end(code)


def raw_deflate(data, end=zlib.Z_SYNC_FLUSH):
    deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
    return deflater.compress(data) + deflater.flush(end)


for name, clauses, title, payload, code in [
    ("final", "W-92", "a final block", raw_deflate(PING, zlib.Z_FINISH), E.INFLATE_FAILED),
    ("damaged", "W-95", "data that is not deflate", b"\xff\xff\xff", E.INFLATE_FAILED),
    ("limit", "W-95", "a payload that inflates beyond 4,096 bytes", raw_deflate(bytes(5_000))[:-4], E.INFLATE_LIMIT),
]:
    CASES.row(f"packet-deflated-{name}", clauses, f"a deflated packet with {title} ends the connection with "
              f"{code.wire_name}", deflated_packet, payload, code)


PACKETS = [
    ("no-deflate", "W-77", "a deflated payload without the feature", b"\xa0\x01", E.BAD_MAGIC),
    ("checksum", "W-78", "a wrong checksum", b"\x01\x07" + bytes(4), E.BAD_CHECKSUM),
    ("empty", "W-78", "an empty payload", b"\xc0\x00", E.PROTOCOL_VIOLATION),
    ("long", "W-78", "a payload of 4,097 bytes", b"\xd0\x01", E.FRAME_TOO_LARGE),
    ("first-byte", "W-77", "a byte that begins no unit", b"\x80", E.BAD_MAGIC),
    ("zero", "W-77", "a byte 0", b"\x00", E.BAD_MAGIC),
    ("hello", "W-82", "a compact hello", b"\x01\x09", E.PROTOCOL_VIOLATION),
    ("fields", "W-81", "a reserved bit of the fields", b"\x02\x47\x80", E.PROTOCOL_VIOLATION),
    ("varint", "W-80", "a varint of more than 64 bits", b"\x0d\x47\x01" + 11 * b"\xff", E.PROTOCOL_VIOLATION),
    ("session", "W-85", "an ack of form 0x26 before a session is known", b"\x01\x26", E.PROTOCOL_VIOLATION),
]


def bad_packet(context, data, code):
    peer = compact(context)
    right = code not in (E.BAD_CHECKSUM, E.BAD_MAGIC, E.FRAME_TOO_LARGE) and len(data) == 1 + data[0]
    peer.raw(data + (zlib.crc32(data).to_bytes(4, "big") if right else b""), "a hostile packet")
    peer.expect_end(code)


for name, clauses, title, data, code in PACKETS:
    CASES.row(f"packet-{name}", clauses, f"a packet with {title} ends the connection with {code.wire_name}",
              bad_packet, data, code)


# The handshake: what a server answers to a first frame or a hello.

def greeting(change=lambda body: body, **values):
    def play_hello(peer):
        sent = dict(spoken_version=(Version(1, 0),), features=int(FEATURES), limits=LIMITS, device=peer.device,
                    account=peer.account, credential=peer.token.encode())
        sent.update(values)
        peer.put(T.HELLO, change(Hello(**sent).encoded()))
    return play_hello


def limits(**less):
    def smaller(body):
        at = body.index(tlv(Tag.MAX_BODY, LIMITS.max_body.to_bytes(4, "big"))) + 6
        return patched(body, at, *(17_407).to_bytes(4, "big"))
    return smaller


def raw(data):
    return lambda peer: peer.raw(data, "the first bytes")


FIRST = [
    ("other-frame", "W-32 C-13", "a ping", raw(PING), GoAway, E.EXPECTED_HELLO),
    ("other-head", "W-32 W-8", "the header of a message with a body and a wrong checksum, without the body",
     raw(patched(frame(T.DATA, bytes(200), 1, 1)[:28], 27, 0)), GoAway, E.EXPECTED_HELLO),
    ("long", "W-7 C-8", "a body of more than 12 KiB", raw(patched(frame(T.HELLO), 20, 0, 0, 48, 1)), GoAway,
     E.FRAME_TOO_LARGE),
    ("compressed", "W-20 W-18", "a compressed hello", lambda p: p.put(T.HELLO, zlib.compress(bytes(9)), compression=1),
     GoAway, E.COMPRESSION_NOT_ALLOWED),
    ("checksum", "W-10 W-32", "a hello with a wrong checksum", raw(patched(frame(T.HELLO, NONCE), 29, 9)), GoAway,
     E.BAD_CHECKSUM),
    ("malformed", "C-13 W-24", "a hello with a malformed TLV", greeting(lambda body: body + b"\0"), GoAway,
     E.MALFORMED_TLV),
    ("critical", "W-28 C-13", "a hello with an unknown critical tag", greeting(lambda body: body + tlv(0xC001, b"")),
     GoAway, E.UNKNOWN_CRITICAL),
    ("17-versions", "W-25 C-13", "a hello with 17 versions", greeting(spoken_version=17 * (Version(1, 0),)), GoAway,
     E.TOO_MANY_TLVS),
    ("no-version", "C-22 W-40", "a hello without a version in common", greeting(spoken_version=(Version(9, 0),)),
     GoAway, E.UNSUPPORTED_VERSION),
    ("two-devices", "W-25 C-13", "a hello with two devices", greeting(lambda b: b + tlv(Tag.DEVICE, bytes(8))),
     Reject, E.INVALID_HELLO),
    ("no-device", "C-13 W-32", "a hello without a device", greeting(lambda b: b.replace(b"\0\x11\0\0\0\x08",
                                                                                     b"\x40\x11\0\0\0\x08")),
     Reject, E.INVALID_HELLO),
    ("small-limit", "W-42 C-13", "a hello with a maxBody below the minimum", greeting(limits()), Reject,
     E.INVALID_HELLO),
    ("bidi-name", "W-31 C-13", "a hello with an invisible character in the account", greeting(account="a\u202eda"),
     Reject, E.INVALID_HELLO),
    ("blank-name", "W-31 C-13", "a hello with a blank before the account", greeting(account=" ada"), Reject,
     E.INVALID_HELLO),
    ("wrong-token", "C-27", "a hello with a wrong credential",
     greeting(account="nobody-1", credential=b"a guess"), Reject, E.UNAUTHENTICATED),
    ("no-token", "C-27 C-12", "a hello without a credential", greeting(account="nobody-2", credential=None), Reject,
     E.UNAUTHENTICATED),
    ("mechanism", "C-68 W-97", "a hello with an unknown mechanism", greeting(mechanism="X-UNKNOWN"), Reject,
     E.UNAUTHENTICATED),
    ("sequence", "W-13 C-12", "a hello with a sequence", lambda p: p.put(T.HELLO, b"", sequence=1), GoAway,
     E.PROTOCOL_VIOLATION),
]


def first(context, act, kind, code):
    peer = context.dial()
    act(peer)
    peer.expect_end(code, kind)
    stamp = peer.inbox[-1].header.timestamp
    context.require(stamp == 0, "the timestamp 0", stamp, "C-14")


for name, clauses, title, act, kind, code in FIRST:
    CASES.row(f"hello-{name}", clauses, f"{title} is answered by {kind.type.wire_name} {code.wire_name}",
              first, act, kind, code)


@CASES.case("hello-welcome", "W-36 W-41 W-42 C-26")
def welcome(context):
    """welcome names the features and limits in effect, the account, epoch 1 and no resume"""
    peer = context.link(limits=LEAST, features=int(Features.ZLIB | 1 << 40))
    found = peer.welcome
    context.require(found.features & ~Features.ZLIB == 0, "features that both offer", hex(found.features), "W-41")
    context.equal(found.limits, LEAST, "W-42")
    context.equal(found.account, peer.account, "C-26")
    context.require(found.epoch == 1 and found.resume is None, "epoch 1 without resume", found, "W-36")
    context.require(found.spoken_version == Version(1, 0), "1.0", found.spoken_version, "W-40")
    context.require(context.last.header.timestamp == 0, "the timestamp 0", context.last.header.timestamp, "C-14")


@CASES.case("hello-version-lower", "W-40 C-22")
def version_lower(context):
    """the server chooses the highest major version in common, with the lower minor version"""
    peer = context.dial()
    peer.hello(spoken_version=(Version(9, 3), Version(1, 255)))
    version = peer.welcomed().spoken_version
    context.require(version.major == 1 and version.minor < 255, "1.x of the server", version)
    other = context.dial()
    other.hello(spoken_version=(Version(1, 0), Version(9, 0)))
    context.require(other.welcomed().spoken_version == Version(1, 0), "1.0", other.welcome.spoken_version)


@CASES.case("hello-bits", "W-41")
def high_features(context):
    """features of version 1.1 are not in effect in version 1.0"""
    peer = context.link(features=2**64 - 1)
    context.require(peer.features < 16, "bits 0 to 3 only", hex(peer.features))


@CASES.case("hello-early", "W-35 C-16 C-18")
def early(context):
    """frames behind hello are processed after welcome, in their order"""
    peer = context.dial()
    peer.hello()
    peer.open(wait=False)
    peer.post("early", wait=False)
    peer.send(Ping(nonce=5))
    peer.welcomed()
    peer.expect(Pong, nonce=5)
    context.equal(peer.offset_of(1), 1)
    context.equal(peer.texts(1), ["early"])


@CASES.case("hello-early-refused", "C-18 W-38")
def early_refused(context):
    """early frames behind a refused hello have no effect"""
    peer = context.dial(0, "stranger")
    peer.hello(account="nobody-3", credential=b"a guess")
    peer.open(wait=False)
    peer.post("must not appear", wait=False)
    peer.expect_end(E.UNAUTHENTICATED, Reject)
    context.equal(context.link().open().head, 0)


@CASES.case("hello-same-answer", "C-35 C-27")
def same_answer(context):
    """an account that does not exist and a wrong credential are refused alike"""
    answers = []
    for account in ("nobody-4", context.options.account[0][0]):
        peer = context.dial(0, account)
        peer.hello(account=account, credential=b"a wrong guess")
        found = peer.expect_end(E.UNAUTHENTICATED, Reject, "C-27")
        answers.append((found.code, found.reason, found.retry_after))
    context.require(answers[0] == answers[1], answers[0], answers[1], "C-27")


@CASES.case("hello-timeout", "W-75 C-10 C-60")
def slow_hello(context):
    """a hello that is incomplete after 5 s, whatever arrives, ends the connection with handshakeTimeout"""
    peer = context.dial()
    context.timeout = max(context.timeout, 8)
    for at in range(12):
        peer.raw(frame(T.HELLO, bytes(99))[at : at + 1], "one byte of hello")
        peer.pump(peer.began + (at + 1) / 2.6)
    peer.expect_end(E.HANDSHAKE_TIMEOUT)


@CASES.case("end-behind-goaway", "C-40 W-43")
def behind_goaway(context, peer):
    """frames behind a client's goaway are not processed, and the server ends the carrier"""
    peer.raw(frame(T.GOAWAY, tlv(Tag.CODE, b"\1\7")) + a_text(2), "goaway and a message")
    until = peer.began + 2 * context.timeout
    while peer.pump(until):
        pass
    context.require(peer.ended, "the end of the stream", "an open stream", "C-40")
    context.equal(context.link(1).open().head, 0, "C-40")


@CASES.case("end-silent", "C-41 W-43", SHOULD)
def other_links(context):
    """a fault of one connection does not affect another"""
    good, bad = context.link(1), context.link()
    bad.raw(b"GET / HTTP/1.1\r\n\r\n", "a request of HTTP on an established link")
    bad.expect_end(E.BAD_MAGIC)
    good.ping()
