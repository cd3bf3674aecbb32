"""The client of Specs/reference under the contract of README.md: reference.py HOST PORT

The client waits for expected frames and has no timers; what a program with losses needs besides is here.
"""

import os
import random
import select
import socket
import sys
import time
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference"))

from client import TEXT, Client, Unexpected  # noqa: E402
from martlet_basics import Scope, WireError  # noqa: E402
from martlet_bodies import (  # noqa: E402
    Accepted, Ack, Close, Gap, GoAway, Opened, Ping, Pong, Reject, Reset, Resume, Suspend,
)
from martlet_frames import Data, Receipt  # noqa: E402
from martlet_registry import ErrorCode as E  # noqa: E402
from martlet_registry import Features, FrameType, Tag  # noqa: E402
from martlet_tlv import tlv  # noqa: E402

STOPS = (E.FORBIDDEN, E.REVOKED, E.REPLACED, E.UNSUPPORTED_VERSION)
GIVES_UP = (E.ROOM_FORBIDDEN, E.FORBIDDEN, E.KICKED, E.TOO_MANY_ROOMS, E.ROOM_FULL, E.UNSUPPORTED_KIND)
LONGEST, PROBE, BURST, UNKNOWN = 12_000, 1, 100, 32


class Ended(Exception):
    """The connection has ended, with the code of a reject or a goaway or without one."""

    def __init__(self, code=None, retry_after=0, redirect=None):
        super().__init__(code)
        self.code, self.retry_after, self.redirect = code, (retry_after or 0) / 1000, redirect


class Chat(Client):
    """A client with an outbox, a cursor and one room."""
    offered = Features.ZLIB

    def __init__(self, port, account, token, room):
        super().__init__(port, account, token)
        self.room, self.cursor, self.log, self.failed = room, 0, None, False
        self.input, self.has_input = b"", True

    def forget(self):
        super().forget()
        self.number, self.ended, self.used, self.credit = -1, set(), {0: 0}, {}
        self.todo, self.is_held, self.reopen_at = deque(), False, None

    # The connection.

    def run(self):
        """Connects until all is accepted or the relay refuses for good; returns the status of the program."""
        failures, refusals, port = 0, 0, self.port
        while True:
            try:
                self.pings = self.unknown = self.probes = 0
                self.begin()
                failures = refusals = 0
                return self.converse()
            except Ended as end:
                self.socket.close()
                refusals += end.code == E.UNAUTHENTICATED
                if end.code in STOPS or refusals > 1:
                    return 77
                failures += 1
                self.port = int(end.redirect.rpartition(":")[2]) if end.redirect else port
                time.sleep(end.retry_after + random.uniform(0, min(24, 0.25 * 2**failures)))

    def begin(self):
        """Makes a connection, resumes the link or begins a new link, and opens the room."""
        try:
            try:
                self.connect()
            except Ended as end:
                if end.code != E.RESUME_REJECTED:
                    raise
                self.forget()
                self.greet()
            if self.number < 0:
                self.enter()
        except Unexpected:
            self.breaks(E.PROTOCOL_VIOLATION)
        except WireError as fault:
            self.breaks(fault.code)
        except OSError:
            raise Ended from None

    def breaks(self, code):
        """Ends the connection because of a fault of the relay. Unread bytes would make the close a reset, which can
        overtake goaway."""
        try:
            self.say(GoAway(code=code))
            self.socket.shutdown(socket.SHUT_WR)
            self.socket.settimeout(1)
            while self.socket.recv(65_536):
                pass
        except OSError:
            pass
        raise Ended

    def enter(self):
        """Opens the room on another session; unaccepted messages are published again."""
        self.number += 2
        self.used[self.number], self.is_held, self.reopen_at = 0, False, None
        self.open(self.number, self.room, self.cursor, log=self.log)
        self.todo = deque(self.outbox.values())

    def converse(self):
        while self.has_input or self.outbox:
            self.serve(0.1)
        if self.number in self.sessions:
            self.send(self.number, Close())
        self.say(GoAway(code=0))
        return int(self.failed)

    def serve(self, seconds):
        """Takes what arrives on the carrier and on standard input, and sends what credit permits."""
        try:
            ready = select.select([self.socket, *[0] * self.has_input], [], [], seconds)[0]
            if 0 in ready:
                self.read()
            if self.socket in ready:
                self.receive()
            self.publish()
            self.probe()
            if self.reopen_at and time.monotonic() >= self.reopen_at:
                self.enter()
        except WireError as fault:
            self.breaks(fault.code)
        except OSError:
            raise Ended from None

    def read(self):
        data = os.read(0, 65_536)
        self.has_input = bool(data)
        *lines, self.input = (self.input + data).split(b"\n")
        for line in lines:
            for at in range(0, len(line), LONGEST):
                self.counter += 1
                content = tlv(Tag.TEXT, line[at : at + LONGEST])
                self.outbox[self.counter] = Data(counter=self.counter, kind=TEXT, content=content)
                self.todo.append(self.outbox[self.counter])

    def receive(self):
        data = self.socket.recv(65_536)
        if not data:
            raise Ended
        self.receiver.framer.feed(data)
        try:
            while (frame := self.receiver.next_bytes()) is not None:
                self.take(*frame)
        finally:
            self.events.clear()
        self.acknowledge()

    def publish(self):
        """W-52: within the credit of the link and of the session."""
        while self.todo and not self.is_held and self.number in self.sessions:
            size = len(self.todo[0].encoded())
            session = self.credit.get(self.number, self.limits.session_window)
            if self.used[self.number] + size > session or sum(self.used.values()) + size > self.link_credit():
                return
            self.used[self.number] += size
            self.send(self.number, self.todo.popleft())

    def link_credit(self):
        return max(self.credit.get("link", 0), self.limits.link_window)

    def probe(self):
        """S-27 to S-29, S-41: a ping after a second without an acknowledgement, and twice as long for each further."""
        waits = any(session.unacknowledged for session in self.sessions.values()) or self.todo and not self.is_held
        if not waits or not self.probes and not self.since:
            self.since, self.probes = time.monotonic() if waits else None, 0
        elif time.monotonic() - self.since > PROBE * 2**self.probes:
            if self.probes == 3:
                raise Ended
            self.probes, self.since = self.probes + 1, time.monotonic()
            self.say(Ping(nonce=self.probes), ack_now=True)

    since = None

    # Frames.

    def take(self, header, body, at):
        if body is None:
            self.unknown += 1
            if self.unknown > UNKNOWN:
                raise WireError(E.UNKNOWN_FLOOD)
            if header.is_reliable and header.session in self.sessions:
                self.sessions[header.session].receiver.window.receive(header.sequence)
                self.sessions[header.session].receiver._next += 1
                self.sessions[header.session].is_told = False
        elif header.is_reliable and header.session not in self.sessions:
            self.refuse(header)
        else:
            try:
                super().take(header, body, at)
            except WireError as fault:
                if fault.scope != Scope.MESSAGE:
                    raise
                self.cursor += 1

    def refuse(self, header):
        """S-2, S-14, S-15."""
        if header.session not in self.ended:
            self.ended.add(header.session)
            opens = header.type == FrameType.OPEN
            self.send(0, Reset(session=header.session, code=E.UNSUPPORTED_KIND if opens else E.UNKNOWN_SESSION))

    def took(self, header, value):
        if isinstance(value, Ping):
            self.pings += 1
            if self.pings > BURST:
                raise WireError(E.CONTROL_FLOOD)
            for session in self.sessions.values() if header.flags & 4 else ():
                session.is_told = False
            self.acknowledge()
        super().took(header, value)
        acts = {Data: self.print, Gap: self.skip, Opened: self.opened, Receipt: self.receipt, Reset: self.reset_by,
                Reject: self.left, GoAway: self.left, Ack: self.granted, Pong: self.probed, Accepted: self.progress,
                Suspend: lambda value: setattr(self, "is_held", True),
                Resume: lambda value: setattr(self, "is_held", False)}
        if type(value) in acts and (header.session in (0, self.number)):
            acts[type(value)](value)

    def acknowledged(self, number, cumulative, ranges=()):
        try:
            super().acknowledged(number, cumulative, ranges)
        except Unexpected:
            raise WireError(E.ACK_UNSENT) from None

    def print(self, message):
        if message.offset > self.cursor:
            self.cursor = message.offset
            if (message.sender, message.device) != (self.account, self.device):
                sys.stdout.write(message.content[6 : 6 + int.from_bytes(message.content[2:6], "big")].decode() + "\n")
                sys.stdout.flush()

    def skip(self, gap):
        self.cursor = max(self.cursor, gap.up_to)

    def opened(self, opened):
        """R-12."""
        is_another = self.log not in (None, opened.log)
        self.log, self.cursor = opened.log, 0 if is_another else min(self.cursor, opened.head)

    def receipt(self, receipt):
        if receipt.receipt_kind == 3 and self.outbox.pop(receipt.counter, None):
            self.failed = True

    def reset_by(self, reset):
        """S-11, S-12, R-13, S-64."""
        session = self.sessions.pop(reset.session, None)
        self.ended.add(reset.session)
        if session is None:
            return
        self.credit_received += max(0, (reset.credit_used or 0) - session.credit_received)
        if session.unacknowledged:
            self.send(0, Reset(session=reset.session, code=reset.code, credit_used=self.used[reset.session]))
        if reset.code in GIVES_UP:
            self.outbox, self.failed = {}, True
        else:
            self.reopen_at = time.monotonic() + (reset.retry_after or 0) / 1000 + random.uniform(0, 1)

    def left(self, end):
        self.events.clear()
        raise Ended(end.code, end.retry_after, end.redirect)

    def granted(self, ack):
        self.since, self.probes = None, 0
        self.credit["link"] = max(ack.link_credit, self.credit.get("link", 0))
        for each in ack.session_ack:
            self.credit[each.session] = max(each.credit, self.credit.get(each.session, 0))

    def probed(self, pong):
        self.gone.clear()
        self.transmit()
        self.since = None

    def progress(self, accepted):
        self.since = None


def main(make, port):
    """Runs a client of the variables in the environment."""
    names = ("MARTLET_ACCOUNT", "MARTLET_TOKEN", "MARTLET_ROOM")
    return make(int(port), *(os.environ[name] for name in names)).run()


if __name__ == "__main__":
    sys.exit(main(Chat, sys.argv[2]))
