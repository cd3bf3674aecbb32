"""The flow of Martlet: `martlet send` in the namespace of the client, `martlet serve` and `martlet listen` in the
other."""

import asyncio
import contextlib
import json
import signal
import time

import sandbox
from air import SERVER
from flow import Flow

PORT = 7227
START_TIMEOUT = 10


class MartletFlow(Flow):
    name = "martlet"

    def __init__(self, air, program, capture=None, certificates=None):
        super().__init__()
        self.air = air
        self.program = program
        self.capture = capture
        # The folder of `martlet dev-cert`; None without TLS.
        self.certificates = certificates
        self.tasks = []
        self.processes = {}
        self.progress = {}
        # (seconds, the state of the sender's connection) at each change.
        self.states = []
        # (seconds, a line of the relay's log)
        self.relay_events = []
        self.offline_since = None
        self.offline_spells = []
        self.exit_code = None
        self.complaints = []

    async def start(self):
        if self.capture:
            await self._spawn(self.air.client, "capture", "tcpdump", "-i", "wlan0", "-s", "0", "-U", "-w", self.capture)
        certificates, serve, client = self.certificates, ["--plaintext"], ["--plaintext"]
        if certificates:
            serve = ["--certificate", f"{certificates}/server.pem", "--key", f"{certificates}/server.key"]
            client = ["--trust", f"{certificates}/ca.pem"]
        await self._martlet(self.air.net, "serve", "--listen", f"{SERVER}:{PORT}", "--allow-all", "--json", *serve)
        await self._until(lambda: any(event["event"] == "listening" for _, event in self.relay_events), "serve")
        client += ["--to", f"martlet{'s' if certificates else ''}://{SERVER}:{PORT}", "--room", "weather"]
        await self._martlet(self.air.net, "listen", *client, "--account", "listener", "--from", "start")
        await self._martlet(self.air.client, "send", *client, "--account", "sender", "--progress", "json")

    async def _martlet(self, namespace, command, *options):
        process = await self._spawn(namespace, command, self.program, command, *options)
        reader = {"serve": self._read_log, "listen": self._read_lines, "send": self._read_nothing}[command]
        self.tasks.append(asyncio.create_task(reader(process.stdout)))
        errors = self._read_progress if command == "send" else self._read_complaints
        self.tasks.append(asyncio.create_task(errors(process.stderr)))

    async def _spawn(self, namespace, name, *words):
        process = await asyncio.create_subprocess_exec(
            *namespace.command(*sandbox.usual(*words)), pass_fds=[namespace.descriptor], stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        self.processes[name] = process
        return process

    async def _until(self, condition, what):
        end = time.monotonic() + START_TIMEOUT
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"martlet {what} does not start: {' '.join(self.complaints)}")
            await asyncio.sleep(0.02)

    def weather_begins(self):
        """Discards earlier records."""
        self.offline_spells.clear()

    def write(self, data):
        self.processes["send"].stdin.write(data)

    async def finish(self, timeout):
        """Ends the input. The sender ends when the relay has accepted all lines."""
        sender = self.processes["send"]
        sender.stdin.close()
        with contextlib.suppress(asyncio.TimeoutError):
            self.exit_code = await asyncio.wait_for(sender.wait(), timeout)

    async def stop(self):
        if self.offline_since is not None:
            self._is_online(True, time.monotonic())
        for name in ("send", "listen", "serve", "capture"):
            process = self.processes.get(name)
            if process and process.returncode is None:
                process.send_signal(signal.SIGINT)
                try:
                    await asyncio.wait_for(process.wait(), 3)
                except asyncio.TimeoutError:
                    process.kill()
                    await process.wait()
        await asyncio.wait(self.tasks, timeout=1)
        for task in self.tasks:
            task.cancel()

    def sample(self):
        pass

    # Output of the processes

    async def _read_lines(self, stream):
        while line := await stream.readline():
            self.received(line, time.monotonic())

    async def _read_log(self, stream):
        while line := await stream.readline():
            self.relay_events.append((time.monotonic(), json.loads(line)))

    async def _read_progress(self, stream):
        while line := await stream.readline():
            now = time.monotonic()
            if not line.startswith(b"{"):
                self.complaints.append(line.decode(errors="replace").strip())
                continue
            self.progress = json.loads(line)
            if not self.states or self.states[-1][1] != self.progress["status"]:
                self.states.append((now, self.progress["status"]))
            self._is_online(self.progress["online"], now)

    def _is_online(self, is_online, now):
        if not is_online and self.offline_since is None:
            self.offline_since = now
        if is_online and self.offline_since is not None:
            self.offline_spells.append(now - self.offline_since)
            self.offline_since = None

    async def _read_complaints(self, stream):
        while line := await stream.readline():
            self.complaints.append(line.decode(errors="replace").strip())

    async def _read_nothing(self, stream):
        while await stream.read(65536):
            pass

    def facts(self):
        keys = ("reconnects", "resumes", "retransmissions", "rttP50", "rttP99", "bytesSent", "bytesReceived")
        return {key: self.progress.get(key) for key in keys} | {
            "offline": sum(self.offline_spells), "offlineSpells": self.offline_spells, "exitCode": self.exit_code,
            "states": self.states, "relay": self.relay_events, "complaints": self.complaints,
        }
