"""The baseline: one plain TCP connection with TCP_NODELAY to an echo server. There is no other attempt while the kernel
is connecting."""

import asyncio
import contextlib
import socket
import struct
import time

from air import SERVER
from flow import MESSAGE_BYTE_COUNT, Flow

PORT = 7007
RETRY = 1.0
SEND_BUFFER_BYTE_COUNT = 1 << 20


class TCPFlow(Flow):
    name = "TCP"

    def __init__(self, air):
        super().__init__()
        self.air = air
        self.unsent = bytearray()
        self.connection = None
        self.connects = 0
        self.failures = []
        self.retransmissions = 0
        self.longest_timeout = 0.0
        self.congestion_control = ""
        self.connection_retransmissions = 0
        self.round_trips = []
        self.tasks = []

    async def start(self):
        with self.air.net.inside():
            listener = socket.create_server((SERVER, PORT))
        listener.setblocking(False)
        self.tasks += [asyncio.create_task(self._serve(listener)), asyncio.create_task(self._run())]

    async def stop(self):
        self._note()
        for task in self.tasks:
            task.cancel()

    def write(self, data):
        self.unsent += data
        self._flush()

    def facts(self):
        trips = sorted(self.round_trips)
        return {
            "rttP50": 1000 * trips[len(trips) // 2] if trips else None,
            "reconnects": max(self.connects - 1, 0), "retransmissions": self.retransmissions,
            "longestTimeout": self.longest_timeout, "failures": self.failures,
            "congestionControl": self.congestion_control,
        }

    # The client

    async def _run(self):
        loop = asyncio.get_running_loop()
        while True:
            with self.air.client.inside():
                connection = socket.socket()
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # The buffer holds all messages of a run, so that they wait in the kernel.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTE_COUNT)
            self.congestion_control = connection.getsockopt(
                socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
            try:
                await loop.sock_connect(connection, (SERVER, PORT))
                self.connects += 1
                self.connection = connection
                self._flush()
                await self._read_echoes(connection)
            except OSError as error:
                self.failures.append(f"{time.monotonic():.3f} {error.strerror}")
            self._note()
            self.connection = None
            connection.close()
            await asyncio.sleep(RETRY)

    def _flush(self):
        """Writes as many bytes as the kernel accepts. Bytes of a connection that later fails are lost."""
        if self.connection and self.unsent:
            with contextlib.suppress(OSError):
                del self.unsent[:self.connection.send(self.unsent)]

    async def _read_echoes(self, connection):
        loop = asyncio.get_running_loop()
        buffer = bytearray()
        while data := await loop.sock_recv(connection, 65536):
            buffer += data
            while len(buffer) >= MESSAGE_BYTE_COUNT:
                self.round_trips.append(time.monotonic() - float(buffer[9:].split(b" ", 1)[0]))
                del buffer[:MESSAGE_BYTE_COUNT]
            self._flush()

    def sample(self):
        """Polls the timer of the connection at intervals, and writes pending bytes."""
        if not self.connection:
            return
        self._flush()
        info = struct.unpack_from("<8B24I", self.connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104))
        self.longest_timeout = max(self.longest_timeout, info[8] / 1e6)
        self.connection_retransmissions = info[31]

    def _note(self):
        self.sample()
        self.retransmissions += self.connection_retransmissions
        self.connection_retransmissions = 0

    # The echo server

    async def _serve(self, listener):
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            while True:
                connection, _ = await loop.sock_accept(listener)
                group.create_task(self._echo(connection))

    async def _echo(self, connection):
        loop = asyncio.get_running_loop()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        buffer, echoes = bytearray(), bytearray()
        with contextlib.suppress(OSError):
            while data := await loop.sock_recv(connection, 65536):
                now = time.monotonic()
                buffer += data
                while len(buffer) >= MESSAGE_BYTE_COUNT:
                    self.received(bytes(buffer[:MESSAGE_BYTE_COUNT]), now)
                    echoes += buffer[:MESSAGE_BYTE_COUNT]
                    del buffer[:MESSAGE_BYTE_COUNT]
                # The server never waits for the other direction, so that arrivals are visible at once.
                with contextlib.suppress(BlockingIOError):
                    del echoes[:connection.send(echoes)]
        connection.close()
