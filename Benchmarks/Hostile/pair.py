"""A regular pair in a separate process: a publisher and a reader of one room, and the latency of each message.

A message is due every 10 ms, even if the previous one has not arrived, and its latency is measured from that time. A
relay that stalls for a second therefore delays a hundred messages, not one.
"""

import os
import select
import signal
import socket
import time
from typing import NamedTuple

from client import Client, Unexpected
from martlet_basics import WireError
from martlet_bodies import Opened
from martlet_frames import Data
from martlet_registry import ContentKind, Tag
from martlet_tlv import tlv
from password_client import PasswordClient

INTERVAL = 0.01
ROOM = "honest"
DRAIN_SECONDS = 20
PUBLISHER, READER = "honest-publisher", "honest-reader"


class Report(NamedTuple):
    samples: list  # (when it was due, latency in seconds)
    sent: int
    lost: int  # Never delivered, or never accepted.
    repeated: int  # Delivered twice, or out of order.
    ends: list  # Why the relay ended a connection of the pair, each time.


class Member(Client):
    """A device whose link is resumed when its connection ends."""

    def __init__(self, port, account):
        super().__init__(port, account, "")
        self.cursor, self.ends = 0, []

    def connect(self, *arguments, **more):
        welcome = super().connect(*arguments, **more)
        # Nagle's algorithm would wait for the acknowledgement of the previous message.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return welcome

    def begin(self):
        self.connect()
        self.open(1, ROOM, self.cursor)
        self.wait_for(Opened, 1)

    def take_what_came(self):
        """Reads once from a readable socket."""
        try:
            data = self.socket.recv(65_536)
        except OSError as error:
            return self.come_back(str(error))
        if not data:
            return self.come_back("end of stream")
        self.receiver.framer.feed(data)
        while (frame := self.receiver.next_bytes()) is not None:
            self.take(*frame)
        self.acknowledge()

    def come_back(self, why):
        codes = [str(getattr(value, "code", "")) for _, value in self.events if type(value).__name__ == "GoAway"]
        self.ends.append(codes[0] if codes else why)
        self.events.clear()
        self.socket.close()
        try:
            self.connect()
        except (Unexpected, OSError):
            self.socket.close()
            self.forget()
            self.begin()
            for message in self.outbox.values():
                self.send(1, message)

    def say(self, *arguments, **more):
        try:
            super().say(*arguments, **more)
        except OSError:
            pass  # The next read finds the end.

    def post_message(self):
        self.counter += 1
        text = b"m" * 50
        self.outbox[self.counter] = Data(counter=self.counter, kind=ContentKind.TEXT, content=tlv(Tag.TEXT, text))
        try:
            self.send(1, self.outbox[self.counter])
        except OSError:
            pass  # As above.

    def taken(self):
        """The received messages."""
        found = [value for _, value in self.events if isinstance(value, Data)]
        self.events.clear()
        return found


class PasswordMember(Member, PasswordClient):
    """A member that signs in by a password."""

    def __init__(self, port, account, password):
        super().__init__(port, account)
        self.password = password


def talk(port, results, begun, ended, password):
    """Sends messages until `ended`, and puts a report into `results`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if password:
        publisher, reader = (PasswordMember(port, account, password) for account in (PUBLISHER, READER))
    else:
        publisher, reader = Member(port, PUBLISHER), Member(port, READER)
    reader.begin()
    publisher.begin()
    begun.set()
    due, samples, heard, repeated = {}, [], set(), 0
    next_due, give_up = time.monotonic(), None
    while True:
        now = time.monotonic()
        if ended.is_set():
            give_up = give_up or now + DRAIN_SECONDS
            if now > give_up or len(heard) == len(due) and not publisher.outbox:
                break
        elif now >= next_due:
            due[publisher.counter + 1] = next_due
            next_due += INTERVAL
            publisher.post_message()
            continue
        wait = INTERVAL if give_up else max(next_due - now, 0)
        readable, _, _ = select.select([publisher.socket, reader.socket], [], [], wait)
        now = time.monotonic()
        for member in (reader, publisher):
            if member.socket not in readable:
                continue
            try:
                member.take_what_came()
            except (WireError, Unexpected) as error:
                member.come_back(f"{type(error).__name__}: {error}")
        for value in reader.taken():
            if value.counter in heard or value.offset <= reader.cursor:
                repeated += 1
                continue
            reader.cursor = value.offset
            heard.add(value.counter)
            samples.append((due[value.counter], now - due[value.counter]))
        publisher.taken()
    lost = len(set(due) - heard) + len(publisher.outbox)
    results.put(Report(samples, len(due), lost, repeated, publisher.ends + reader.ends))
    results.close()
    results.join_thread()
    os._exit(0)
