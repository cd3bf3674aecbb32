"""Attacks on the memory of a relay: rooms, logs, links without a connection, gaps, readers that do not read."""

import itertools
import time

from attack import Attack
from links import opening
from martlet_bodies import GoAway, HelloResume, Ping
from martlet_frames import Request
from martlet_registry import FrameType
from martlet_tlv import tlv
from martlet_wire import encode
from peer import MORE, Gone, cut, dialled, frame_bytes, hello, text_of

KIB, MIB = 1 << 10, 1 << 20
SMALL_BUFFER = 16 * KIB
SELECTED = 900  # Sockets that a process has, so that `select` takes all.
PIECE = bytes([2]) * (16 * KIB)
FILE_KIND = 3


def with_credit(link, session, count):
    while link.room_for(session) < count and link.is_on():
        link.turn(0.02)


def one_message_in_each_room(attacker):
    """60 KB in each of many rooms without members; 90 rooms on each link."""
    attacker.begin()
    rooms = itertools.count()
    while attacker.is_on():
        try:
            link = attacker.link(account="scatterer")
            for number in range(90):
                session = 2 * number + 1
                link.send(link.open_frame(session, f"room-{attacker.number}-{next(rooms)}", FILE_KIND))
                with_credit(link, session, 62_000)
                link.send(link.text(session, 60_000))
                attacker.tally["rooms"] += 1
            link.until(lambda: link.seen[FrameType.ACCEPTED] >= 90, 3)
            link.leave()
        except (Gone, OSError) as why:
            attacker.ended(why)


def much_in_one_room(attacker):
    """Messages of 60 KB in one room."""
    def say(link):
        link.open(1, f"much-{attacker.number}", FILE_KIND)
        while True:
            with_credit(link, 1, 62_000)
            yield link.text(1, 60_000)

    attacker.flood(say)


def cut_in_a_large_room(attacker):
    """Devices that join one of two rooms and lose their connection, while messages are sent there."""
    attacker.begin()
    poster = attacker.link(account=f"poster-{attacker.number}")
    poster.open(1, f"left-{attacker.number % 2}")
    device = itertools.count(1)
    while attacker.is_on():
        try:
            ends = []
            for _ in range(50):
                end = dialled(attacker.port)
                number = next(device)
                end.sendall(hello(f"absent-{attacker.number}-{number}") + opening(f"left-{attacker.number % 2}"))
                ends.append(end)
            if poster.room_for(1) > 9_000:
                poster.send(poster.text(1, 8_000))
            poster.turn(0.02)
            for end in ends:
                cut(end)
                attacker.tally["connections"] += 1
        except OSError as why:
            attacker.ended(why)


def behind_gaps(attacker):
    """1,024 frames after a gap on each session that a link permits."""
    def say(link):
        link.features = 0
        receipt = bytes(4)
        for number in range(250):
            session = 2 * number + 1
            data = link.open_frame(session, f"gaps-{number}")
            # Every second sequence, so that no two are adjacent.
            data += b"".join(
                frame_bytes(FrameType.RECEIPT, receipt, session, 3 + 2 * index, 1) for index in range(1024))
            yield data
            attacker.tally["sessions"] += 1
            if number >= 90:
                time.sleep(0.031)
            link.turn()
        while True:
            link.turn(0.1)
            yield b""

    attacker.flood(say)


def devices_of_an_account(attacker):
    """A new device for each message in one room."""
    attacker.begin()
    while attacker.is_on():
        try:
            end = dialled(attacker.port)
            data = frame_bytes(FrameType.DATA, text_of(1), 1, 2, 1)
            end.sendall(hello("many-devices") + opening("marks") + data)
            end.settimeout(1)
            end.recv(65_536)
            end.sendall(encode(GoAway(code=0)))
            cut(end)
            attacker.tally["connections"] += 1
        except OSError as why:
            attacker.ended(why)


def one_word_in_each_room(attacker):
    """One byte in each of an increasing number of rooms without members; another account after 240 rooms."""
    attacker.begin()
    name = "n" * 110
    for account in itertools.count():
        if not attacker.is_on():
            return
        try:
            link = attacker.link(account=f"passer-{attacker.number}-{account}")
            for half in range(2):
                sessions = [2 * (120 * half + number) + 1 for number in range(120)]
                link.send(b"".join(
                    link.open_frame(session, f"{attacker.number}-{account}-{session}-{name}") + link.text(session, 1)
                    for session in sessions))
                link.until(lambda: link.seen[FrameType.ACCEPTED] + len(link.resets) >= 120 * (half + 1), 3)
                link.send(b"".join(link.frame(FrameType.CLOSE, b"", session) for session in sessions))
            attacker.tally["rooms"] += link.seen[FrameType.ACCEPTED]
            attacker.tally["resets"] += len(link.resets)
            link.leave()
        except (Gone, OSError) as why:
            attacker.ended(why)


def idle_in_rooms(attacker):
    """An increasing number of accounts, each in 255 rooms with long names, which send nothing thereafter."""
    attacker.begin()
    links = []
    for account in itertools.count():
        if not attacker.is_on():
            return
        try:
            link = attacker.link(account=f"idler-{attacker.number}-{account}")
            link.send(b"".join(
                link.open_frame(2 * number + 1, f"{attacker.number}-{account}-{number}".ljust(128, "x"))
                for number in range(255)))
            link.until(lambda: link.seen[FrameType.OPENED] + len(link.resets) >= 255, 3)
            link.turn()
            links.append(link)
            attacker.tally["sessions"] += link.seen[FrameType.OPENED]
            while len(links) == SELECTED and attacker.is_on():
                time.sleep(0.1)
        except (Gone, OSError) as why:
            attacker.ended(why)


def tiny_windows(attacker):
    """Sends 20 messages of 15 KB in a room, then connects repeatedly to read them, and reads nothing."""
    room = f"tiny-{attacker.number}"
    writer = attacker.link()
    writer.open(1, room)
    for _ in range(20):
        with_credit(writer, 1, 16_000)
        writer.send(writer.text(1, 15_000))
    writer.until(lambda: writer.seen[FrameType.ACCEPTED] > 0)
    attacker.begin()
    held = []
    while attacker.is_on():
        if len(held) == SELECTED:
            time.sleep(0.1)
            continue
        try:
            link = attacker.link(account=f"tiny-{attacker.number}-{len(held) // 32}", receive_buffer=2048)
            link.acknowledges = False
            link.open(1, room)
            held.append(link)
        except (Gone, OSError) as why:
            attacker.ended(why)


def stalled_readers(count, rooms):
    """Readers of rooms with many messages, which stop reading when the attack begins."""
    def run(attacker):
        links = []
        for number in range(count):
            link = attacker.link(account=f"reader-{number}", receive_buffer=SMALL_BUFFER)
            link.open(1, f"stall-{number % rooms}")
            links.append(link)
        for link in links:
            link.until(lambda: link.seen[FrameType.OPENED])
        attacker.begin()
        time.sleep(attacker.seconds)

    return run


def talkers(rooms, prefix="stall"):
    """Sends 8 KB to each of the rooms in turn: before the attack more than the relay keeps, then continuously."""
    def run(attacker):
        link = attacker.link(account="talker")
        for number in range(rooms):
            link.open(2 * number + 1, f"{prefix}-{number}", no_local=1)
        for _ in range(160):
            fill(link, rooms)
        attacker.begin()
        while attacker.is_on():
            fill(link, rooms)
            attacker.tally["rounds"] += 1

    return run


def fill(link, rooms):
    for number in range(rooms):
        session = 2 * number + 1
        with_credit(link, session, 9_000)
        link.send(link.text(session, 8_000))


def everything_at_once(attacker):
    """Opens many sessions, sends requests without reading, and ends of messages without beginnings and beginnings
    without ends; then reads nothing and acknowledges nothing."""
    attacker.begin()
    link = attacker.link(receive_buffer=SMALL_BUFFER)
    link.open(1, f"court-{attacker.number}", tail=0)
    for number in range(1, 60):
        link.open(2 * number + 1, f"mob-{attacker.number}-{number}")
    link.until(lambda: link.seen[FrameType.OPENED] >= 60)
    link.acknowledges = False
    frames = [frame_bytes(FrameType.PING, Ping(nonce=nonce).encoded()) for nonce in range(1, 61)]
    for correlation in range(1, 41):
        never = Request(correlation=correlation, method="never", deadline=300_000)
        frames.append(link.frame(FrameType.REQUEST, never.encoded() + tlv(0x0333, bytes(500))))
    pieces = min(link.welcome.limits.session_window // len(PIECE) - 2, 14)
    frames += [link.frame(FrameType.DATA, PIECE, 3, flags=MORE) for _ in range(pieces)]
    for session in (5, 7):
        link.sequences[session] += 1
        frames += [link.frame(FrameType.DATA, PIECE, session) for _ in range(pieces)]
    end, data = link.socket, b"".join(frames)
    end.settimeout(5)
    try:
        end.sendall(data)
    except OSError as why:
        attacker.ended(why)
    while attacker.is_on():
        time.sleep(0.1)


def unauthenticated(words):
    """A thousand connections that have sent a part of a frame."""
    def run(attacker):
        for _ in range(100):
            cut(dialled(attacker.port))
        attacker.begin()
        held = []
        for _ in range(1000):
            end = dialled(attacker.port)
            end.sendall(words)
            held.append(end)
            attacker.tally["connections"] += 1
        while attacker.is_on():
            time.sleep(0.1)

    return run


LONGEST_HELLO = frame_bytes(FrameType.HELLO, bytes(12 * KIB))[:-1]
REFUSED_RESUME = hello(
    "forger", resume=HelloResume(link=1, resume_token=bytes(32), session_position=())) + bytes(10)


def beyond_the_descriptors(attacker):
    """More connections than the relay has descriptors."""
    attacker.begin()
    held = []
    for _ in range(60):
        try:
            held.append(dialled(attacker.port))
        except OSError as why:
            attacker.ended(why)
    while attacker.is_on():
        time.sleep(0.1)


LITTLE_HISTORY = ("--history-bytes", "256K")

ATTACKS = [
    Attack("many-rooms", "60 KB in each of many rooms", ((one_message_in_each_room, 4),), seconds=12),
    Attack("few-rooms", "60 KB after 60 KB into six rooms", ((much_in_one_room, 6),), seconds=12),
    Attack("suspended-links", "devices that enter two rooms and are cut off", ((cut_in_a_large_room, 4),), seconds=12),
    Attack("behind-gaps", "frames behind a gap on 250 sessions", ((behind_gaps, 2),), seconds=12,
           each=(17 * MIB // 4, 2)),
    Attack("devices-of-an-account", "a device of one account for each message", ((devices_of_an_account, 4),)),
    Attack("stalled-readers", "20 readers that stop reading", ((stalled_readers(20, 20), 1), (talkers(20), 1)),
           options=LITTLE_HISTORY, each=(5 * MIB // 4, 20)),
    Attack("stalled-crowd", "300 members of one room that stop reading",
           ((stalled_readers(300, 1), 1), (talkers(1), 1)), options=LITTLE_HISTORY, each=(5 * MIB // 4, 300)),
    Attack("in-every-way", "16 peers, each hostile in every way that costs memory",
           ((everything_at_once, 16), (talkers(16, "court"), 1)), options=LITTLE_HISTORY, each=(17 * MIB // 4, 16)),
    Attack("silent", "1,000 connections that say nothing", ((unauthenticated(b""), 1),), seconds=4,
           each=(16 * KIB, 1000)),
    Attack("longest-hellos", "1,000 connections in the middle of the longest hello",
           ((unauthenticated(LONGEST_HELLO), 1),), seconds=4, each=(16 * KIB, 1000)),
    Attack("behind-a-refusal", "1,000 connections behind a refused resume", ((unauthenticated(REFUSED_RESUME), 1),),
           seconds=4, each=(16 * KIB, 1000)),
    Attack("many-names", "one byte in each of ever more rooms, a new account for every 240",
           ((one_word_in_each_room, 4),), seconds=25, budget=64 * MIB),
    Attack("idle-rooms", "ever more accounts with 255 idle sessions", ((idle_in_rooms, 4),), seconds=25,
           budget=64 * MIB),
    Attack("tiny-windows", "ever more readers with windows of 2 KB that read nothing", ((tiny_windows, 4),),
           seconds=12, budget=64 * MIB),
    Attack("descriptors", "60 connections to a relay with 40 descriptors", ((beyond_the_descriptors, 1),),
           descriptors=40),
]
