"""Connections, links and presence that begin and end repeatedly."""

import random
import select
import socket
import time

from attack import Attack
from martlet_bodies import Close, GoAway, HelloResume
from martlet_frames import Open
from martlet_registry import FrameType
from peer import CHUNK, RELIABLE, Gone, cut, dialled, frame_bytes, hello
from martlet_wire import encode

CROWD_ROOM = "large"


def opening(room, session=1):
    body = Open(room=room, session_kind=0, cursor=0).encoded()
    return frame_bytes(FrameType.OPEN, body, session, 1, RELIABLE)


def crowd(count, room=CROWD_ROOM, prefix="member", reads=True):
    """Members of a room in one process, which send nothing. Without `reads` they do not read during the attack."""
    def run(attacker):
        poller, members = select.poll(), {}
        for number in range(count):
            end = dialled(attacker.port)
            end.sendall(hello(f"{prefix}-{attacker.number}-{number}") + opening(room))
            end.setblocking(False)
            members[end.fileno()] = end
            poller.register(end, select.POLLIN)
        drain(poller, members, 0.5)
        attacker.begin()
        while attacker.is_on():
            drain(poller, members, 0.2) if reads else time.sleep(0.2)

    return run


def drain(poller, members, seconds):
    """Reads the frames for all of them."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        for descriptor, _ in poller.poll(1000 * left):
            try:
                if not members[descriptor].recv(CHUNK):
                    poller.unregister(descriptor)
            except OSError:
                pass


def visits(account_of, room=CROWD_ROOM, sessions=1, device=None):
    """Begins a new link, joins the room several times, leaves, and repeats."""
    def run(attacker):
        attacker.begin()
        visit = 0
        while attacker.is_on():
            frames = hello(account_of(attacker, visit), device=device)
            for number in range(sessions):
                frames += opening(room, 2 * number + 1)
                frames += frame_bytes(FrameType.CLOSE, Close().encoded(), 2 * number + 1, 2, RELIABLE)
            visit += 1
            try:
                end = dialled(attacker.port)
                end.sendall(frames + encode(GoAway(code=0)))
                until_ended(end, attacker)
                cut(end)
                attacker.tally["connections"] += 1
            except OSError as why:
                attacker.ended(why)

    return run


def until_ended(end, attacker):
    end.settimeout(0.2)
    while attacker.is_on():
        try:
            if not end.recv(CHUNK):
                return
        except TimeoutError:
            pass


def many_accounts(attacker, visit):
    """Each process has 125 accounts, which it uses in turn."""
    return f"guest-{attacker.number}-{visit % 125}"


def one_account(attacker, visit):
    return "guest"


def hellos(attacker):
    """A new link of the same device for every hello."""
    attacker.begin()
    while attacker.is_on():
        try:
            end = dialled(attacker.port)
            end.sendall(hello(f"greeter-{attacker.number}", device=attacker.number + 1))
            end.settimeout(1)
            end.recv(CHUNK)
            cut(end)
            attacker.tally["connections"] += 1
        except OSError as why:
            attacker.ended(why)


def cut_hellos(attacker):
    """Hellos without waiting for the answer."""
    attacker.begin()
    while attacker.is_on():
        try:
            end = dialled(attacker.port)
            end.sendall(hello(f"greeter-{attacker.number}-{random.getrandbits(10)}"))
            cut(end)
            attacker.tally["connections"] += 1
        except OSError as why:
            attacker.ended(why)


def refused_resumes(attacker):
    """Resumes with an invalid token: four on each connection, and the fifth ends it."""
    attacker.begin()
    forged = HelloResume(link=1, resume_token=bytes(32), session_position=())
    while attacker.is_on():
        try:
            end = dialled(attacker.port)
            end.sendall(hello(f"forger-{attacker.number}", resume=forged) * 5)
            until_ended(end, attacker)
            cut(end)
            attacker.tally["connections"] += 1
        except OSError as why:
            attacker.ended(why)


def resumes(attacker):
    """One link that is resumed repeatedly."""
    link = attacker.link()
    point, device = link.resume_point(), link.device
    attacker.begin()
    while attacker.is_on():
        try:
            again = attacker.link(device=device, greets=False)
            again.greet(resume=point)
            point = again.resume_point()
            again.cut()
        except (Gone, OSError) as why:
            attacker.ended(why)
            try:
                point = attacker.link(device=device).resume_point()
            except (Gone, OSError) as why_again:
                attacker.ended(why_again)


def links_of_an_account(attacker):
    """One account with a new device each time. The connections remain until the relay ends them."""
    attacker.begin()
    held = []
    while attacker.is_on():
        try:
            end = dialled(attacker.port)
            end.sendall(hello("collector") + opening("shelf"))
            held.append(end)
            attacker.tally["connections"] += 1
            if len(held) > 3000:
                held.pop(0).close()
        except OSError as why:
            attacker.ended(why)


def dripping(first):
    """Two hundred connections on which a byte is sent each second."""
    def run(attacker):
        attacker.begin()
        held = {}
        while attacker.is_on():
            try:
                while len(held) < 200 and attacker.is_on():
                    end = dialled(attacker.port)
                    held[end] = iter(first(attacker, len(held)))
                    attacker.tally["connections"] += 1
                for end in list(held):
                    try:
                        end.send(next(held[end], b"\0"))
                    except OSError:
                        del held[end]
                        end.close()
                time.sleep(min(1, max(attacker.end - time.monotonic(), 0)))
            except OSError as why:
                attacker.ended(why)

    return run


def slow_hello(attacker, number):
    return (bytes([byte]) for byte in hello(f"slow-{attacker.number}-{number}"))


def half_frame(attacker, number):
    """A complete hello, then a frame of 60 KB that is never completed."""
    yield hello(f"half-{attacker.number}-{number}")
    frame = frame_bytes(FrameType.DATA, bytes(60_000), 1, 2, RELIABLE)
    yield opening("halves") + frame[:30_000]
    while True:
        yield b"\0"


def not_martlet(attacker):
    """Connections with another protocol, or without bytes."""
    attacker.begin()
    words = (b"GET / HTTP/1.1\r\n\r\n", b"", random.randbytes(100), b"\x8dMRT\x02" + bytes(23), b"\x8dMRT\x01\0@\x01")
    turn = 0
    while attacker.is_on():
        try:
            end = dialled(attacker.port)
            end.sendall(words[turn % len(words)])
            turn += 1
            cut(end)
            attacker.tally["connections"] += 1
        except OSError as why:
            attacker.ended(why)


ATTACKS = [
    Attack("presence-churn", "500 accounts join and leave a room of 240",
           ((crowd(240), 1), (visits(many_accounts), 4))),
    Attack("presence-unread", "500 accounts join and leave a room of 240 members that do not read",
           ((crowd(240, reads=False), 1), (visits(many_accounts), 4))),
    Attack("churn-on-new-links", "a device joins and leaves a room of 240, 95 times on each new link",
           ((crowd(240), 1), (visits(one_account, sessions=95, device=1), 1))),
    Attack("hellos", "a new link for every hello", ((hellos, 4),)),
    Attack("hellos-cut", "hellos that do not wait for an answer", ((cut_hellos, 4),)),
    Attack("resumes-refused", "resumes with a forged token", ((refused_resumes, 4),)),
    Attack("resumes", "a link resumed again and again", ((resumes, 4),)),
    Attack("links-of-an-account", "a new device of one account on each connection", ((links_of_an_account, 2),)),
    Attack("slow-hellos", "400 hellos of which a byte comes each second", ((dripping(slow_hello), 2),)),
    Attack("half-frames", "400 frames that never become whole", ((dripping(half_frame), 2),)),
    Attack("not-martlet", "connections that speak another protocol", ((not_martlet, 4),)),
]
