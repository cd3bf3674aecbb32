"""Frames on a stream (Specs/wire.md 3): header, framing, checksum, compression, and the conversion of bytes and
values.

The module was written from the specification alone, with the standard library of Python.
"""

import zlib
from contextlib import contextmanager
from typing import NamedTuple

from martlet_basics import Scope, WireError
from martlet_frames import read_body
from martlet_header import (
    CHECKED_HEADER_SIZE, HEADER_SIZE, MAGIC_BYTES, MAJOR, MINOR, NONE, ZLIB, Header, checksum,
)
from martlet_packets import PacketReader
from martlet_registry import CLIENT, RULES, ErrorCode, Features, Flags, FrameType
from martlet_tlv import walk

HANDSHAKE_MAX_BODY = 12 * 1024
CRITICAL = 0x8000
FRAGMENTABLE = tuple(kind for kind, rule in RULES.items() if rule.allows_fragments)
SECRET = tuple(kind for kind, rule in RULES.items() if rule.is_handshake)
BEFORE_WELCOME = (FrameType.WELCOME, FrameType.REJECT, FrameType.GOAWAY, FrameType.AUTH)


class WireFrame(NamedTuple):
    """A complete frame with a valid checksum; `body` as sent, `at` its offset in the stream."""

    header: Header
    body: bytes
    at: int


class Framer:
    """Splits a stream in pieces of any size into frames, and refuses it as early as possible.

    A refused stream remains refused. The owner changes the limits after welcome, and sets `packets` if packets are
    allowed (15.1). The frames of packets are returned like those of 3, with the offset of the packet.
    """

    def __init__(self, max_body=HANDSHAKE_MAX_BODY, zlib_allowed=False, first_is_hello=False):
        self.max_body = max_body
        self.zlib_allowed = zlib_allowed
        self.first_is_hello = first_is_hello
        self.packets = None
        self._payload, self._payload_at = None, 0
        self._buffer = bytearray()
        self._at = 0
        self._error = None

    def feed(self, data):
        self._buffer += data

    def copied(self, data):
        """A framer in the same state with these bytes."""
        framer = Framer(self.max_body, self.zlib_allowed, self.first_is_hello)
        framer.packets = self.packets and self.packets.copied()
        framer._buffer, framer._at, framer._error = data, self._at, self._error
        return framer

    def next(self):
        """The next complete frame, or None until more bytes are received."""
        if self._error is not None:
            raise self._error
        try:
            return self._packed() or self._next()
        except WireError as error:
            self.refuse(error, self._payload_at if self._payload else self._at)
            raise

    def finish(self):
        """Reports the end of the stream (W-2)."""
        if self._error is None and self._buffer:
            self.refuse(WireError(ErrorCode.UNEXPECTED_EOF), self._at)
        if self._error is not None:
            raise self._error

    def refuse(self, error, at):
        """Refuses the stream with this error."""
        error.at = at
        self._error = error

    def _packed(self):
        """The next frame of a packet, or None if a plain frame is next or bytes are missing."""
        while True:
            if self._payload is None and not self._open_packet():
                return None
            frame = self.packets.frame(self._payload, self.max_body)
            if frame is not None:
                header, body = Header.parse(frame[:HEADER_SIZE]), frame[HEADER_SIZE:]
                return self._checked(WireFrame(header, body, self._payload_at))
            self._payload = None

    def _open_packet(self):
        """Whether the next unit is a complete packet, whose payload is then parsed."""
        have = self._buffer
        if not have or have[0] == MAGIC_BYTES[0] or self.packets is None:
            return False
        head = self.packets.head(have)
        if head is None or len(have) < head.packet_size:
            return False
        self._payload = self.packets.payload(have[: head.packet_size], head)
        self._payload_at = self._at
        del have[: head.packet_size]
        self._at += head.packet_size
        return True

    def _checked(self, frame):
        """Whether the frame's body may be compressed (W-18, W-20)."""
        if frame.header.compression != NONE and (not self.zlib_allowed or frame.header.type in SECRET):
            raise WireError(ErrorCode.COMPRESSION_NOT_ALLOWED)
        return frame

    def _next(self):
        have = self._buffer
        if self.packets is not None and have and have[0] != MAGIC_BYTES[0]:
            return None
        self._check_header(have)
        if len(have) < HEADER_SIZE:
            return None
        header = Header.parse(have[:HEADER_SIZE])
        size = HEADER_SIZE + header.length
        if len(have) < size:
            return None
        body = bytes(have[HEADER_SIZE:size])
        if not header.flags & Flags.CHECKSUMMED or header.checksum != checksum(have[:CHECKED_HEADER_SIZE], body):
            raise WireError(ErrorCode.BAD_CHECKSUM)
        frame = self._checked(WireFrame(header, body, self._at))
        del have[:size]
        self._at += size
        self.first_is_hello = False
        return frame

    def _check_header(self, have):
        """Checks W-6, each field as early as possible."""
        if not MAGIC_BYTES.startswith(bytes(have[:4])):
            raise WireError(ErrorCode.BAD_MAGIC)
        if len(have) > 4 and have[4] != MAJOR:
            raise WireError(ErrorCode.UNSUPPORTED_VERSION)
        # Each field should be checked at once; a receiver that waits for the complete header may report the end first.
        later = {ErrorCode.UNEXPECTED_EOF: Scope.CONNECTION}
        if len(have) > 16 and have[16] & Flags.RESERVED:
            raise WireError(ErrorCode.RESERVED_BITS, also=later)
        if len(have) < CHECKED_HEADER_SIZE:
            return
        kind = int.from_bytes(have[6:8], "big")
        if int.from_bytes(have[20:24], "big") > self.max_body:
            raise WireError(ErrorCode.FRAME_TOO_LARGE, also=later)
        if have[17] not in (NONE, ZLIB):
            raise WireError(ErrorCode.COMPRESSION_NOT_ALLOWED, also=later)
        if self.first_is_hello and kind != FrameType.HELLO:
            raise WireError(ErrorCode.EXPECTED_HELLO, also=later)


def is_known(header, sender):
    """Whether the type is known; raises the violation of a column of 13.1 or of another rule of the header (W-13,
    W-74)."""
    rule = RULES.get(header.type)
    if rule is None:
        if header.type & CRITICAL:
            raise WireError(ErrorCode.UNKNOWN_CRITICAL)
        return False
    if not header.is_reliable and header.sequence or header.has_more and header.type not in FRAGMENTABLE:
        raise WireError(ErrorCode.PROTOCOL_VIOLATION)
    in_place = rule.allows_session(header.session) and sender in rule.senders
    if header.is_reliable != rule.is_reliable or not in_place:
        raise WireError(ErrorCode.PROTOCOL_VIOLATION)
    if header.type == FrameType.OPEN and header.session % 2 != (sender == CLIENT):
        raise WireError(ErrorCode.PROTOCOL_VIOLATION)
    return True


def inflated(body, limit):
    """W-19: inflates up to the limit; the stream must be complete and followed by no bytes."""
    stream = zlib.decompressobj()
    try:
        whole = stream.decompress(body, limit + 1)
    except zlib.error:
        raise WireError(ErrorCode.INFLATE_FAILED) from None
    if len(whole) > limit:
        raise WireError(ErrorCode.INFLATE_LIMIT)
    if not stream.eof or stream.unused_data:
        raise WireError(ErrorCode.INFLATE_FAILED)
    return whole


class Frame(NamedTuple):
    """The result of a frame.

    `value` is a body, None for an unknown type (W-73), the inflated bytes of a fragment, or a WireError of a smaller
    scope than the connection.
    """

    header: Header
    value: object
    at: int


class Receiver:
    """One direction of a connection, which converts bytes to frames. Its only state is the phase of the handshake."""

    def __init__(self, sender, established=False, max_body=HANDSHAKE_MAX_BODY, features=Features(0)):
        self.sender = sender
        self.established = established
        self.framer = Framer(max_body, first_is_hello=sender == CLIENT and not established)
        self._in_fragments = {}
        self._is_part = False
        if established:
            self.establish(max_body, features)

    def establish(self, max_body, features):
        """Applies the parameters of a welcome that was sent or received."""
        self.established = True
        self.framer.max_body = max_body
        self.framer.zlib_allowed = bool(features & Features.ZLIB)
        if features & Features.COMPACT:
            self.framer.packets = PacketReader(bool(features & Features.SHARED_DEFLATE))

    def copied(self, data):
        """A receiver in the same state with these bytes."""
        receiver = Receiver(self.sender, self.established)
        receiver.framer = self.framer.copied(data)
        receiver._in_fragments, receiver._is_part = dict(self._in_fragments), self._is_part
        return receiver

    def next_bytes(self, check=lambda header: None):
        """The next frame with its inflated body as bytes, or None. The rules of 13.1 for its header were checked.

        `check` is called before the body is parsed.
        """
        frame = self.framer.next()
        if frame is None:
            return None
        with self._ending(frame):
            header = frame.header
            self._check_phase(header)
            known = is_known(header, self.sender)
            check(header)
            if not known:
                return frame._replace(body=None)
            if header.compression == ZLIB:
                return frame._replace(body=inflated(frame.body, self.framer.max_body))
            return frame

    def next(self):
        """The next frame with its value, or None. The stream must begin between two messages: a frame with
        moreFragments, and the following frames on its session up to the last fragment, are returned as bytes."""
        frame = self.next_bytes(self._note_fragments)
        if frame is None:
            return None
        header, body, at = frame
        with self._ending(frame):
            if self._is_part or body is None:
                return Frame(header, body, at)
            try:
                value = decode(header.type, body, self.sender)
            except WireError as error:
                if error.scope == Scope.CONNECTION:
                    raise
                error.at = at
                return Frame(header, error, at)
            if header.type == FrameType.WELCOME:
                self.establish(value.limits.max_body, value.features)
            return Frame(header, value, at)

    @contextmanager
    def _ending(self, frame):
        """An error in this context ends the stream at the current frame."""
        try:
            yield
        except WireError as error:
            self.framer.refuse(error, frame.at)
            raise

    def _check_phase(self, header):
        """W-32, W-37, W-74: the frames that may be sent before and after welcome."""
        if self.sender == CLIENT:
            wrong = header.type == FrameType.HELLO and self.established
        elif self.established:
            wrong = header.type in (FrameType.WELCOME, FrameType.REJECT)
        else:
            wrong = header.type not in BEFORE_WELCOME
        if wrong:
            raise WireError(ErrorCode.PROTOCOL_VIOLATION)

    def _note_fragments(self, header):
        """W-21."""
        self._is_part = False
        if not header.is_reliable:
            return
        begun = self._in_fragments.pop(header.session, None)
        if begun not in (None, header.type):
            raise WireError(ErrorCode.PROTOCOL_VIOLATION)
        if header.has_more and header.type in FRAGMENTABLE:
            self._in_fragments[header.session] = header.type
        self._is_part = header.has_more or begun is not None


def decode(frame_type, body, sender):
    """The value of a complete body, inflated and reassembled."""
    return read_body(frame_type, body, walk(body), sender)


def encode(body, session=0, sequence=0, timestamp=0, priority=0, ack_now=False, compress=False, more=False,
           minor=MINOR):
    """A complete frame with a body's value."""
    return encode_bytes(body.type, body.encoded(), session, sequence, timestamp, priority, ack_now, compress, more,
                        minor)


def encode_bytes(kind, body, session=0, sequence=0, timestamp=0, priority=0, ack_now=False, compress=False, more=False,
                 minor=MINOR):
    """A complete frame with a body's bytes."""
    flags = Flags.CHECKSUMMED | priority << 4 | (Flags.ACK_NOW if ack_now else 0)
    flags |= Flags.RELIABLE if RULES[kind].is_reliable else 0
    flags |= Flags.MORE_FRAGMENTS if more else 0
    sent = zlib.compress(body) if compress else body
    header = Header(kind, session, sequence, timestamp, int(flags), ZLIB if compress else NONE, MAJOR, minor)
    return header.encoded(sent) + sent
