#!/usr/bin/env python3
"""Authentication at two relays, by a client that was written from Specs alone.

usage: authentication.py PASSWORDS TOKENS KEY

The relay on the port PASSWORDS accepts `ada` with the password `open sesame`, without TLS. The relay on the port TOKENS
accepts tokens for the audience `martlet`, signed by KEY, a text, with HS256 (RFC 7519).
"""

import json
import sys
import time
from base64 import urlsafe_b64encode

from client import Client, Unexpected
from interoperability import expect, texts
from martlet_bodies import Auth, GoAway, Opened, Reject
from martlet_frames import Data
from martlet_registry import ErrorCode
from martlet_wire import encode
from password_client import PasswordClient, code

LEEWAY = 60_000
"""The tolerated difference of clocks of the reference relay, in milliseconds (C-85)."""


def passwords(port):
    """The right password, also for a resume, and refusals that do not differ."""
    refusals = []
    for account, password in (("ada", "open sesam"), ("nobody", "open sesame")):
        refusals.append(PasswordClient(port, account, password).connect(answer=Reject))
    expect(refusals[0], refusals[1])
    expect(refusals[0].code, ErrorCode.UNAUTHENTICATED)
    other = PasswordClient(port, "ada", "open sesame")
    other.mechanism = "PLAIN"
    expect("SCRAM-SHA-256" in other.connect(answer=Reject).reason, True)
    ada = PasswordClient(port, "ada", "open sesame")
    expect(ada.connect(early=[lambda: ada.open(1, "lobby"), lambda: ada.post(1, "behind the hello")]).epoch, 1)
    ada.wait_for(Opened, 1)
    ada.until_accepted(1)
    ada.socket.close()
    expect(ada.connect(early=[lambda: ada.post(1, "behind the second hello")]).epoch, 2)
    ada.until_accepted(1)
    expect(texts(ada.wait_for(Data, 1, 2)), ["behind the hello", "behind the second hello"])
    used = ada.token
    ada.socket.close()
    ada.connect()
    ada.socket.close()
    ada.token = used
    expect(ada.connect(answer=Reject).code, ErrorCode.RESUME_REJECTED)
    ada.forget()
    expect(ada.greet().epoch, 1)
    ada.leave()


def token(account, seconds, key):
    parts = {"alg": "HS256"}, {"sub": account, "aud": "martlet", "exp": int(time.time()) + seconds}
    text = b".".join(urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    return (text + b"." + urlsafe_b64encode(code(key.encode(), text)).rstrip(b"=")).decode()


def renewals(port, key):
    """A token of the same account replaces the earlier one, and a token of another account ends the connection."""
    ada = Client(port, "ada", token("ada", 100, key))
    expect(LEEWAY < ada.connect().credential_lifetime <= LEEWAY + 100_000, True)
    ada.socket.sendall(encode(Auth(credential=token("ada", 1000, key).encode())))
    expect(LEEWAY + 100_000 < ada.wait_for(Auth, 0).credential_lifetime <= LEEWAY + 1_000_000, True)
    ada.socket.sendall(encode(Auth(credential=token("bob", 1000, key).encode())))
    expect(ada.wait_for(GoAway, 0).code, ErrorCode.UNAUTHENTICATED)


if __name__ == "__main__":
    try:
        passwords(int(sys.argv[1]))
        renewals(int(sys.argv[2]), sys.argv[3])
    except (Unexpected, TimeoutError) as problem:
        sys.exit(f"authentication.py: {problem or 'waited in vain'}")
