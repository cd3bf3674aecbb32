#!/usr/bin/env python3
"""The TUN relay: reads packets from TUN devices and writes each back later, in order.

usage: delay.py < SETTINGS    one line of JSON; at the end of its input it prints its accuracy and exits

SETTINGS: {"seed": S, "server": ADDRESS, "tuns": [TUN, ...]}
TUN: {"descriptor": N, "name": NAME, "delay": MS, "jitter": MS, "rate": BITS/S}
A rate of 0 is no limit. Each direction of a device has its own queue: a packet waits until the previous ones have
passed the bottleneck, then for the delay, uniformly distributed in delay ± jitter, and never overtakes others. A packet
that would wait for the bottleneck for more than MAX_QUEUE is dropped, as by a router with a full buffer.
"""

import contextlib
import heapq
import json
import os
import random
import select
import socket
import sys
import time

sys.dont_write_bytecode = True

import sandbox

MAX_QUEUE = 2.0
MAX_PACKET_BYTE_COUNT = 65536
SAMPLE_COUNT = 100_000


class Way:
    """One direction of a device."""

    def __init__(self, settings, seed):
        self.delay, self.jitter = settings["delay"] / 1000, settings["jitter"] / 1000
        self.byte_rate = settings["rate"] / 8
        self.random = random.Random(seed)
        self.free_at = 0.0
        self.last_due = 0.0

    def due(self, now, byte_count):
        """The time at which a packet that arrives now has passed; None if the queue is full."""
        start = max(now, self.free_at)
        if start - now > MAX_QUEUE:
            return None
        self.free_at = start + (byte_count / self.byte_rate if self.byte_rate else 0)
        wait = self.delay + self.random.uniform(-self.jitter, self.jitter)
        self.last_due = max(self.last_due, self.free_at + wait)
        return self.last_due


class Relay:
    def __init__(self, settings):
        self.server = socket.inet_aton(settings["server"])
        self.ways = {}
        for tun in settings["tuns"]:
            for name in ("up", "down"):
                self.ways[tun["descriptor"], name] = Way(tun, f'{settings["seed"]}/{tun["name"]}/{name}')
        self.descriptors = [tun["descriptor"] for tun in settings["tuns"]]
        self.queue = []
        self.count = self.overflowed = 0
        self.lateness = []

    def run(self, control):
        while True:
            timeout = max(self.queue[0][0] - time.monotonic(), 0) if self.queue else None
            ready, _, _ = select.select([control, *self.descriptors], [], [], timeout)
            now = time.monotonic()
            for descriptor in ready:
                if descriptor == control:
                    return
                self.read(descriptor, now)
            self.write(time.monotonic())

    def read(self, descriptor, now):
        with contextlib.suppress(BlockingIOError):
            while True:
                packet = os.read(descriptor, MAX_PACKET_BYTE_COUNT)
                way = self.ways[descriptor, "up" if packet[16:20] == self.server else "down"]
                due = way.due(now, len(packet))
                if due is None:
                    self.overflowed += 1
                    continue
                self.count += 1
                heapq.heappush(self.queue, (due, self.count, descriptor, packet))

    def write(self, now):
        while self.queue and self.queue[0][0] <= now:
            due, _, descriptor, packet = heapq.heappop(self.queue)
            if len(self.lateness) < SAMPLE_COUNT:
                self.lateness.append(now - due)
            # The packet of a removed interface is discarded.
            with contextlib.suppress(OSError):
                os.write(descriptor, packet)

    def report(self):
        late = sorted(self.lateness) or [0.0]
        return {
            "packets": self.count, "overflowed": self.overflowed,
            "latenessP50": late[len(late) // 2], "latenessP99": late[len(late) * 99 // 100], "latenessMax": late[-1],
        }


def main():
    sandbox.be_punctual()
    relay = Relay(json.loads(sys.stdin.buffer.raw.read(1 << 20)))
    with contextlib.suppress(KeyboardInterrupt):
        relay.run(sys.stdin.fileno())
    print(json.dumps(relay.report()))


if __name__ == "__main__":
    main()
