#!/usr/bin/env python3
"""Flips every bit of every valid vector: the stream is refused, or gives the original result and no other.

Of streams of more than 1 KiB only some bits are flipped, all with --every-bit. With TOOL, martlet-lab, the same test
is applied to it.

usage: test_flips.py [--every-bit] [--verbose] [TOOL]
"""

import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from martlet_basics import WireError
from martlet_registry import CLIENT, Features
from martlet_wire import HANDSHAKE_MAX_BODY, Receiver
from peer import Peer
from test_vectors import DEFAULT_MAX_BODY, bytes_of, packet_framer

FOLDER = Path(__file__).resolve().parent.parent / "vectors"
SHORT = 1024
# The distance of the flipped bits of a long stream. It is no multiple of 8, so every bit of a byte is covered.
STRIDE = 509
EDGE = 8 * 64  # The first and the last bits of a long stream, all flipped.
SHARE = 20_000


class Stream:
    """One direction of a connection with a result without an error."""

    def __init__(self, name, sender, phase, limit, data):
        self.name, self.sender, self.phase, self.limit, self.data = name, sender, phase, limit, data

    def receiver(self):
        handshake = self.phase == "handshake"
        return Receiver(self.sender, not handshake, HANDSHAKE_MAX_BODY if handshake else self.limit,
                        Features.ZLIB if self.phase == "zlib" else Features(0))

    def bits(self, every):
        count = 8 * len(self.data)
        if every or len(self.data) <= SHORT:
            return range(count)
        return sorted({*range(EDGE), *range(EDGE, count, STRIDE), *range(count - EDGE, count)})

    def states(self):
        """The receiver before each frame, the offset of the frame, and the resulting frames."""
        receiver, found, at = self.receiver(), [], 0
        while at < len(self.data):
            size = 28 + int.from_bytes(self.data[at + 20 : at + 24], "big")
            before = receiver.copied(bytearray())
            receiver.framer.feed(self.data[at : at + size])
            found.append((before, at, receiver.next()))
            at += size
        return found

    def is_in_order(self):
        """Whether a receiver of one connection can process it. Only a link processes frames that overtake each other;
        another vector contains the same frames in order."""
        try:
            return bool(self.states())
        except WireError:
            return False

    def accepted(self, bits):
        """The bits that can be flipped without an error and that change the result. The expected result is empty."""
        states, wrong = self.states(), []
        before, at, frame = states[0]
        for bit in bits:
            while len(states) > 1 and states[1][1] <= bit // 8:
                before, at, frame = states.pop(1)
            rest = bytearray(self.data[at:])
            rest[bit // 8 - at] ^= 1 << bit % 8
            receiver = before.copied(rest)
            try:
                found = receiver.next()
                if found is None:
                    receiver.framer.finish()
                if found != frame:
                    wrong.append(bit)
            except WireError:
                pass
        return wrong

    def line(self, bits):
        chosen = "all" if isinstance(bits, range) else ",".join(map(str, bits))
        return f"flip {self.sender} {self.phase} {self.limit} {chosen} {self.data.hex()}"


class Packets(Stream):
    """The same after a welcome with `compact`. The compared frames are those of a complete packet, in the form of 3."""

    def __init__(self, name, vector):
        super().__init__(name, CLIENT, "packets", vector.get("maxBody", DEFAULT_MAX_BODY), bytes_of(vector["bytes"]))
        self.features = ",".join(vector["features"]) or "none"
        self.framer = packet_framer(vector)

    def frames_of(self, framer, data):
        framer.feed(data)
        frames = []
        while (frame := framer.next()) is not None:
            frames.append(frame)
        return frames

    def states(self):
        """The framer before each unit, the offset of the unit, and the resulting frames."""
        framer, found, at = self.framer, [], 0
        while at < len(self.data):
            head = None if self.data[at] == 0x8D else framer.packets.head(self.data[at : at + 2])
            size = head.packet_size if head else 28 + int.from_bytes(self.data[at + 20 : at + 24], "big")
            before, unit = framer.copied(bytearray()), self.data[at : at + size]
            found.append((before, at, (unit, self.frames_of(framer, unit))))
            at += size
        return found

    def accepted(self, bits):
        states, wrong = self.states(), []
        before, at, (unit, frames) = states[0]
        for bit in bits:
            while len(states) > 1 and states[1][1] <= bit // 8:
                before, at, (unit, frames) = states.pop(1)
            changed = bytearray(self.data[at:])
            changed[bit // 8 - at] ^= 1 << bit % 8
            framer, found, is_refused = before.copied(changed), [], False
            try:
                while (frame := framer.next()) is not None:
                    found.append(frame)
                framer.finish()
            except WireError:
                is_refused = True
            found = [frame for frame in found if frame.at == at]
            if (found or not is_refused) and (found != frames or not frames):
                wrong.append(bit)
        return wrong

    def line(self, bits):
        chosen = "all" if isinstance(bits, range) else ",".join(map(str, bits))
        return f"flip-packets {self.features} {self.limit} {chosen} {self.data.hex()}"


def good_streams():
    for path in sorted(FOLDER.glob("*.json")):
        for vector in json.loads(path.read_text())["vectors"]:
            if path.stem.startswith("packets-"):
                if vector["bytes"] and "error" not in vector:
                    yield Packets(f"{path.stem}: {vector['name']}", vector)
                continue
            name, given = f"{path.stem}: {vector['name']}", vector.get("given", {})
            phase = given.get("phase") or ("zlib" if given.get("zlib", True) else "plain")
            sender, limit = given.get("from", CLIENT), given.get("maxBody", DEFAULT_MAX_BODY)
            if "connection" in vector.get("steps", [{}])[0]:
                yield from conversation(name, vector["steps"])
            elif vector.get("bytes") and "error" not in vector:
                stream = Stream(name, sender, phase, limit, bytes_of(vector["bytes"]))
                if "frames" in vector or stream.is_in_order():
                    yield stream


def conversation(name, steps):
    streams = {}
    for step in steps:
        streams.setdefault((step["connection"], step["from"]), bytearray()).extend(bytes_of(step["bytes"]))
    for (connection, sender), data in streams.items():
        yield Stream(f"{name}, connection {connection}, {sender}", sender, "handshake", DEFAULT_MAX_BODY, bytes(data))


def share(task):
    stream, bits = task
    return stream.name, stream.accepted(bits)


def main():
    parser = argparse.ArgumentParser(description="Flips every bit of every good vector.")
    parser.add_argument("--every-bit", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("tool", nargs="?")
    arguments = parser.parse_args()
    chosen = [(stream, stream.bits(arguments.every_bit)) for stream in good_streams()]
    shares = [(stream, bits[i : i + SHARE]) for stream, bits in chosen for i in range(0, len(bits), SHARE)]
    wrong = []
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        wrong = [(name, bits) for name, bits in pool.map(share, shares, chunksize=8) if bits]
    if arguments.tool:
        answers = Peer(arguments.tool).ask([stream.line(bits) for stream, bits in chosen], len(chosen))
        wrong += [(f"{stream.name}, there", answer) for (stream, _), answer in zip(chosen, answers) if answer != "none"]
    for name, bits in wrong:
        print(f"{name}: accepted with a bit flipped: {bits}")
    if arguments.verbose:
        print(f"{sum(len(bits) for _, bits in chosen):,} bits of {len(chosen)} streams flipped, {len(wrong)} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
