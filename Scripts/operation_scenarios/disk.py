"""Scenarios about the disk of a store."""

import os
import signal
import subprocess
import time

from faults import Faults
from programs import Failure, Listener, Relay, Sender, Unavailable, check_once_in_order, random_file, wait_until

MIB = 1 << 20
# The reserve is an eighth of it by default.
DISK_BYTES = 32 * MIB


def mount(place):
    """Mounts a small file system on the folder `disk`, which ends with the mount namespace."""
    if not place.has_mounts:
        raise Unavailable("`unshare --mount` is not permitted")
    folder = place.folder / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", folder], capture_output=True)
    if done.returncode != 0:
        raise Unavailable(f"no mount: {done.stderr.decode()}")
    place.at_end(lambda: subprocess.run(["umount", "--lazy", folder]))
    return folder


def remount(folder, option):
    done = subprocess.run(["mount", "-o", f"remount,{option}", folder], capture_output=True)
    if done.returncode != 0:
        raise Failure(f"no remount: {done.stderr.decode()}")


def free_bytes(folder):
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def fill(folder, free):
    """Leaves `free` bytes free."""
    with (folder / "other").open("ab") as file:
        try:
            while free_bytes(folder) > free:
                file.write(bytes(min(free_bytes(folder) - free, 256 << 10) or 1))
                file.flush()
        except OSError:
            pass  # It is full.


def full(place):
    """A disk that becomes full in steps while clients send, and is freed."""
    folder = mount(place)
    relay = Relay(place, store="disk/store")
    listener = Listener(place, relay, "lobby", "listener")
    queued = Sender(place, relay, "lobby", "queued")
    direct = Sender(place, relay, "lobby", "direct", has_outbox=False)
    senders = [queued, direct]

    def write(count):
        for sender in senders:
            sender.write(count)

    def arrive(text):
        for sender in senders:
            listener.wait_for(sender.written[-1])
        place.check(True, text)

    write(20)
    arrive("messages on an ample disk")
    small, big = random_file(place.folder / "small", 100_000), random_file(place.folder / "big", MIB)
    place.check(relay.upload(small, "files", "uploader").returncode == 0, "attachments on an ample disk")

    mark = relay.mark()
    fill(folder, 7 * MIB)
    relay.wait_for("diskSpace", mark, level="low")
    place.check(True, "the log warns before")
    place.check(relay.upload(random_file(place.folder / "low", 1000), "files", "uploader").returncode == 0,
                "attachments while space is low")

    mark = relay.mark()
    fill(folder, 3 * MIB)
    relay.wait_for("diskSpace", mark, level="reserved")
    refused = relay.upload(big, "files", "uploader")
    place.check(refused.returncode == 1 and b"no room for attachments" in refused.stderr,
                "attachments do not use the reserve and are refused with the reason", refused.stderr)
    write(20)
    arrive("messages use the reserve")

    mark = relay.mark()
    fill(folder, MIB // 2)
    relay.wait_for("diskSpace", mark, level="exhausted")
    check_waiting(place, relay, senders, write)
    place.check(relay.lines("lobby") == listener.lines, "readers read while messages are refused")

    fill(folder, 0)
    write(20)
    stay(place, relay, "the relay lives on a disk without a free byte")
    relay.send(signal.SIGKILL)
    relay.process.wait()
    restart_on_full_disk(place, relay)
    write(20)

    mark = relay.mark()
    (folder / "other").unlink()
    for sender in senders:
        sender.finish()
        listener.wait_for(sender.written[-1])
    check_once_in_order(place, listener.lines, senders, "after it is freed everything arrives once, in order")
    place.check(relay.upload(big, "files", "uploader").returncode == 0, "attachments are accepted again")
    place.check(relay.download("files", "big") == big.read_bytes(), "attachments are identical")
    place.check(relay.stop() == 0, "the relay ends with 0")
    place.succeed("store", "check", relay.store)
    place.check(True, "the store passes `store check`")


def check_waiting(place, relay, senders, write):
    """Messages that the store refuses wait, and their senders state why."""
    write(20)
    trial = place.command("send", *relay.to("lobby", "trial"), input=b"", wrapper=["timeout", "4"])
    place.check(trial.returncode == 0, "a sender without lines is not concerned")
    trial = place.command("send", *relay.to("trial", "trial"), "--outbox", place.folder / "trial.outbox",
                          input=b"trial.1\n", wrapper=["timeout", "-s", "INT", "5"])
    place.check(b"cannot be stored" in trial.stderr, "a waiting sender states the reason", trial.stderr)
    for sender in senders:
        place.check(sender.process.poll() is None, "senders wait", sender.tail())


def stay(place, relay, text, seconds=3):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        place.check(relay.process.poll() is None, text, relay.tail())
        time.sleep(0.1)


def restart_on_full_disk(place, relay):
    """A relay that is started on a full disk serves, or states the reason and ends with 73."""
    try:
        relay.start()
        place.check(True, "a relay starts on a full disk")
    except Failure:
        place.check(relay.process.returncode == 73, "a relay does not start on a full disk: 73", relay.tail())
        place.check("full" in relay.tail(), "and states the reason", relay.tail())


def read_only(place):
    """A file system that becomes read-only under a relay and between two lives, and is writable again."""
    folder = mount(place)
    faults = Faults(place, folder)
    relay = Relay(place, store="disk/store", env=faults.environment)
    listener = Listener(place, relay, "lobby", "listener")
    queued = Sender(place, relay, "lobby", "queued")
    direct = Sender(place, relay, "lobby", "direct", has_outbox=False)
    senders = [queued, direct]

    def write(count):
        for sender in senders:
            sender.write(count)

    write(20)
    for sender in senders:
        listener.wait_for(sender.written[-1])
    file = random_file(place.folder / "file", 100_000)
    place.check(relay.upload(file, "files", "uploader").returncode == 0, "attachments before")
    mark = relay.mark()
    faults.change(is_read_only=True)
    check_waiting(place, relay, senders, write)
    relay.wait_for("storeFailed", mark)
    place.check(True, "the log states it")
    place.check(relay.lines("lobby") == listener.lines, "readers read")
    waiting = relay.upload(
        random_file(place.folder / "other", 100_000), "files", "uploader", wrapper=["timeout", "-s", "INT", "5"])
    place.check(b"cannot be stored" in waiting.stderr, "a waiting upload states the reason", waiting.stderr)
    mark = relay.mark()
    faults.change(is_read_only=False)
    for sender in senders:
        listener.wait_for(sender.written[-1])
    relay.wait_for("storeRecovered", mark)
    place.check(True, "writable again: the log states it, waiting messages arrive")
    place.check(relay.upload(place.folder / "other", "files", "uploader").returncode == 0, "attachments after")

    relay.stop()
    remount(folder, "ro")
    write(20)
    mark = relay.mark()
    try:
        relay.start()
    except Failure:
        pass
    place.check(relay.process.wait(10) == 73, "a relay does not start on a read-only file system: 73", relay.tail())
    failed = relay.events(mark)
    place.check(any(each["event"] == "startFailed" and "only" in each["error"] for each in failed),
                "and states the reason", failed)
    place.succeed("store", "check", relay.store)
    place.succeed("store", "backup", relay.store, place.folder / "backup")
    place.check(True, "`store check` and `backup` read a read-only store")
    remount(folder, "rw")
    relay.start()
    for sender in senders:
        sender.finish()
        listener.wait_for(sender.written[-1])
    check_once_in_order(place, listener.lines, senders)
    for name in ("file", "other"):
        place.check(relay.download("files", name) == (place.folder / name).read_bytes(), "attachments are identical")
    place.check(relay.stop() == 0, "the relay ends with 0")
    place.succeed("store", "check", relay.store)
