"""The links of attackers, which send any bytes, as frames, zlib bodies or deflated packets."""

import random
import select
import socket
import struct
import time
import zlib
from collections import Counter

from client import MINE
from martlet_basics import WireError
from martlet_compact import FORM_OF_TYPE, HAS_LENGTH
from martlet_compact_tlv import compacted, varint
from martlet_bodies import Ack, GoAway, Hello, HelloResume, Reject, Reset, Welcome
from martlet_frames import Data, Open
from martlet_header import CHECKED_HEADER_SIZE, HEADER, MAGIC, NONE, ZLIB
from martlet_link import CREDITED
from martlet_packets import DEFLATED, LAST_OF_FLUSH, MAX_PAYLOAD, PacketWriter, head_of, sealed
from martlet_registry import RULES, SERVER, ContentKind, ErrorCode, Features, Flags, FrameType, Tag
from martlet_tlv import Version, tlv
from martlet_wire import Receiver, decode, encode

ADDRESS = "127.0.0.1"
TIMEOUT = 10
CHUNK = 65_536
RELIABLE, MORE = int(Flags.RELIABLE), int(Flags.MORE_FRAGMENTS)
PLAIN = Features.ZLIB | Features.REQUESTS | Features.RECEIPTS | Features.PRESENCE
PACKED = PLAIN | Features.COMPACT | Features.SHARED_DEFLATE
PADDING = tlv(0x0333, bytes(50_000))  # A tag that no peer knows, and that compresses well.
PAUSE = 0.01


class Gone(Exception):
    """The relay ended the connection; the text is its code, or the kind of the end."""


def frame_bytes(kind, body=b"", session=0, sequence=0, flags=0, compression=NONE):
    """Any frame, valid or not."""
    front = HEADER.pack(MAGIC, 1, 0, kind, sequence & 0xFFFFFFFF, 0, flags | int(Flags.CHECKSUMMED), compression,
                        session, len(body), 0)[:CHECKED_HEADER_SIZE]
    return front + struct.pack(">I", zlib.crc32(front, zlib.crc32(body))) + body


def dialled(port):
    """A connection without sent bytes."""
    end = socket.create_connection((ADDRESS, port), TIMEOUT)
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return end


def cut(end):
    """Resets a connection."""
    try:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    end.close()


def hello(account, device=None, features=PLAIN, version=Version(1, 0), resume=None, limits=MINE):
    return encode(Hello(
        spoken_version=(version,), features=features, limits=limits, device=device or random.getrandbits(63) + 1,
        account=account, credential=b"", agent="hostile", resume=resume))


def text_of(counter, size=20):
    return Data(counter=counter, kind=ContentKind.TEXT, content=tlv(Tag.TEXT, b"x" * size)).encoded()


class Link:
    """The link of a device on one connection. It acknowledges frames and counts credit unless reading is disabled."""

    def __init__(self, port, account, device=None, is_packed=False, receive_buffer=None, acknowledges=True):
        self.account, self.device = account, device or random.getrandbits(63) + 1
        self.is_packed, self.acknowledges = is_packed, acknowledges
        self.features, self.version = (PACKED, Version(1, 1)) if is_packed else (PLAIN, Version(1, 0))
        self.sequences, self.received = Counter(), Counter()
        self.credited, self.back, self.is_told = 0, Counter(), True
        self.used, self.limit, self.session_used, self.session_limit = 0, 0, Counter(), {}
        self.counter, self.resets, self.seen = 0, [], Counter()
        self.welcome, self.writer = None, PacketWriter()
        self.is_on = lambda: True
        self.receiver, self.out = Receiver(SERVER), bytearray()
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(TIMEOUT)
        self.socket.connect((ADDRESS, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)

    def greet(self, resume=None):
        """Sends hello and waits for welcome."""
        self.send(hello(self.account, self.device, self.features, self.version, resume))
        self.until(lambda: self.welcome)
        return self

    def resume_point(self, positions=()):
        return HelloResume(link=self.welcome.link, resume_token=self.welcome.resume_token, session_position=positions)

    # Frames

    def frame(self, kind, body=b"", session=0, flags=0, compressed=None):
        """The next frame of a session; `compressed` is the body compressed by zlib."""
        sequence = 0
        if kind not in RULES or RULES[kind].is_reliable:
            self.sequences[session] += 1
            sequence, flags = self.sequences[session], flags | RELIABLE
        if kind in CREDITED:
            self.used += len(body)
            self.session_used[session] += len(body)
        if compressed is not None:
            return frame_bytes(kind, compressed, session, sequence, flags, ZLIB)
        return frame_bytes(kind, body, session, sequence, flags)

    def open_frame(self, session, room, kind=0, cursor=0, **more):
        window = (256, 512, 64, 1024)[kind] << 10
        self.session_limit[session] = min(window, self.welcome.limits.session_window if self.welcome else 17_408)
        return self.frame(FrameType.OPEN, Open(room=room, session_kind=kind, cursor=cursor, **more).encoded(), session)

    def open(self, session, room, kind=0, **more):
        data = self.open_frame(session, room, kind, **more)
        self.send(self.writer.pack([data]) if self.is_packed else data)

    def text(self, session, size=20):
        self.counter += 1
        return self.frame(FrameType.DATA, text_of(self.counter, size), session)

    def room_for(self, session):
        """The remaining bytes of credit."""
        return min(self.limit - self.used, self.session_limit.get(session, 65_536) - self.session_used[session])

    # The connection

    def send(self, data):
        """Sends all bytes while the attack lasts, and processes received frames meanwhile."""
        self.out += data
        while self.out and self.is_on():
            self.turn(0.1)

    def until(self, is_so, seconds=TIMEOUT):
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end or not self.is_on():
                raise Gone("waited in vain")
            self.turn(0.05)

    def turn(self, seconds=0.0):
        """Writes and reads without waiting, and acknowledges received frames."""
        readable, writable, _ = select.select([self.socket], [self.socket] if self.out else [], [], seconds)
        try:
            if readable:
                data = self.socket.recv(CHUNK)
                if not data:
                    raise Gone("end of stream")
                self.take(data)
            if self.acknowledges and not self.is_told and self.welcome:
                self.out += self.ack()
            if self.out:
                sent = self.socket.send(memoryview(self.out)[:CHUNK])
                del self.out[:sent]
        except BlockingIOError:
            pass
        except OSError as error:
            self.take_last_words()
            raise Gone(error.strerror) from None

    def take_last_words(self):
        """The code of the relay before it ended the connection."""
        try:
            while data := self.socket.recv(CHUNK):
                self.take(data)
        except OSError:
            pass

    def take(self, data):
        self.receiver.framer.feed(data)
        try:
            while (frame := self.receiver.next_bytes()) is not None:
                self.took(*frame)
        except WireError as error:
            raise Gone(f"its own doing: {error.code.name}") from None

    def took(self, header, body, _):
        self.seen[header.type] += 1
        if header.is_reliable:
            self.received[header.session] += 1
            self.is_told = False
        if header.type in CREDITED:
            self.credited += len(body)
            self.back[header.session] += len(body)
        elif header.type == FrameType.ACK:
            value = decode(header.type, body, SERVER)
            self.limit = max(self.limit, value.link_credit)
            for ack in value.session_ack:
                self.session_limit[ack.session] = max(self.session_limit.get(ack.session, 0), ack.credit)
        elif header.type == FrameType.WELCOME:
            self.welcome = decode(header.type, body, SERVER)
            self.receiver.establish(self.welcome.limits.max_body, self.welcome.features)
            self.limit = self.welcome.limits.link_window
        elif header.type == FrameType.RESET:
            value = decode(header.type, body, SERVER)
            self.resets.append((value.session, name_of(value.code)))
        elif header.type in (FrameType.GOAWAY, FrameType.REJECT):
            raise Gone(name_of(decode(header.type, body, SERVER).code))

    def ack(self):
        self.is_told = True
        window = self.welcome.limits.session_window
        acks = b"".join(
            tlv(Tag.SESSION_ACK, struct.pack(">HQQ", session, count, self.back[session] + window))
            for session, count in self.received.items())
        credit = tlv(Tag.LINK_CREDIT, (self.credited + self.welcome.limits.link_window).to_bytes(8, "big"))
        return frame_bytes(FrameType.ACK, credit + acks)

    def leave(self):
        """Ends the link in order."""
        self.send(encode(GoAway(code=0)))
        self.socket.close()

    def cut(self):
        cut(self.socket)


def name_of(code):
    return ErrorCode(code).wire_name if code in set(ErrorCode) else hex(code)


# Bodies and packets with low cost for their sender


class Deflated:
    """Packets of one payload: the first one, and one that can follow itself repeatedly."""

    def __init__(self, frame):
        payload = frame * (MAX_PAYLOAD // len(frame))
        stream, packets = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS), []
        # After 32 KiB of the same bytes the stream refers to no others.
        for _ in range(20):
            short = (stream.compress(payload) + stream.flush(zlib.Z_SYNC_FLUSH))[: -len(LAST_OF_FLUSH)]
            packets.append(sealed((DEFLATED | len(short)).to_bytes(2, "big") + short))
        self.begin, self.again, self.count = b"".join(packets), packets[-1], len(payload) // len(frame)


def compact(kind, body):
    """A compact frame of the context's session with the next sequence, which has the same bytes each time."""
    short = compacted(body)
    return bytes([FORM_OF_TYPE[kind] | HAS_LENGTH]) + varint(len(short)) + short


def plain_packet(frame):
    payload = frame * (MAX_PAYLOAD // len(frame))
    return sealed(head_of(len(payload)) + payload)
