#!/usr/bin/env python3
"""Reads the conversation of Specs/example.md, byte by byte as it stands there."""

import re
import sys
import zlib
from pathlib import Path

from martlet_link import ReceiveWindow
from martlet_registry import CLIENT, SERVER, Features, WireError
from martlet_wire import Receiver

TEXT = (Path(__file__).resolve().parent.parent / "example.md").read_text()
ROW = re.compile(r"^\| (.*) \| ([0-9, ]+) \| (\d+) \| 0x([0-9A-F]{8}) \|$", re.M)


def frames():
    """The bytes of every frame by its number."""
    found = {}
    for number, block in re.findall(r"^\*\*(\d+)\.\*\*.*?```\n(.*?)```", TEXT, re.M | re.S):
        digits = "".join(line.strip().split("  ")[0] for line in block.splitlines())
        found[int(number)] = bytes.fromhex(digits)
    return found


def main():
    by_number = frames()
    read = 0
    windows = {}
    for who, numbers, length, checksum in ROW.findall(TEXT):
        numbers = [int(number) for number in numbers.split(",")]
        stream = b"".join(by_number[number] for number in numbers)
        sender = CLIENT if who.startswith("Alice") else SERVER
        receiver = Receiver(sender)
        if "Bob" in who:
            receiver.establish(65_536, Features.ZLIB)
        try:
            receiver.framer.feed(stream)
            for number in numbers:
                frame = receiver.next()
                if isinstance(frame.value, WireError):
                    raise frame.value
                if frame.header.is_reliable and "Bob" not in who:
                    window = windows.setdefault((sender, frame.header.session), ReceiveWindow())
                    window.receive(frame.header.sequence)
                read += 1
            receiver.framer.finish()
        except WireError as error:
            sys.exit(f"example.md: {who}: frame {number}: {error}")
        if len(stream) != int(length) or zlib.crc32(stream) != int(checksum, 16):
            sys.exit(f"example.md: {who}: {len(stream)} bytes with the sum {zlib.crc32(stream):08X}")
    if any(window.beyond for window in windows.values()):
        sys.exit("example.md: a sequence is missing")
    if read < len(by_number) - 1:
        sys.exit(f"example.md: {read} of {len(by_number)} frames are in its last table")


if __name__ == "__main__":
    main()
