"""What is certain to be gone afterwards: all runs below the first process of a PID namespace, which the kernel empties
when that process ends, however it ends; network namespaces without names go with the last that holds them."""

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
    """The system does not let us have namespaces, or what we need inside them."""


def enter():
    """Returns in the first process of a new PID namespace; the process that called waits and ends as that one does."""
    call("unshare", CLONE_NEWPID | CLONE_NEWNS)
    child = os.fork()
    if child == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # A terminal interrupts the one who waits, and that one tells.
        os.setsid()
        # A process that looks for itself in /proc has to find itself there.
        call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
        call("mount", b"proc", b"/proc", b"proc", 0, None)
        # The first process of a PID namespace gets only the signals that it asked for.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 70)


def be_punctual():
    """Whatever else the machine does, what is due is due: little of the processor is needed, but at once.

    So it is for commands that this process starts: it stands still until they have begun.
    """
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    # Where the kernel divides time between sessions first, ours is to have its share.
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as file:
        file.write(str(NICENESS))


def usual(*words):
    """The words of a command that runs as programs do, but before what else the machine does."""
    return ["chrt", "--other", "0", "nice", "-n", str(NICENESS), *words]


class Namespace:
    """A network namespace, held by its descriptor."""

    def __init__(self):
        with outside():
            call("unshare", CLONE_NEWNET)
            self.descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY)

    @contextlib.contextmanager
    def inside(self):
        """What is opened in here belongs to the namespace."""
        with outside():
            call("setns", self.descriptor, CLONE_NEWNET)
            yield

    def command(self, *words):
        """The words of a command that runs in the namespace; `descriptor` has to be passed on to it."""
        return ["nsenter", f"--net=/proc/self/fd/{self.descriptor}", "--", *words]

    def run(self, *words, text=None, also=()):
        """Runs a command to its end; `also` are other namespaces that it names by their descriptors."""
        result = subprocess.run(
            self.command(*words), input=text, text=True, capture_output=True,
            pass_fds=[self.descriptor, *(other.descriptor for other in also)])
        if result.returncode != 0:
            raise NotPermitted(f"{words[0]}: {result.stderr.strip().splitlines()[0] if result.stderr else 'failed'}")
        return result.stdout

    def set(self, values):
        """Sets the kernel's parameters of these names."""
        with self.inside():
            for name, value in values.items():
                try:
                    with open("/proc/sys/" + name.replace(".", "/"), "w") as file:
                        file.write(str(value))
                except OSError as error:
                    raise NotPermitted(f"{name}={value}: {error.strerror}") from None


@contextlib.contextmanager
def outside():
    """Comes back to the namespace that it began in."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        yield
    finally:
        call("setns", home, CLONE_NEWNET)
        os.close(home)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        raise NotPermitted(f"{name}: {os.strerror(ctypes.get_errno())}")
