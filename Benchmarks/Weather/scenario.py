"""The faults of a scenario, and the messages: both flows use the same path at the same time."""

import asyncio
import contextlib
import dataclasses
import itertools
import time

from flow import WARM_UP
from martlet_flow import MartletFlow
from tcp_flow import TCPFlow

INTERVAL = 0.5
WARM_UP_TIMEOUT = 20


@dataclasses.dataclass(frozen=True)
class Weather:
    """One run of one scenario."""

    kind: str
    name: str
    seconds: float
    # For each packet of each direction.
    loss: float = 0.0
    # For each direction, in milliseconds.
    delay: float = 100.0
    jitter: float = 20.0
    # In bits per second, 0 for no limit.
    rate: int = 0
    # The durations of an outage and of the time between outages.
    dark: float = 0.0
    light: float = 0.0


class Run:
    """The flows of a scenario, and its instants."""

    def __init__(self, weather, air, program, capture=None, certificates=None):
        self.weather = weather
        self.air = air
        self.flows = [MartletFlow(air, program, capture, certificates), TCPFlow(air)]
        self.began = self.ended = self.finished = 0.0
        # The beginning and the end of each outage.
        self.outages = []
        self.packets = {}
        # The delays of the benchmark itself in sending messages.
        self.lateness = []

    async def start(self):
        """Connects both flows, and waits for a message of each."""
        if self.weather.kind == "switch":
            await self.air.interface("wwan0", True)
        for flow in self.flows:
            await flow.start()
            flow.send(WARM_UP)
        end = time.monotonic() + WARM_UP_TIMEOUT
        while not all(flow.is_warm for flow in self.flows):
            if time.monotonic() > end:
                cold = next(flow for flow in self.flows if not flow.is_warm)
                raise RuntimeError(f"{self.weather.name}: {cold.name} does not get through fair weather")
            await asyncio.sleep(0.05)

    async def play(self, offset, drain):
        """Runs the faults, then waits until all messages have arrived, at most `drain` seconds."""
        await asyncio.sleep(offset)
        await self.air.weather("wlan0", loss=self.weather.loss)
        await self.air.weather("wwan0", loss=self.weather.loss)
        await self.air.packets()
        self.began = time.monotonic()
        self.flows[0].weather_begins()
        sending = asyncio.create_task(self._send())
        try:
            await {"black hole": self._black_holes, "switch": self._switches}.get(self.weather.kind, self._rest)()
        finally:
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sending
        self.packets = await self.air.packets()
        await self.air.weather("wlan0", loss=0, is_dark=False)
        await self.air.weather("wwan0", loss=0, is_dark=False)
        self.ended = time.monotonic()
        await self._drain(drain)
        self.finished = time.monotonic()

    async def stop(self):
        for flow in self.flows:
            with contextlib.suppress(Exception):
                await flow.stop()

    async def _send(self):
        for index in itertools.count():
            due = self.began + index * INTERVAL
            await asyncio.sleep(max(due - time.monotonic(), 0))
            self.lateness.append(time.monotonic() - due)
            for flow in self.flows:
                flow.send(index)
                flow.sample()

    async def _drain(self, limit):
        finishing = asyncio.create_task(self.flows[0].finish(limit))
        while time.monotonic() < self.ended + limit:
            if all(len(flow.came) >= len(flow.sent) for flow in self.flows):
                break
            for flow in self.flows:
                flow.sample()
            await asyncio.sleep(0.1)
        await finishing

    # Faults during the messages

    async def _rest(self):
        await asyncio.sleep(max(self.began + self.weather.seconds - time.monotonic(), 0))

    async def _black_holes(self):
        """Drops all packets for a while, repeatedly, at different phases of periodic behavior."""
        for number in range(self._repeats()):
            await asyncio.sleep(self.weather.light + number * 0.37 % 1)
            gone = time.monotonic()
            await self.air.weather("wlan0", is_dark=True)
            await asyncio.sleep(self.weather.dark)
            self.outages.append((gone, time.monotonic(), f"black hole of {self.weather.dark:g} s"))
            await self.air.weather("wlan0", is_dark=False)
        await asyncio.sleep(self.weather.light)

    async def _switches(self):
        """Leaving home and returning: Wi-Fi fades and ends, cellular takes over; later the reverse."""
        for number in range(self._repeats()):
            old, new = ("wlan0", "wwan0") if number % 2 == 0 else ("wwan0", "wlan0")
            await asyncio.sleep(self.weather.light + number * 0.37 % 1)
            gone = time.monotonic()
            await self.air.weather(old, is_dark=True)
            await asyncio.sleep(self.weather.dark)
            # Cellular is available all the time; Wi-Fi appears.
            self.outages.append((gone, time.monotonic(), "to Wi-Fi" if new == "wlan0" else "to cellular"))
            if new == "wlan0":
                await self.air.interface("wlan0", True)
            await self.air.interface(old, False)
            await asyncio.sleep(self.weather.light / 2)
            await self.air.weather(old, is_dark=False)
            if old == "wwan0":
                await self.air.interface("wwan0", True)
        await asyncio.sleep(self.weather.light)

    def _repeats(self):
        period = self.weather.dark + self.weather.light * (1.5 if self.weather.kind == "switch" else 1) + 0.5
        return max(int((self.weather.seconds - self.weather.light) / period), 1)
