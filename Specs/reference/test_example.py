#!/usr/bin/env python3
"""Parses the conversation of Specs/example.md, byte by byte as in the document."""

import re
import sys
import zlib
from pathlib import Path

from martlet_basics import WireError
from martlet_link import ReceiveWindow
from martlet_packets import PacketReader
from martlet_registry import CLIENT, SERVER, Features, FrameType
from martlet_wire import Receiver

TEXT = (Path(__file__).resolve().parent.parent / "example.md").read_text()
ROW = re.compile(r"^\| (.*) \| ([0-9, ]+) \| (\d+) \| 0x([0-9A-F]{8}) \|$", re.M)
PACKET_ROW = re.compile(r"^\| (\d+) \| ([\w, ]+) \| (\d+) \| (\d+) \|$", re.M)


def units():
    """The bytes of every frame and packet by its number."""
    found = {}
    for number, block in re.findall(r"^\*\*(\d+)\.\*\*.*?```\n(.*?)```", TEXT, re.M | re.S):
        digits = "".join(line.strip().split("  ")[0] for line in block.splitlines())
        found[int(number)] = bytes.fromhex(digits)
    return found


def check_packet(number, packet, frames, by_number, types):
    """The row of a packet lists its frames by number, or their types if they have no numbers."""
    listed, size, frames_size = next(row for n, *row in PACKET_ROW.findall(TEXT) if int(n) == number)
    if listed[0].isdigit():
        is_so = frames == [by_number[int(n)] for n in listed.split(", ")]
    else:
        is_so = types == listed.split(", ")
    if not is_so or (len(packet), sum(map(len, frames))) != (int(size), int(frames_size)):
        sys.exit(f"example.md: packet {number} is {len(packet)} bytes for {b''.join(frames).hex()}: {types}")


def main():
    by_number = units()
    read = 0
    windows = {}
    for who, numbers, length, checksum in ROW.findall(TEXT):
        numbers = [int(number) for number in numbers.split(",")]
        stream = b"".join(by_number[number] for number in numbers)
        sender = CLIENT if who.startswith("Alice") else SERVER
        packets = PacketReader() if "packets" in who else None
        is_established = "Bob" in who or packets is not None
        receiver = Receiver(sender, True, 65_536, Features.ZLIB) if is_established else Receiver(sender)
        conversation = "packets" if packets else "frames"
        try:
            for number in numbers:
                frames, types = packets.feed(by_number[number]) if packets else [by_number[number]], []
                receiver.framer.feed(b"".join(frames))
                for _ in frames:
                    frame = receiver.next()
                    if isinstance(frame.value, WireError):
                        raise frame.value
                    if frame.header.is_reliable and "Bob" not in who:
                        window = windows.setdefault((conversation, sender, frame.header.session), ReceiveWindow())
                        window.receive(frame.header.sequence)
                    types.append(FrameType(frame.header.type).name.lower())
                if packets:
                    check_packet(number, by_number[number], frames, by_number, types)
                read += 1
            receiver.framer.finish()
        except WireError as error:
            sys.exit(f"example.md: {who}: {number}: {error}")
        if len(stream) != int(length) or zlib.crc32(stream) != int(checksum, 16):
            sys.exit(f"example.md: {who}: {len(stream)} bytes with the sum {zlib.crc32(stream):08X}")
    if any(window.beyond for window in windows.values()):
        sys.exit("example.md: a sequence is missing")
    if read < len(by_number) - 1:
        sys.exit(f"example.md: {read} of {len(by_number)} frames and packets are in its last table")


if __name__ == "__main__":
    main()
