"""Bytes of vectors, composed by hand: nothing here comes from the codec.

A piece is a `bytes`, or a dictionary that both sides of a test expand: {"repeat": hex, "count": n}, or {"nest": tag
in hex, "depth": n}, which is n nested containers, the innermost one empty.
"""

import struct
import zlib


def u8(n):
    return struct.pack(">B", n)


def u16(n):
    return struct.pack(">H", n)


def u32(n):
    return struct.pack(">I", n)


def u64(n):
    return struct.pack(">Q", n)


def t(tag, *values):
    """A TLV; a value may be text, bytes or a piece. Returns a list of pieces."""
    pieces = flat(values)
    return [u16(tag) + u32(size(pieces)), *pieces]


def repeat(unit, count):
    return {"repeat": unit.hex(), "count": count}


def times(unit, count):
    """A long text or list in an expected result: a text of `unit`, or a list of it."""
    return {"repeat": unit, "count": count}


def nest(tag, depth):
    return {"nest": f"{tag:04x}", "depth": depth}


def flat(pieces):
    found = []
    for piece in pieces:
        if isinstance(piece, (list, tuple)):
            found += flat(piece)
        else:
            found.append(piece.encode() if isinstance(piece, str) else piece)
    return found


def expand(piece):
    if isinstance(piece, bytes):
        return piece
    if "repeat" in piece:
        return bytes.fromhex(piece["repeat"]) * piece["count"]
    tag = bytes.fromhex(piece["nest"])
    return b"".join(tag + u32(6 * inner) for inner in reversed(range(piece["depth"])))


def joined(pieces):
    return b"".join(map(expand, flat(pieces)))


def size(pieces):
    return len(joined(pieces))


def head(kind, length=0, session=0, sequence=0, timestamp=0, flags=0x08, compression=0, major=1, minor=0,
         magic=0x8D4D5254):
    """Header bytes 0 to 23."""
    return struct.pack(
        ">IBBHIIBBHI", magic, major, minor, kind, sequence, timestamp, flags, compression, session, length)


def header(kind, length=0, **fields):
    """A header without its body, with a checksum of 0."""
    return head(kind, length, **fields) + u32(0)


def frame(kind, *body, checksum=None, **fields):
    """A frame; `checksum` replaces the valid one."""
    pieces = flat(body)
    sent = joined(pieces)
    front = head(kind, len(sent), **fields)
    crc = zlib.crc32(front, zlib.crc32(sent)) if checksum is None else checksum
    return [front + u32(crc), *pieces]


def compact(pieces):
    """Pieces as in a vector: consecutive bytes as one string of hexadecimal digits."""
    found = []
    for piece in flat([pieces]):
        if isinstance(piece, bytes):
            if found and isinstance(found[-1], str):
                found[-1] += piece.hex()
            elif piece:
                found.append(piece.hex())
        else:
            found.append(piece)
    return found
