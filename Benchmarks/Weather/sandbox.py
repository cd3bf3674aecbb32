"""Isolation that ends with the run: all processes are below the first process of a PID namespace, which the kernel ends
with that process; unnamed network namespaces end with the last process that uses them."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys

CLONE_NEWNS = 0x00020000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
NICENESS = -10

libc = ctypes.CDLL(None, use_errno=True)


class NotPermitted(Exception):
    """The system does not permit namespaces, or a required operation in them."""


def enter():
    """Returns in the first process of a new PID namespace. The calling process waits for its end and exits with its
    code."""
    call("unshare", CLONE_NEWPID | CLONE_NEWNS)
    child = os.fork()
    if child == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # A terminal interrupts the waiting process, which forwards the signal.
        os.setsid()
        # The process needs the /proc of its own namespace.
        call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
        call("mount", b"proc", b"/proc", b"proc", 0, None)
        # The first process of a PID namespace receives only signals with a handler.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 70)


def be_punctual():
    """Schedules this process before all others, because its actions need little processor time but must be punctual.

    The priority applies to commands that are started here. The process waits until they have begun.
    """
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    # On kernels that first divide time between sessions, the session of this process has a higher share.
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as file:
        file.write(str(NICENESS))


def usual(*words):
    """The words of a command that runs with the default priority of programs."""
    return ["chrt", "--other", "0", "nice", "-n", str(NICENESS), *words]


class Namespace:
    """A network namespace, held by its descriptor."""

    def __init__(self):
        with outside():
            call("unshare", CLONE_NEWNET)
            self.descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY)

    @contextlib.contextmanager
    def inside(self):
        """A context in which new sockets and devices belong to the namespace."""
        with outside():
            call("setns", self.descriptor, CLONE_NEWNET)
            yield

    def command(self, *words):
        """The words of a command that runs in the namespace; `descriptor` must be inherited."""
        return ["nsenter", f"--net=/proc/self/fd/{self.descriptor}", "--", *words]

    def run(self, *words, text=None, also=()):
        """Runs a command to its end; `also` are other namespaces whose descriptors it uses."""
        result = subprocess.run(
            self.command(*words), input=text, text=True, capture_output=True,
            pass_fds=[self.descriptor, *(other.descriptor for other in also)])
        if result.returncode != 0:
            raise NotPermitted(f"{words[0]}: {result.stderr.strip().splitlines()[0] if result.stderr else 'failed'}")
        return result.stdout

    def set(self, values):
        """Sets parameters of the kernel by name."""
        with self.inside():
            for name, value in values.items():
                try:
                    with open("/proc/sys/" + name.replace(".", "/"), "w") as file:
                        file.write(str(value))
                except OSError as error:
                    raise NotPermitted(f"{name}={value}: {error.strerror}") from None


@contextlib.contextmanager
def outside():
    """Returns to the original namespace."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        yield
    finally:
        call("setns", home, CLONE_NEWNET)
        os.close(home)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        raise NotPermitted(f"{name}: {os.strerror(ctypes.get_errno())}")
