"""Guesses of resume tokens and of passwords, from many addresses."""

import itertools
import os
import secrets
import select
import socket
import struct
from base64 import b64encode

from attack import Attack
from martlet_bodies import Auth, Hello, HelloResume
from martlet_registry import SERVER, FrameType
from martlet_tlv import Version
from martlet_wire import Receiver, decode, encode
from peer import ADDRESS, CHUNK, MINE, PLAIN, TIMEOUT, cut, frame_bytes, hello

RESUMES = 4  # On a connection: a fifth refused resume ends it.
FAILURES = 4  # From an address: after the fifth the relay refuses the address (C-67).
HANDSHAKES = 128  # Of a process at a time, far below the bound of the relay.
HEADER_SIZE = 28
TOKEN_SIZE = 32
VICTIM, PASSWORD = "victim", "a password that nobody guesses"


def address(process, number):
    """The source of a connection: a loopback address of an attacking process."""
    return f"127.{process + 1}.{number >> 8 & 255}.{number & 255}"


def dialled_from(source, port):
    end = socket.socket()
    end.settimeout(TIMEOUT)
    end.setsockopt(socket.SOL_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
    end.bind((source, 0))
    end.connect((ADDRESS, port))
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return end


def answers(data):
    """The types of the complete frames, and the remaining bytes."""
    kinds = []
    while len(data) >= HEADER_SIZE:
        kind, size = struct.unpack_from(">6xH12xI", data)
        if len(data) < HEADER_SIZE + size:
            break
        kinds.append(kind)
        data = data[HEADER_SIZE + size:]
    return kinds, data


def resume_tokens(attacker):
    """Resumes of a link whose account, device and number are known, with random tokens."""
    victim = attacker.link(account=f"{VICTIM}-{attacker.number}")
    token = bytes(TOKEN_SIZE)
    guess = hello(victim.account, victim.device, resume=HelloResume(
        link=victim.welcome.link, resume_token=token, session_position=()))
    front, _, back = guess[HEADER_SIZE:].partition(token)
    attacker.begin()
    for number in itertools.count():
        if not attacker.is_on():
            break
        try:
            end = dialled_from(address(attacker.number, number), attacker.port)
            end.sendall(b"".join(
                frame_bytes(FrameType.HELLO, front + os.urandom(TOKEN_SIZE) + back) for _ in range(RESUMES)))
            kinds, rest = [], b""
            while len(kinds) < RESUMES and (data := end.recv(CHUNK)):
                found, rest = answers(rest + data)
                kinds += found
            attacker.tally["guesses"] += kinds.count(FrameType.REJECT)
            attacker.tally["accepted"] += kinds.count(FrameType.WELCOME)
            cut(end)
        except OSError as why:
            attacker.ended(why)


class Guess:
    """One exchange with a random proof, which the relay verifies like that of a wrong password (RFC 5802)."""

    def __init__(self, source, port):
        self.end = dialled_from(source, port)
        self.end.setblocking(False)
        self.receiver = Receiver(SERVER)
        self.end.send(encode(Hello(
            spoken_version=(Version(1, 0),), features=PLAIN, limits=MINE, device=1, account=VICTIM,
            mechanism="SCRAM-SHA-256", credential=f"n,,n={VICTIM},r={secrets.token_urlsafe(18)}".encode(),
            agent="hostile")))

    def read(self):
        """Answers the challenge. Returns the type of the frame that ends the exchange; None before."""
        data = self.end.recv(CHUNK)
        if not data:
            raise OSError(0, "end of stream")
        self.receiver.framer.feed(data)
        while (frame := self.receiver.next_bytes()) is not None:
            header, body, _ = frame
            if header.type != FrameType.AUTH:
                return header.type
            challenge = decode(header.type, body, SERVER).credential.decode()
            self.end.send(encode(Auth(credential=self.answer(challenge).encode())))
        return None

    def answer(self, challenge):
        return f"c=biws,{challenge.split(',')[0]},p={b64encode(os.urandom(32)).decode()}"


def passwords(attacker):
    """Passwords of one account, many at the same time, because the relay delays each answer."""
    attacker.begin()
    poller, running, numbers = select.poll(), {}, itertools.count()
    while attacker.is_on():
        while len(running) < HANDSHAKES and attacker.is_on():
            try:
                guess = Guess(address(attacker.number, next(numbers) // FAILURES), attacker.port)
                running[guess.end.fileno()] = guess
                poller.register(guess.end, select.POLLIN)
            except OSError as why:
                attacker.ended(why)
                break
        for descriptor, _ in poller.poll(100):
            guess = running[descriptor]
            try:
                kind = guess.read()
            except OSError as why:
                attacker.ended(why)
                kind = 0
            if kind is None:
                continue
            attacker.tally["guesses"] += kind == FrameType.REJECT
            attacker.tally["accepted"] += kind == FrameType.WELCOME
            poller.unregister(descriptor)
            del running[descriptor]
            cut(guess.end)
    for guess in running.values():
        cut(guess.end)


ATTACKS = [
    Attack("resume-guesses", "resumes of a link with random tokens", ((resume_tokens, 4),), seconds=180,
           guesses=1_000_000),
    Attack("password-guesses", "passwords of one account from 2,500 addresses", ((passwords, 4),), seconds=60,
           guesses=10_000, password=PASSWORD),
]
