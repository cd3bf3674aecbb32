#!/usr/bin/env python3
"""A conversation of two devices (client.py) over a relay, all of them based on the specification only.

usage: interoperability.py PORT    the relay accepts `ada` with the token `open-sesame` and `bob` with `swordfish`
"""

import sys

from client import Client, Unexpected
from martlet_bodies import Close, Opened, Ping, Pong, Reject, Response
from martlet_frames import Data, Request
from martlet_registry import ErrorCode, Features


def texts(values):
    return [value.content[6:].decode() for value in values]


def expect(found, wanted):
    if found != wanted:
        raise Unexpected(f"found {found}, expected {wanted}")


def conversation(port):
    """Runs two devices on a relay, over five connections."""
    expect(Client(port, "ada", "guess").connect(answer=Reject).code, ErrorCode.UNAUTHENTICATED)
    ada, bob = Client(port, "ada", "open-sesame"), Client(port, "bob", "swordfish")
    expect(ada.connect().epoch, 1)
    ada.open(1, "lobby", no_local=1)
    expect(ada.wait_for(Opened, 1).head, 0)
    bob.connect(early=[lambda: bob.open(1, "lobby"), lambda: bob.post(1, "from bob, behind his hello")])
    bob.wait_for(Opened, 1)
    bob.until_accepted(1)
    expect(texts([ada.wait_for(Data, 1)]), ["from bob, behind his hello"])

    long = "a long line, " * 6000
    ada.post(1, "one")
    ada.post(1, long)
    ada.post(1, "three, compressed if it may be", compress=bool(ada.features & Features.ZLIB))
    ada.until_accepted(1)
    expect(texts(bob.wait_for(Data, 1, 4))[1:], ["one", long, "three, compressed if it may be"])

    ada.send(1, Request(correlation=7, method="head", deadline=5000))
    expect(ada.wait_for(Response, 1).content[6:14], (4).to_bytes(8, "big"))
    ada.send(1, Request(correlation=8, method="no such method", deadline=5000))
    expect(ada.wait_for(Response, 1).status, ErrorCode.UNKNOWN_METHOD)
    ada.say(Ping(nonce=99), ack_now=True)
    expect(ada.wait_for(Pong, 0).nonce, 99)
    expect(ada.sessions[1].unacknowledged, {})

    used = ada.token
    ada.post(1, "sent into a connection that breaks")
    ada.socket.close()
    bob.post(1, "ada is not here")
    bob.until_accepted(1)
    expect(ada.connect(early=[lambda: ada.post(1, "sent behind the hello")]).epoch, 2)
    expect(texts([ada.wait_for(Data, 1)]), ["ada is not here"])
    ada.until_accepted(1)
    received = texts(bob.wait_for(Data, 1, 3))
    received.remove("ada is not here")
    expect(received, ["sent into a connection that breaks", "sent behind the hello"])

    ada.post(1, "sent twice, taken once")
    again = dict(ada.outbox)
    ada.until_accepted(1)
    ada.socket.close()
    ada.token = used
    expect(ada.connect(answer=Reject).code, ErrorCode.RESUME_REJECTED)
    ada.forget()
    ada.outbox = again
    expect(ada.greet().epoch, 1)
    ada.open(1, "lobby", cursor=6)
    for message in again.values():
        ada.send(1, message)
    ada.until_accepted(1)
    expect(ada.wait_for(Opened, 1).head, 8)
    expect([value.offset for value in ada.wait_for(Data, 1, 2)], [7, 8])

    for client in (ada, bob):
        client.send(1, Close())
        client.wait_for(Close, 1)
        client.leave()


if __name__ == "__main__":
    try:
        conversation(int(sys.argv[1]))
    except (Unexpected, TimeoutError) as problem:
        sys.exit(f"interoperability.py: {problem or 'waited in vain'}")
