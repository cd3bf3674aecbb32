"""The header of a frame and its checksum (Specs/wire.md 3.1, 3.4)."""

import struct
import zlib
from typing import NamedTuple

from martlet_registry import Flags

MAGIC = 0x8D4D5254
MAGIC_BYTES = MAGIC.to_bytes(4, "big")
MAJOR, MINOR = 1, 0
HEADER = struct.Struct(">IBBHIIBBHII")
HEADER_SIZE = 28
CHECKED_HEADER_SIZE = 24
NONE, ZLIB = 0, 1


class Header(NamedTuple):
    """The fields of 3.1 without the magic."""

    type: int
    session: int = 0
    sequence: int = 0
    timestamp: int = 0
    flags: int = Flags.CHECKSUMMED
    compression: int = NONE
    major: int = MAJOR
    minor: int = MINOR
    length: int = 0
    checksum: int = 0

    @property
    def is_reliable(self):
        return bool(self.flags & Flags.RELIABLE)

    @property
    def has_more(self):
        return bool(self.flags & Flags.MORE_FRAGMENTS)

    def encoded(self, body):
        """The header before `body`, as sent."""
        front = HEADER.pack(
            MAGIC, self.major, self.minor, self.type, self.sequence & 0xFFFFFFFF, self.timestamp & 0xFFFFFFFF,
            self.flags, self.compression, self.session, len(body), 0)[:CHECKED_HEADER_SIZE]
        return front + checksum(front, body).to_bytes(4, "big")

    @classmethod
    def parse(cls, data):
        _, major, minor, kind, sequence, timestamp, flags, compression, session, length, crc = HEADER.unpack(data)
        return cls(kind, session, sequence, timestamp, flags, compression, major, minor, length, crc)


def checksum(front, body):
    """W-9: the checksum of the body, then of header bytes 0 to 23."""
    return zlib.crc32(front, zlib.crc32(body))
