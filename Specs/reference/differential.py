#!/usr/bin/env python3
"""Lets this implementation and Martlet's read the same frames and compares what each makes of them.

Half of the frames are made here (random_frames.py), half by Martlet, as many again of those are damaged. Every answer
must be the same: value for value, fault for fault, at the same byte; where W-8 lets a receiver choose among several
faults of a body, one of them.

usage: differential.py [--frames N] [--seed N] TOOL
"""

import argparse
import random
import subprocess
import sys
import time
import zlib
from collections import Counter

from martlet_frames import Body
from martlet_registry import ErrorCode, WireError
from martlet_wire import HANDSHAKE_MAX_BODY, Header, Receiver, decode
from random_frames import Maker, cut_up

BATCH = 2000
MAX_BODY = 65_536
INFLATING = {ErrorCode.INFLATE_FAILED, ErrorCode.INFLATE_LIMIT}


class Peer:
    """The other implementation, as a process that answers batches of lines."""

    def __init__(self, tool):
        self.process = subprocess.Popen([tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, lines, count):
        self.process.stdin.write("".join(line + "\n" for line in [*lines, "."]).encode())
        self.process.stdin.flush()
        answers = [self.process.stdout.readline().decode() for _ in range(count)]
        if not answers[-1].endswith("\n"):
            sys.exit(f"the other implementation ended, with status {self.process.wait()}")
        return [answer.strip() for answer in answers]

    def end(self):
        self.process.stdin.close()
        return self.process.wait()


class Case:
    """A stream, and what its receiver knows beforehand."""

    def __init__(self, sender, phase, limit, split, data):
        self.sender, self.phase, self.limit, self.split, self.data = sender, phase, limit, split, data

    def line(self):
        return f"read {self.sender} {self.phase} {self.limit} {self.split} {self.data.hex()}"

    def pieces(self):
        """What this implementation makes of it: (header, value) pairs, and the error that ends them."""
        handshake = self.phase == "handshake"
        receiver = Receiver(
            self.sender, not handshake, HANDSHAKE_MAX_BODY if handshake else self.limit, self.phase == "zlib")
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
    """A frame as the other side writes it."""
    fields = f"{header.type:x}.{header.session:x}.{header.sequence:x}.{header.timestamp:x}.{header.flags:x}." \
             f"{header.compression:x}.{header.minor:x}"
    if value is None:
        return f"skipped:{fields}"
    if isinstance(value, bytes):
        return f"fragment:{fields}:{value.hex()}"
    if isinstance(value, WireError):
        return f"refused:{fields}:{value.code:x}:{value.scope}"
    return f"value:{fields}:{value.encoded().hex()}"


def agree(case, answer):
    """Whether the other side's answer is one that this side would give."""
    found, error = case.pieces()
    mine = [shown(*piece) for piece in found] + ([f"error:{error.code:x}:{error.at:x}"] if error else [])
    theirs = answer.split()
    if mine == theirs:
        return mine
    if len(theirs) != len(mine):
        # A fault that ends the connection may stand for one that ends less, and the other way round; nothing follows.
        return mine if len(mine) == 1 and len(theirs) == 1 else None
    for i, (one, other) in enumerate(zip(mine, theirs)):
        fault = error if i == len(found) else found[i][1]
        if one != other and not is_same(case, fault, one, other):
            return None
    return mine


def is_same(case, fault, one, other):
    name, *rest = other.split(":")
    if isinstance(fault, WireError):
        code = ErrorCode(int(rest[0] if name == "error" else rest[1], 16))
        scope = "connection" if name == "error" else rest[2]
        return fault.also.get(code) == scope or {code, fault.code} == INFLATING and is_damaged(case.data[28:])
    if name == "value" and one.startswith(f"value:{rest[0]}:"):
        kind = int(rest[0].split(".")[0], 16)
        return plain(decode(kind, bytes.fromhex(rest[1]), case.sender)) == plain(fault)
    return False


def is_damaged(body):
    """A compressed body that is damaged and too long may be said to be either (W-19)."""
    stream = zlib.decompressobj()
    try:
        stream.decompress(body)
    except zlib.error:
        return True
    return not stream.eof or bool(stream.unused_data)


def plain(value):
    """A value without what means the same when it is missing."""
    shown_value = value.json()
    if shown_value.get("noLocal") == 0:
        del shown_value["noLocal"]
    return shown_value


class Run:
    """So many frames from one seed."""

    def __init__(self, peer, seed):
        self.peer = peer
        self.random = random.Random(seed)
        self.seed = seed
        self.maker = Maker(self.random)
        self.counts = Counter()

    def case(self, sender, data):
        kind = int.from_bytes(data[6:8], "big")
        pick = self.random.random()
        phase = "handshake" if 0x4001 <= kind <= 0x4003 and pick > 0.05 else "zlib" if pick > 0.1 else "plain"
        limit = len(data) - 28 - (pick < 0.52) if 0.5 < pick < 0.55 and len(data) > 29 else MAX_BODY
        return Case(sender, phase, limit, self.random.randrange(len(data) + 1), data)

    def compare(self, cases):
        for case, answer in zip(cases, self.peer.ask([case.line() for case in cases], len(cases))):
            mine = agree(case, answer)
            if mine is None:
                found, error = case.pieces()
                sys.exit(
                    f"seed {self.seed}: the implementations differ about\n  {case.line()}\nhere:\n  "
                    f"{[shown(*piece) for piece in found]} {error} {error and error.also}\nthere:\n  {answer}")
            for piece in mine:
                name, *rest = piece.split(":")
                code = rest[0] if name == "error" else rest[1] if name == "refused" else None
                self.counts[f"{name} {ErrorCode(int(code, 16)).wire_name}" if code else name] += 1

    def made_here(self, count):
        cases = []
        for _ in range(count):
            sender, data = self.maker.frame()
            cases.append(self.case(sender, cut_up(self.maker, data)))
        self.compare(cases)

    def made_there(self, count):
        """Their frames must be read here, and what is written here of them must be read there as what they wrote."""
        lines = self.peer.ask([f"make {self.random.getrandbits(64)} {count}"], count)
        cases, originals = [], []
        for line in lines:
            sender, text = line.split()
            data = bytes.fromhex(text)
            found, error = Case(sender, "plain", MAX_BODY, 0, data).pieces()
            if error or len(found) != 1 or not isinstance(found[0][1], Body):
                sys.exit(f"seed {self.seed}: not read here: {line}: {found} {error}")
            header, value = found[0]
            body = value.encoded()
            if body != data[28:]:
                cases.append(Case(sender, "plain", MAX_BODY, 0, header.encoded(body) + body))
                originals.append(f"{shown(header, value).rsplit(':', 1)[0]}:{data[28:].hex()}")
        for case, original, answer in zip(cases, originals, self.peer.ask([c.line() for c in cases], len(cases) or 0)):
            if answer != original:
                sys.exit(f"seed {self.seed}: written here {case.line()}\nmeant {original}\nread there as {answer}")
        self.counts["value, made there"] += count
        damaged = []
        for line in lines:
            sender, text = line.split()
            damaged.append(self.case(sender, self.resealed(bytes.fromhex(text))))
        self.compare(damaged)

    def resealed(self, data):
        """A frame with something changed in its body and a checksum that is right."""
        body = self.maker.damaged(data[28:])
        header = Header.parse(data[:28])
        return header.encoded(body) + body


def main():
    parser = argparse.ArgumentParser(description="Compares two implementations of the wire, frame by frame.")
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("tool")
    arguments = parser.parse_args()
    began = time.monotonic()
    run = Run(Peer(arguments.tool), arguments.seed)
    done = 0
    while done < arguments.frames:
        count = min(BATCH, arguments.frames - done)
        run.made_here(count - count // 2)
        run.made_there(count // 4)
        done += count
    status = run.peer.end()
    for name, count in sorted(run.counts.items(), key=lambda item: -item[1]):
        print(f"{count:10,}  {name}")
    print(f"{done:,} frames, no difference, {time.monotonic() - began:.1f} s (seed {arguments.seed})")
    sys.exit(status)


if __name__ == "__main__":
    main()
