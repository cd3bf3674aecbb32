#!/usr/bin/env python3
"""Compares the results of this implementation and of Martlet for the same frames.

Half of the frames are generated here (random_frames.py), a quarter by Martlet, and the remaining quarter are frames
with a change. Some are single, some in streams. Every answer must be the same: the same values, and the same
faults at the same byte. If the specification permits several faults, each of them is accepted.

Each batch of frames is determined by the seed and its own number, so the number of processes does not affect the
result. A difference is reported with its batch, which --only repeats.

usage: differential.py [--frames N] [--seed N] [--only BATCH] [--quiet] TOOL
"""

import argparse
import os
import random
import sys
import time
import zlib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from martlet_basics import WireError
from martlet_body import Body
from martlet_registry import ErrorCode, Features
from martlet_packets import PacketReader, PacketWriter
from martlet_wire import HANDSHAKE_MAX_BODY, Framer, Header, Receiver, decode
from peer import Peer
from random_frames import Maker, cut_up
from random_packets import PacketMaker

BATCH = 2000
MAX_BODY = 65_536
INFLATING = {ErrorCode.INFLATE_FAILED, ErrorCode.INFLATE_LIMIT}
peer = None  # Each process has its own.


class Difference(Exception):
    """The two implementations, and their differences."""


class Case:
    """A stream, and the earlier state of its receiver."""

    def __init__(self, sender, phase, limit, split, data):
        self.sender, self.phase, self.limit, self.split, self.data = sender, phase, limit, split, data

    def line(self):
        return f"read {self.sender} {self.phase} {self.limit} {self.split} {self.data.hex()}"

    def pieces(self):
        """The result of this implementation: (header, value) pairs, and the final error."""
        handshake = self.phase == "handshake"
        features = Features.ZLIB if self.phase == "zlib" else Features(0)
        receiver = Receiver(
            self.sender, not handshake, HANDSHAKE_MAX_BODY if handshake else self.limit, features)
        found = []
        try:
            for part in (self.data[: self.split], self.data[self.split :]):
                receiver.framer.feed(part)
                while (frame := receiver.next()) is not None:
                    found.append((frame.header, frame.value))
            receiver.framer.finish()
        except WireError as error:
            return found, error
        return found, None


def shown(header, value):
    """A frame in the notation of the other implementation."""
    fields = f"{header.type:x}.{header.session:x}.{header.sequence:x}.{header.timestamp:x}.{header.flags:x}." \
             f"{header.compression:x}.{header.minor:x}"
    if value is None:
        return f"skipped:{fields}"
    if isinstance(value, bytes):
        return f"fragment:{fields}:{value.hex()}"
    if isinstance(value, WireError):
        return f"refused:{fields}:{value.code:x}:{value.scope}"
    return f"value:{fields}:{value.encoded().hex()}"


def agreed(case, answer):
    """The results of both implementations for a case, or None if they are equal."""
    found, error = case.pieces()
    mine = [shown(*piece) for piece in found] + ([f"error:{error.code:x}:{error.at:x}"] if error else [])
    theirs = answer.split()
    if mine == theirs:
        return mine
    faults = [piece[1] for piece in found] + ([error] if error else [])
    for fault, one, other in zip(faults, mine, theirs):
        if one == other or isinstance(fault, Body) and is_same(case, fault, one, other):
            continue
        if not isinstance(fault, WireError) or not is_choice(case, fault, other):
            return None
        if "error" in (one.split(":")[0], other.split(":")[0]):
            # A fault that ends the connection may replace one of a smaller scope. No frame follows it.
            return mine
    return mine if len(mine) == len(theirs) else None


def is_same(case, value, one, other):
    """Whether `other` is the same value, with its fields in any order."""
    start, kind = one.rsplit(":", 1)[0], int(one.split(":")[1].split(".")[0], 16)
    return other.startswith(start + ":") and decode(kind, bytes.fromhex(other.rsplit(":", 1)[1]), case.sender) == value


def is_choice(case, fault, other):
    """Whether `other` is one of the permitted faults."""
    name, *rest = other.split(":")
    if name not in ("error", "refused"):
        return False
    code, scope = (rest[0], "connection") if name == "error" else rest[1:]
    if name == "error" and int(rest[1], 16) != fault.at:
        return False
    code = ErrorCode(int(code, 16))
    return fault.also.get(code) == scope or {code, fault.code} == INFLATING and is_damaged(case.data[fault.at + 28 :])


def is_damaged(body):
    """Whether the faults are both permitted for a compressed body that is damaged and too long (W-19)."""
    stream = zlib.decompressobj()
    try:
        stream.decompress(body)
    except zlib.error:
        return True
    return not stream.eof or bool(stream.unused_data)


class Batch:
    """`count` frames of one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.maker = Maker(self.random)
        self.counts = Counter()

    def case(self, sender, data):
        """A frame or a stream, and a phase that usually permits its first frame."""
        kind, length = int.from_bytes(data[6:8], "big"), int.from_bytes(data[20:24], "big")
        pick = self.random.random()
        phase = "handshake" if 0x4001 <= kind <= 0x4003 and pick > 0.05 else "zlib" if pick > 0.1 else "plain"
        limit = MAX_BODY
        if 0.5 < pick < 0.55 and length:
            size = length
            if data[17:18] == b"\x01":
                size = max(len(inflated(data[28 : 28 + length])), length)
            limit = min(max(size - (pick < 0.52), 1), MAX_BODY)
        return Case(sender, phase, limit, self.random.randrange(len(data) + 1), data)

    def compare(self, cases):
        for case, answer in zip(cases, peer.ask([case.line() for case in cases], len(cases))):
            mine = agreed(case, answer)
            if mine is None:
                found, error = case.pieces()
                raise Difference(
                    f"{case.line()}\nhere:\n  {[shown(*piece) for piece in found]} {error} "
                    f"{error and [code.wire_name for code in error.also]}\nthere:\n  {answer}")
            for piece in mine:
                name, *rest = piece.split(":")
                code = rest[0] if name == "error" else rest[1] if name == "refused" else None
                self.counts[f"{name} {ErrorCode(int(code, 16)).wire_name}" if code else name] += 1

    def made_here(self, count):
        cases = []
        while count > 0:
            if self.random.random() < 0.1:
                sender, frames = self.maker.stream(min(count, self.random.randrange(2, 6)))
                cases.append(self.case(sender, b"".join(frames)))
                count -= len(frames)
            else:
                sender, data = self.maker.frame()
                cases.append(self.case(sender, cut_up(self.maker, data)))
                count -= 1
        self.compare(cases)

    def made_there(self, count):
        """Checks that each implementation parses Martlet's frames and their encoding to the same values."""
        lines = peer.ask([f"make {self.random.getrandbits(64)} {count}"], count)
        cases, originals = [], []
        for line in lines:
            sender, text = line.split()
            data = bytes.fromhex(text)
            found, error = Case(sender, "plain", MAX_BODY, 0, data).pieces()
            if error or len(found) != 1 or not isinstance(found[0][1], Body):
                raise Difference(f"not read here: {line}: {found} {error}")
            header, value = found[0]
            body = value.encoded()
            if body != data[28:]:
                cases.append(Case(sender, "plain", MAX_BODY, 0, header.encoded(body) + body))
                originals.append(f"{shown(header, value).rsplit(':', 1)[0]}:{data[28:].hex()}")
        for case, original, answer in zip(cases, originals, peer.ask([case.line() for case in cases], len(cases))):
            if answer != original:
                raise Difference(f"written here {case.line()}\nmeant {original}\nread there as {answer}")
        self.counts["value, made there"] += count
        self.compare([self.case(sender, self.resealed(bytes.fromhex(text))) for sender, text in map(str.split, lines)])

    def packed(self, count):
        """Checks that each implementation parses the packets of the other to the same frames."""
        while count > 0:
            deflates = self.random.random() < 0.5
            features = "compact,sharedDeflate" if deflates else "compact"
            maker, writer = PacketMaker(self.maker), PacketWriter(deflates)
            batches = [maker.frames(self.random.randrange(1, 12)) for _ in range(self.random.randrange(1, 40))]
            data = b"".join(
                writer.pack(batch, self.random.random() < 0.9) + (writer.end() if deflates and pick < 0.05 else b"")
                for batch in batches for pick in [self.random.random()])
            asked = [f"unpack {features} {MAX_BODY} {data.hex()}"]
            asked.append(f"pack {features} " + " ".join(",".join(frame.hex() for frame in batch) for batch in batches))
            mine, (theirs, packed) = unpacked(data, deflates), peer.ask(asked, 2)
            if [bytes.fromhex(frame) for frame in theirs.split() if ":" not in frame] != mine or "error" in theirs:
                raise Difference(f"{asked[0]}\nhere:\n  {[frame.hex() for frame in mine]}\nthere:\n  {theirs}")
            frames = [frame for batch in batches for frame in batch]
            if [timeless(frame) for frame in unpacked(bytes.fromhex(packed), deflates)] != list(map(timeless, frames)):
                raise Difference(f"{asked[1]}\npacked there as {packed}")
            self.counts["frame, packed"] += len(frames)
            count -= len(frames)

    def resealed(self, data):
        """A frame with a changed body and a valid checksum."""
        body = self.maker.changed(data[28:])
        header = Header.parse(data[:28])
        return header.encoded(body) + body


def unpacked(data, deflated):
    """The frames that packets represent."""
    framer = Framer(MAX_BODY, zlib_allowed=True)
    framer.packets = PacketReader(deflated)
    framer.feed(data)
    frames = []
    while (frame := framer.next()) is not None:
        frames.append(frame.header.encoded(frame.body) + frame.body)
    framer.finish()
    return frames


def timeless(frame):
    """A frame without its timestamp and its checksum, because a writer of packets may omit timestamps."""
    return frame[:12] + frame[16:24] + frame[28:]


def inflated(body):
    try:
        return zlib.decompressobj().decompress(body, MAX_BODY)
    except zlib.error:
        return b""


def start(tool):
    global peer
    peer = Peer(tool)


def run(task):
    """The counts of a batch, and its difference if there is one."""
    seed, number, count = task
    batch = Batch(f"{seed}.{number}")
    try:
        batch.made_here(count - count // 2)
        batch.made_there(count // 4)
        batch.packed(count // 4)
    except Difference as difference:
        return batch.counts, f"batch {number} of seed {seed}: the implementations differ about\n  {difference}"
    return batch.counts, None


def main():
    parser = argparse.ArgumentParser(description="Compares two implementations of the wire, frame by frame.")
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="BATCH")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("tool")
    arguments = parser.parse_args()
    began = time.monotonic()
    batches = range(-(-arguments.frames // BATCH)) if arguments.only is None else [arguments.only]
    tasks = [(arguments.seed, number, min(BATCH, arguments.frames - number * BATCH)) for number in batches]
    counts = Counter()
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), initializer=start, initargs=(arguments.tool,)) as pool:
        for found, difference in pool.map(run, tasks):
            if difference:
                pool.shutdown(cancel_futures=True)
                sys.exit(difference)
            counts += found
    if arguments.quiet:
        return
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{count:10,}  {name}")
    seconds, frames = time.monotonic() - began, sum(count for _, _, count in tasks)
    print(f"{frames:,} frames, no difference, {seconds:.1f} s, {frames / seconds:,.0f} a second, seed {arguments.seed}")


if __name__ == "__main__":
    main()
