"""The scenario about a service manager: a small parent that speaks the protocols of systemd."""

import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

from programs import Failure, Relay, Unavailable, wait_until

WATCHDOG_SECONDS = 1.0
PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 17, 0x4206, 0x4207, 0x40000000
# Starts a program with the sockets 3 and later. LISTEN_PID is known only in the new process.
ACTIVATE = [sys.executable, "-c",
            "import os, sys; os.environ['LISTEN_PID'] = str(os.getpid()); os.execv(sys.argv[1], sys.argv[1:])"]


class Manager:
    """The socket of notifications."""

    def __init__(self, address):
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address[0] == "@" else address)
        self.environment = os.environ | {"NOTIFY_SOCKET": address}

    def next(self, seconds=20, ignored="WATCHDOG=1"):
        """The next notification; none after some seconds."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                text = self.socket.recv(4096).decode()
            except TimeoutError:
                break
            if text != ignored:
                return text
        return None


def systemd(place):
    """Notifications, the watchdog of a loop that hangs, sockets of the manager, and lines for the journal."""
    if sys.platform != "linux":
        raise Unavailable("systemd is a part of Linux")
    notifications(place)
    watchdog(place)
    activation(place)
    journal(place)
    unit(place)


def unit(place):
    """The exposure of the unit, where the analysis of systemd is installed: at most 2.0 of 10."""
    if shutil.which("systemd-analyze"):
        path = pathlib.Path(__file__).resolve().parents[2] / "Packaging" / "martlet-relay.service"
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", path],
                              capture_output=True, text=True)
        place.check(done.returncode == 0, "the unit is confined", done.stdout[-100:] + done.stderr)


def notifications(place):
    for number, address in enumerate([str(place.folder / "notify"), f"@martlet-{os.getpid()}-{time.time_ns()}"]):
        manager = Manager(address)
        relay = Relay(place, store=f"notified-{number}", env=manager.environment)
        place.check(manager.next() == "READY=1", "READY=1 after the relay listens", address)
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        place.check(relay.reload()["event"] == "reloaded", "the relay reloads")
        text = manager.next()
        place.check(text is not None and text.startswith("RELOADING=1\nMONOTONIC_USEC=")
                    and now <= int(text.split("=")[-1]) <= now + 20_000_000, "RELOADING=1 with the time", text)
        place.check(manager.next() == "READY=1", "READY=1 after a reload")
        place.check(relay.stop() == 0 and manager.next() == "STOPPING=1", "STOPPING=1 before the drain")


def watchdog(place):
    manager = Manager(str(place.folder / "watchdog"))
    environment = manager.environment | {"WATCHDOG_USEC": str(int(WATCHDOG_SECONDS * 1e6))}
    relay = Relay(place, "--loops", "2", store="watched", env=environment)
    place.check(manager.next() == "READY=1", "READY=1 after the relay listens")
    for _ in range(3):
        place.check(manager.next(WATCHDOG_SECONDS, None) == "WATCHDOG=1", "WATCHDOG=1 within the interval")
    for thread in loops(relay):
        trace(place, PTRACE_SEIZE, thread)
        trace(place, PTRACE_INTERRUPT, thread)
        os.waitpid(thread, WALL)
        while manager.next(0.1, None):  # sent before the thread was stopped
            pass
        place.check(manager.next(2 * WATCHDOG_SECONDS, None) is None, "no WATCHDOG=1 while a loop hangs", thread)
        trace(place, PTRACE_DETACH, thread)
        place.check(manager.next(20, None) == "WATCHDOG=1", "and again when it continues")
    place.check(relay.stop() == 0, "the relay ends with 0")


def loops(relay):
    """The threads of the relay's loops."""
    tasks = pathlib.Path(f"/proc/{relay.process.pid}/task")
    found = [int(task.name) for task in tasks.iterdir()
             if (task / "comm").read_text().startswith("martlet-relay")]
    if len(found) != 2:
        raise Failure(f"the loops of the relay are {found}")
    return found


def trace(place, request, thread):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(request, thread, None, None) != 0:
        raise Unavailable(f"a thread cannot be stopped: {os.strerror(ctypes.get_errno())}")


def activation(place):
    """The relay takes the sockets; they listen on after its end, and the next relay serves their connections."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    ports = [each.getsockname()[1] for each in sockets]
    # One of the sockets can have the number 3, 4 or 5, which is overwritten.
    copies = [os.dup(each.fileno()) for each in sockets]

    def inherit():
        high = [os.dup2(each, 100 + index, inheritable=False) for index, each in enumerate(copies)]
        for index, each in enumerate(high):
            os.dup2(each, 3 + index)

    environment = os.environ | {"LISTEN_FDS": "3", "LISTEN_FDNAMES": "martlet.socket:admin:martlet.socket"}
    more = {"env": environment, "preexec_fn": inherit, "close_fds": False, "wrapper": ACTIVATE}
    relay, mark = Relay(place, store="activated", **more), 0
    for _ in range(2):
        # The last line of a start.
        relay.wait_for("adminListening", mark)
        listening = [each["port"] for each in relay.events(mark) if each["event"] == "listening"]
        place.check(listening == [ports[0], ports[2]], "the relay listens at the sockets of the manager", listening)
        for port in listening:
            relay.port = port
            done = place.command("send", *relay.to("lobby", "ada"), "--timeout", "20", input=b"line\n")
            place.check(done.returncode == 0, "and serves their clients", done)
        with urllib.request.urlopen(f"http://127.0.0.1:{ports[1]}/health/ready", timeout=20) as answer:
            place.check(answer.status == 200, "the socket of the name admin is that of --admin")
        place.check(relay.stop() == 0, "the relay ends with 0")
        # A connection between two relays waits in the backlog.
        socket.create_connection(("127.0.0.1", ports[0]), timeout=5).close()
        place.check(True, "the sockets listen on after its end")
        mark = relay.mark()
        relay.start()
    relay.stop()
    relay.more = more | {"env": environment | {"LISTEN_FDS": "4"}}
    done = subprocess.run([str(word) for word in relay.command], capture_output=True, stdin=subprocess.DEVNULL,
                          env=relay.more["env"], preexec_fn=inherit, close_fds=False, timeout=20)
    place.check(done.returncode == 73 and b"startFailed" in done.stdout, "a descriptor without a socket is an error",
                done)


def journal(place):
    """Lines for the journal have a priority and no time, also those of a level of their own."""
    path = place.folder / "journal"
    with path.open("wb") as log:
        status = os.fstat(log.fileno())
        for stream, prefix in [(f"{status.st_dev}:{status.st_ino}", "<6>listening "), ("1:2", "20")]:
            log.truncate(0)
            log.seek(0)
            process = place.start(
                [place.martlet, "serve", "--allow-all", "--listen", "0"], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, env=os.environ | {"JOURNAL_STREAM": stream})
            process.stdout.readline()
            wait_until(lambda: reloads(process, path), "the line about a reload")
            process.terminate()
            place.check(process.wait(20) == 0, "the relay ends with 0")
            lines = path.read_text().splitlines()
            place.check(lines and all(line.startswith(prefix[:2]) for line in lines) and lines[0].startswith(prefix),
                        "lines for the journal have a priority and no time, others a time", lines)


def reloads(process, path):
    process.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    return "reloaded" in path.read_text()
