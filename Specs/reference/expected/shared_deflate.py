"""Vectors of Specs/wire.md 16: deflated packets."""

import zlib
from pathlib import Path

from expected.packet import (
    BEGIN, BEGIN_FRAME, FIRST, SHARED, cf, compact_ping, deflated, packet, ping, suspend, text,
)
from vector_bytes import joined, repeat, u8, u16

DICTIONARY = (Path(__file__).resolve().parent.parent.parent / "dictionary" / "chat.dict").read_bytes()
END = deflated(b"")
CHINESE = "明天晚上一起吃饭，好吗？"
WORDS = "see you tomorrow morning at the station, I'll be there in 10 minutes"
SQUARES = " ".join(str(n * n) for n in range(200))
# A block of dynamic codes, of one bit for the byte 0 and of 14 bits 1 for its end: with the last four bytes it inflates
# to 19 bytes, and two bits 1 remain.
TWO_BITS = bytes.fromhex("04c0019224499224492416358fac9ebdff7ff700")


class Stream:
    """A deflate stream of one direction."""

    def __init__(self, dictionary=DICTIONARY, level=6, strategy=zlib.Z_DEFAULT_STRATEGY):
        self.deflater = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy, dictionary)

    def data(self, *payload, flush=zlib.Z_SYNC_FLUSH):
        data = self.deflater.compress(joined(payload)) + self.deflater.flush(flush)
        return data[:-4] if flush == zlib.Z_SYNC_FLUSH else data

    def packet(self, *payload):
        return deflated(self.data(*payload))


def stored(data):
    """Bytes in a stored block, and the flush after it."""
    return b"\x00" + len(data).to_bytes(2, "little") + (0xFFFF ^ len(data)).to_bytes(2, "little") + data + b"\x00"


def streams(file):
    def good(name, clauses, pieces, *frames, **given):
        file.good(name, clauses, pieces, *frames, features=SHARED, **given)

    first, second = cf(0x20, WORDS, **FIRST), cf(0x20, WORDS + "!")
    shown = [text(1, WORDS, **FIRST), text(2, WORDS + "!", session=1, sequence=2)]
    stream = Stream()
    good("a deflated packet, by the dictionary", "W-92 W-93", stream.packet(first), shown[0], end=True)
    good("a deflated text in UTF-16, by the dictionary", "W-86 W-92 W-93",
         Stream().packet(cf(0x23, CHINESE.encode("utf-16-be"), **FIRST)), text(1, CHINESE, **FIRST))
    stream, halves = Stream(), (DICTIONARY[:2048], DICTIONARY[2048:])
    good("every byte of the dictionary", "W-93",
         [stream.packet(cf(0x20, half, session=1, sequence=n)) for n, half in enumerate(halves, 1)],
         *(text(n, half, session=1, sequence=n) for n, half in enumerate(halves, 1)))
    stream = Stream()
    both = [stream.packet(first), stream.packet(second)]
    good("two packets of one stream", "W-92", both, *shown)
    good("a plain packet and a frame of 3 between them, which are not part of the stream", "W-92 W-96",
         [both[0], packet(compact_ping(7)), ping(8), both[1]], shown[0], ping(7), ping(8), shown[1])
    good("several frames in a deflated packet", "W-79 W-92",
         Stream().packet(BEGIN, compact_ping(7, length=True), cf(0x11)), BEGIN_FRAME, ping(7), suspend(2))
    good("a stream that ends, and another", "W-94", [both[0], END, Stream().packet(second)], *shown)
    good("a stream that ends before it begins, and twice", "W-94", [END, both[0], END, END], shown[0])
    good("a stream of level 0, of a small window, and of fixed codes", "W-92",
         [Stream(level=0).packet(first), END, Stream(strategy=zlib.Z_FIXED).packet(second), END,
          deflated(zlib_small(compact_ping(7)))], *shown, ping(7))
    good("a payload of more bytes than it inflates to", "W-92", deflated(stored(joined(compact_ping(7)))), ping(7))
    good("a payload that inflates to nothing", "W-92", [deflated(b"\x00"), deflated(stored(b""))])
    good("a deflated payload of 4,096 bytes", "W-78 W-92",
         deflated(stored(joined(cf(0x20, repeat(b"a", 4083), **FIRST)))), text(1, repeat(b"a", 4083), **FIRST))
    good("a payload that inflates to 4,096 bytes", "W-95", Stream().packet(cf(0x20, repeat(b"a", 4089), **FIRST)),
         text(1, repeat(b"a", 4089), **FIRST))
    good("a match that is 32,450 bytes back", "W-92", *far())


def zlib_small(pieces):
    deflater = zlib.compressobj(6, zlib.DEFLATED, -9, 1, zlib.Z_DEFAULT_STRATEGY, DICTIONARY)
    return (deflater.compress(joined(pieces)) + deflater.flush(zlib.Z_SYNC_FLUSH))[:-4]


def far():
    """Packets of one stream, the last with the longest distance that zlib uses in a window of 32 KiB."""
    stream, pieces, frames = Stream(), [], []
    for n, words in enumerate([WORDS.upper(), *[repeat(b"a", 4040)] * 8, WORDS.upper()]):
        pieces.append(stream.packet(cf(0x20, words, session=1, sequence=n + 1)))
        frames.append(text(n + 1, words, session=1, sequence=n + 1))
    return [pieces, *frames]


def faults(file):
    def bad(name, clauses, pieces, *frames, **given):
        file.bad(name, clauses, pieces, *frames, features=SHARED, **given)

    first, second = cf(0x20, WORDS, **FIRST), cf(0x20, WORDS + "!")
    shown = text(1, WORDS, **FIRST)
    bad("a deflated payload of 4,097 bytes, known from the head", "W-78", u16(0xA000 | 4097), error="frameTooLarge")
    bad("a deflated payload of 8,191 bytes", "W-78", u16(0xBFFF), error="frameTooLarge")
    bad("a payload that inflates to 4,097 bytes", "W-95", Stream().packet(cf(0x20, repeat(b"a", 4090), **FIRST)),
        error="inflateLimit")
    bad("a payload that inflates to 4 MB", "W-95", Stream().packet(repeat(b"\x11", 4_000_000)), error="inflateLimit")
    bad("a block of a kind that there is not", "W-95", deflated(b"\x06\x00"), error="inflateFailed")
    bad("a stored block whose lengths differ", "W-95", deflated(b"\x00\x02\x00\xfe\xff\x11\x11\x00"),
        error="inflateFailed")
    bad("a match beyond the dictionary", "W-93 W-95",
        Stream(joined([WORDS.upper()]) + DICTIONARY).packet(cf(0x20, WORDS.upper(), **FIRST)), error="inflateFailed")
    pieces, *frames = far()
    bad("a match in a stream that has ended", "W-94 W-95", [*pieces[:-1], END, pieces[-1]], *frames[:-1],
        error="inflateFailed")
    bad("a final block", "W-92 W-95", deflated(Stream().data(first, flush=zlib.Z_FINISH)), error="inflateFailed")
    for name, data in [
        ("inside a stored block", b"\x00\xff"),
        ("inside a block of fixed codes", Stream(strategy=zlib.Z_FIXED).data(first)[:-2]),
        ("inside a block of dynamic codes", Stream().data(cf(0x20, SQUARES, **FIRST))[:-2]),
        ("inside the head of a block", b"\x04\x00"), ("with two bits of the next block", TWO_BITS),
    ]:
        bad(f"a deflated payload that ends {name}", "W-92", deflated(data), error="inflateFailed")
    data = Stream().data(first)
    whole = deflated(data)
    bad("the checksum of a deflated packet", "W-78", whole[:-1] + u8(whole[-1] ^ 1), error="badChecksum")
    bad("the checksum of a stream's end", "W-78 W-94", [whole, END[:-1] + u8(END[-1] ^ 1)], shown,
        error="badChecksum")
    bad("a fault in an inflated payload, and the frame in front of it", "W-79",
        Stream().packet(BEGIN, cf(0x3F), second), BEGIN_FRAME)
    bad("the stream ends in a deflated packet", "W-2", whole[:-5], error="unexpectedEOF", end=True)


PARTS = (streams, faults)
