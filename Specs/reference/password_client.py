"""A client that proves a password by SCRAM-SHA-256 (Specs/connection.md 6.1, RFC 5802), without TLS."""

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode

from client import Client, Unexpected
from martlet_bodies import Auth, Welcome
from martlet_wire import encode


def code(key, text):
    return hmac.digest(key, text, "sha256")


MIN_ITERATIONS = 4096


def last_messages(password, first, challenge, binding):
    """The client-final-message and the server-final-message that follow the client-first-message-bare and the
    challenge; `binding` is the GS2 header with the data of the channel binding."""
    fields = dict(field.split("=", 1) for field in challenge.split(","))
    if not fields["r"].startswith(first.split(",r=")[1]) or int(fields["i"]) < MIN_ITERATIONS:
        raise Unexpected(f"the challenge is not valid: {challenge}")
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), b64decode(fields["s"]), int(fields["i"]))
    unproved = f"c={b64encode(binding).decode()},r={fields['r']}"
    message = f"{first},{challenge},{unproved}".encode()
    key = code(salted, b"Client Key")
    proof = bytes(a ^ b for a, b in zip(key, code(hashlib.sha256(key).digest(), message)))
    signature = code(code(salted, b"Server Key"), message)
    return f"{unproved},p={b64encode(proof).decode()}", f"v={b64encode(signature).decode()}"


class PasswordClient(Client):
    """A client whose hello names a mechanism, and that answers the relay's message."""

    mechanism = "SCRAM-SHA-256"

    def __init__(self, port, account, password):
        super().__init__(port, account, "")
        self.password = password

    def greet(self, early=(), answer=Welcome):
        self.first = f"n={self.account},r={secrets.token_urlsafe(18)}"
        self.proof = {"mechanism": self.mechanism, "credential": b"n,," + self.first.encode()}
        self.final = None
        welcome = super().greet(early, answer)
        if answer is Welcome and (self.final is None or welcome.credential != self.final):
            raise Unexpected(f"the relay has not proved that it knows the password: {welcome.credential}")
        return welcome

    def took(self, header, value):
        if isinstance(value, Auth):
            self.socket.sendall(encode(Auth(credential=self.answer(value.credential.decode()))))
        super().took(header, value)

    def answer(self, challenge):
        """The client-final-message."""
        proof, final = last_messages(self.password, self.first, challenge, b"n,,")
        self.final = final.encode()
        return proof.encode()
