"""Scenarios about backups."""

import signal
import threading
import time

from programs import Failure, Listener, Load, Relay, Sender, check_once_in_order, random_file, wait_until


def backup_under_load(place):
    """Backups while clients send; each is restored to another folder."""
    relay = Relay(place)
    rooms = ["room1", "room2"] if place.is_quick else ["room1", "room2", "room3"]
    senders = {room: Sender(place, relay, room, f"sender-{room}") for room in rooms}
    listeners = {room: Listener(place, relay, room, "listener") for room in rooms}
    loads = [Load(sender, 0.005) for sender in senders.values()]
    uploads = Uploads(place, relay, 200_000 if place.is_quick else 2_000_000)
    rounds = 1 if place.is_quick else 4
    for number in range(rounds):
        goal = {room: len(listener.lines) + 50 for room, listener in listeners.items()}
        wait_until(lambda: all(len(listeners[room].lines) >= goal[room] for room in rooms), "more lines")
        count = len(uploads.done)
        wait_until(lambda: len(uploads.done) > count or uploads.failure, "one more attachment")
        before, files = {room: len(listeners[room].lines) for room in rooms}, list(uploads.done)
        backup = place.folder / f"backup{number}"
        if number == 0:
            kill_backup(place, relay, backup)
        place.succeed("store", "backup", relay.store, backup)
        place.succeed("store", "check", backup)
        place.check(True, "the backup passes `store check`")
        place.check(place.command("store", "backup", relay.store, backup).returncode == 73,
                    "a backup to an existing folder is refused")
        place.succeed("store", "restore", place.folder / f"restored{number}", backup)
        compare(place, number, senders, before, files)
    for load in loads:
        load.stop()
    uploads.stop()
    for room in rooms:
        senders[room].finish()
        listeners[room].wait_for(senders[room].written[-1])
        check_once_in_order(place, listeners[room].lines, [senders[room]], "readers miss nothing meanwhile")
    relay.stop()


def kill_backup(place, relay, backup):
    """Kills a backup. The next one replaces what it has left."""
    process = place.start([place.martlet, "store", "backup", relay.store, backup])
    partial = backup.with_name(f"{backup.name}.partial")
    while process.poll() is None and not (partial / "rooms.sqlite").exists():
        time.sleep(0.0005)
    process.kill()
    if process.wait() == -signal.SIGKILL:
        place.check(not backup.exists(), "a killed backup has not its name")


def compare(place, number, senders, before, files):
    """Starts a relay with a restored backup, and reads everything."""
    restored = Relay(place, store=f"restored{number}")
    for room, sender in senders.items():
        lines = restored.lines(room)
        place.check(len(lines) >= before[room], "every message accepted before the backup is in it",
                    f"{room}: {len(lines)} of {before[room]}")
        place.check(lines == sender.written[: len(lines)], "once, in order", room)
    for file in files:
        place.check(restored.download("files", file.name) == file.read_bytes(),
                    "attachments are identical", file.name)
    place.check(restored.stop() == 0, "a relay serves the restored store")


class Uploads:
    """Uploads of files, one after another, in a thread."""

    def __init__(self, place, relay, byte_count):
        self.place, self.relay, self.byte_count = place, relay, byte_count
        self.done, self.is_on, self.failure = [], True, None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        number = 0
        while self.is_on:
            number += 1
            file = random_file(self.place.folder / f"file{number}", self.byte_count)
            done = self.relay.upload(file, "files", "uploader")
            if done.returncode != 0:
                self.failure = done.stderr.decode()
                return
            self.done.append(file)
            time.sleep(0.2 if self.place.is_quick else 1)

    def stop(self):
        self.is_on = False
        self.thread.join()
        if self.failure:
            raise Failure(f"an upload failed: {self.failure}")


def restore_behind_clients(place):
    """A restored backup behind clients, whose cursors are beyond it."""
    relay = Relay(place)
    ada = Sender(place, relay, "lobby", "ada")
    away, ahead, live = (Listener(place, relay, "lobby", name) for name in ("away", "ahead", "live"))
    ada.write(50)
    for listener in (away, ahead, live):
        listener.wait_for("ada.50")
    away.stop()
    file = random_file(place.folder / "kept", 100_000)
    later = random_file(place.folder / "later", 100_000)
    place.check(relay.upload(file, "lobby", "uploader").returncode == 0, "attachments of the backup remain")
    backup = place.folder / "backup"
    place.succeed("store", "backup", relay.store, backup)
    ada.write(50)
    relay.upload(later, "lobby", "uploader")
    for listener in (ahead, live):
        listener.wait_for("ada.100")
    ahead.stop()
    place.check(place.command("store", "restore", relay.store, backup).returncode == 73,
                "no restore while a relay uses the store")
    relay.stop()
    ada.write(20)
    damaged = place.folder / "damaged"
    damage(place, backup, damaged)
    refused = place.command("store", "restore", relay.store, damaged)
    place.check(refused.returncode == 65 and refused.stdout, "a damaged backup is refused, with its faults")
    restored = place.command("store", "restore", relay.store, backup)
    place.check(restored.returncode == 0 and b"earlier rooms are in" in restored.stderr,
                "restored; the name of the earlier rooms is stated", restored.stderr)
    relay.start()
    ada.write(30)
    bob = Sender(place, relay, "lobby", "bob")
    bob.write(120)
    ada.finish()
    bob.finish()
    new = {*ada.written[100:], *bob.written}
    live.wait_for("bob.120")
    live.wait_for("ada.150")
    place.check(live.process.poll() is None, "a connected reader stays")
    for listener, lost, known in [(ahead, True, 100), (away, False, 50), (live, True, 100)]:
        name = listener.output.stem
        if listener is live:
            live.stop()
        else:
            listener.start("--until-idle", "1")
            code = listener.process.wait(60)
            place.check(code == (3 if lost else 0),
                        "a reader beyond the backup ends with 3" if lost else "a reader at the backup ends with 0",
                        f"{name}: {code}: {listener.tail()}")
        lines = listener.lines
        place.check(lines[:known] == ada.written[:known], "what was received remains", name)
        place.check(len(lines) == len(set(lines)) and set(lines[known:]) == new,
                    "everything new arrives once", f"{name}: {len(lines)} lines")
        place.check([line for line in lines[known:] if line.startswith("ada.")] == ada.written[100:], "in order")
        place.check((b"lost" in listener.log.read_bytes()) == lost, "the loss is reported where there is one",
                    f"{name}: {listener.tail()}")
    place.check(relay.download("lobby", "kept") == file.read_bytes(), "attachments of the backup remain")
    place.succeed("store", "check", relay.store)
    place.check(relay.stop() == 0, "the relay ends with 0")


def damage(place, backup, target):
    """Copies a backup, and changes a bit of an attachment."""
    place.succeed("store", "backup", backup, target)
    file = next(file for file in (target / "attachments").rglob("*") if file.is_file() and file.name != "lock")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
