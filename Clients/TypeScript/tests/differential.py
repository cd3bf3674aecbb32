#!/usr/bin/env python3
"""Compares the wire of this client with the reference in Python, frame by frame, as Specs/reference/differential.py.

This client reads frames and packets; it does not make them at random. Half of the frames are single frames and streams,
the others are packets.

usage: differential.py [FRAMES [SEED]]
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../Specs/reference"))

import differential  # noqa: E402
from martlet_packets import PacketWriter  # noqa: E402
from random_packets import PacketMaker  # noqa: E402


def agreed(case, answer, original=differential.agreed):
    """As in the reference, which checks the order of fragments in step 5 of W-8. This client does in step 9."""
    mine = original(case, answer)
    if mine is not None:
        return mine
    found, error = case.pieces()
    here = [differential.shown(*piece) for piece in found]
    if error and error.code.wire_name == "protocolViolation":
        if any(answer.split() == [*here, f"error:{code}:{error.at:x}"] for code in ("10e", "10f")):
            return here
    return None


differential.agreed = agreed


class Batch(differential.Batch):
    def packed(self, count):
        """Checks that the packets of the reference are read to the same frames."""
        lines, expected = [], []
        while count > 0:
            deflates = self.random.random() < 0.5
            maker, writer = PacketMaker(self.maker), PacketWriter(deflates)
            batches = [maker.frames(self.random.randrange(1, 12)) for _ in range(self.random.randrange(1, 40))]
            data = b"".join(writer.pack(batch, self.random.random() < 0.9) for batch in batches)
            features = "compact,sharedDeflate" if deflates else "compact"
            lines.append(f"unpack {features} {differential.MAX_BODY} {data.hex()}")
            expected.append(" ".join(frame.hex() for frame in differential.unpacked(data, deflates)))
            count -= sum(map(len, batches))
        for line, mine, theirs in zip(lines, expected, differential.peer.ask(lines, len(lines))):
            if mine != theirs:
                raise differential.Difference(f"{line}\nhere:\n  {mine}\nthere:\n  {theirs}")
            self.counts["frame, packed"] += mine.count(" ") + 1


def main():
    frames, seed = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000, sys.argv[2] if len(sys.argv) > 2 else "1"
    differential.start(os.path.join(HERE, "differential-peer.mjs"))
    total = 0
    for number in range(-(-frames // differential.BATCH)):
        batch = Batch(f"{seed}.{number}")
        try:
            batch.made_here(differential.BATCH // 2)
            batch.packed(differential.BATCH // 2)
        except differential.Difference as difference:
            sys.exit(f"batch {number} of seed {seed}: the implementations differ about\n  {difference}")
        total += differential.BATCH
    differential.peer.end()
    print(f"{total:,} frames, no difference to the reference in Python, seed {seed}")


if __name__ == "__main__":
    main()
