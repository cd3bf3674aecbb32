"""Packets of compact frames (Specs/wire.md 15.1), and their shared deflate stream (16)."""

import zlib
from pathlib import Path

from martlet_compact import read
from martlet_compact_tlv import Cursor, fault
from martlet_compact_writer import FrameWriter
from martlet_context import Context
from martlet_header import HEADER_SIZE, Header
from martlet_registry import ErrorCode

MAX_PAYLOAD = 4096
CHECKSUM_SIZE = 4
MAX_SHORT = 0x7F
PLAIN, DEFLATED = 0xC000, 0xA000
PLAIN_BITS, DEFLATED_BITS = 0x3FFF, 0x1FFF
LAST_OF_FLUSH = b"\x00\x00\xff\xff"
EMPTY_FINAL_BLOCK = b"\x01\x00\x00\xff\xff"
# The loader also reads from the archive that Scripts/build-conformance makes.
DICTIONARY = __loader__.get_data(str(Path(__file__).parent.parent / "dictionary" / "chat.dict"))
ENDED = b"\xa0\x00"


class Head:
    """The first bytes of a packet: its kind and its length; None if they are incomplete."""

    def __init__(self, size, length, is_deflated):
        self.size, self.length, self.is_deflated = size, length, is_deflated

    @property
    def packet_size(self):
        return self.size + self.length + CHECKSUM_SIZE

    @classmethod
    def of(cls, have, deflated_allowed):
        """Checks W-77 and W-78 as early as possible; `have` contains at least one byte."""
        first = have[0]
        if 1 <= first <= MAX_SHORT:
            return cls(1, first, False)
        is_deflated = first & 0xE0 == 0xA0
        if first < 0xC0 and not (is_deflated and deflated_allowed):
            raise fault(ErrorCode.BAD_MAGIC)
        if len(have) < 2:
            return None
        length = int.from_bytes(have[:2], "big") & (DEFLATED_BITS if is_deflated else PLAIN_BITS)
        if length > MAX_PAYLOAD:
            raise fault(ErrorCode.FRAME_TOO_LARGE)
        if not length and not is_deflated:
            raise fault()
        return cls(2, length, is_deflated)


class PacketReader:
    """The packets of one direction of a connection. The owner extracts them from the stream."""

    def __init__(self, deflated_allowed=False):
        self.deflated_allowed = deflated_allowed
        self.context = Context()
        self._inflater = None

    def copied(self):
        reader = PacketReader(self.deflated_allowed)
        reader.context = self.context.copied()
        reader._inflater = self._inflater and self._inflater.copy()
        return reader

    def head(self, have):
        return Head.of(have, self.deflated_allowed)

    def payload(self, packet, head):
        """The inflated payload of a complete packet as a cursor."""
        checked, crc = packet[:-CHECKSUM_SIZE], packet[-CHECKSUM_SIZE:]
        if zlib.crc32(checked) != int.from_bytes(crc, "big"):
            raise fault(ErrorCode.BAD_CHECKSUM)
        payload = bytes(checked[head.size :])
        return Cursor(self._inflated(payload) if head.is_deflated else payload)

    def frame(self, payload, max_body):
        """The next frame of a payload in the form of 3, or None at its end."""
        if not payload.rest:
            return None
        header, body = read(payload, self.context, max_body)
        return header.encoded(body) + body

    def feed(self, data, max_body=65_536):
        """The frames of complete packets. Plain frames between them are not accepted."""
        frames = []
        while data:
            head = self.head(data)
            payload = self.payload(data[: head.packet_size], head)
            while (frame := self.frame(payload, max_body)) is not None:
                frames.append(frame)
            data = data[head.packet_size :]
        return frames

    def _inflated(self, payload):
        if not payload:
            self._inflater = None
            return b""
        self._inflater = self._inflater or zlib.decompressobj(-zlib.MAX_WBITS, DICTIONARY)
        try:
            whole = self._inflater.decompress(payload + LAST_OF_FLUSH, MAX_PAYLOAD + 1)
        except zlib.error:
            raise fault(ErrorCode.INFLATE_FAILED) from None
        if len(whole) > MAX_PAYLOAD:
            raise fault(ErrorCode.INFLATE_LIMIT)
        if self._inflater.eof or not self._is_between_blocks():
            raise fault(ErrorCode.INFLATE_FAILED)
        return whole

    def _is_between_blocks(self):
        """Whether the stream ends exactly if an empty final block follows. Nothing else can end with these bytes."""
        copy = self._inflater.copy()
        try:
            return not copy.decompress(EMPTY_FINAL_BLOCK) and copy.eof and not copy.unused_data
        except zlib.error:
            return False


class PacketWriter:
    """Writes frames as packets, or in the plain form if they have no compact form."""

    def __init__(self, deflates=False, level=6):
        self.deflates, self.level = deflates, level
        self.context = Context()
        self._writer = FrameWriter(self.context)
        self._deflater = None

    def pack(self, frames, deflated=True):
        """The frames in order, in the minimum number of packets."""
        out, waiting, size = bytearray(), [], 0

        def flush():
            nonlocal waiting, size
            if waiting:
                parts = [frame.encoded(False) for frame in waiting[:-1]] + [waiting[-1].encoded(True)]
                out.extend(self.packet(b"".join(parts), deflated))
            waiting, size = [], 0

        for frame in frames:
            header, body = Header.parse(frame[:HEADER_SIZE]), frame[HEADER_SIZE:]
            found = self._writer.written(header, body)
            if found is None or len(found.encoded(True)) > MAX_PAYLOAD:
                flush()
                out += frame
                continue
            if size + len(found.encoded(True)) > MAX_PAYLOAD:
                flush()
            self.context.learn(header, found.changes)
            waiting.append(found)
            size += len(found.encoded(False))
        flush()
        return bytes(out)

    def packet(self, payload, deflated=True):
        """A packet with a payload, which is deflated if that is permitted and shorter."""
        if self.deflates and deflated:
            deflater = self._deflater.copy() if self._deflater else zlib.compressobj(
                self.level, zlib.DEFLATED, -zlib.MAX_WBITS, 8, zlib.Z_DEFAULT_STRATEGY, DICTIONARY)
            short = (deflater.compress(payload) + deflater.flush(zlib.Z_SYNC_FLUSH))[: -len(LAST_OF_FLUSH)]
            if len(short) < len(payload):
                self._deflater = deflater
                return sealed((DEFLATED | len(short)).to_bytes(2, "big") + short)
        return sealed(head_of(len(payload)) + payload)

    def end(self):
        """Ends the deflate stream (W-94)."""
        self._deflater = None
        return sealed(ENDED)


def head_of(length):
    return bytes([length]) if length <= MAX_SHORT else (PLAIN | length).to_bytes(2, "big")


def sealed(data):
    return data + zlib.crc32(data).to_bytes(CHECKSUM_SIZE, "big")
