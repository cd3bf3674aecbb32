"""The messages of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (connection.md 6.1): the exchange of RFC 7677 section 3, the
same exchange with the channel binding of RFC 9266, and exchanges that one side refuses."""

from .vector import VectorFile

CLIENT_NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
NONCE = CLIENT_NONCE + SERVER_NONCE
CHALLENGE = f"r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
EXPORTER = bytes(range(32)).hex()
FIRST = f"n=user,r={CLIENT_NONCE}"
# The example of RFC 7677.
PLAIN = ["n,," + FIRST, CHALLENGE, f"c=biws,r={NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
         "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="]
# The client supports channel bindings, and the server did not offer them.
DOWNGRADED = ["y,," + FIRST, CHALLENGE, f"c=eSws,r={NONCE},p=FoqiHTtQEDE8lz1CdaEe3tK4mS+iMDTl77SPyDS53DY=",
              "v=dI4KpiQJwBr1+V+K6U1dA6l6I4I9DUNXWND4pcpRU3U="]
PLUS = ["p=tls-exporter,," + FIRST, CHALLENGE,
        f"c=cD10bHMtZXhwb3J0ZXIsLAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f,r={NONCE},"
        "p=QC6CS20quADQRb3mT99YUH+n3VJxUvzuK0K0E1Vrs2M=",
        "v=2GiAgapEppLVlUXbxUDksL3VgYHzuqiK5tR4mhJGgvs="]
# A client on another TLS connection, whose exporter gives 01 to 20.
ELSEWHERE = (f"c=cD10bHMtZXhwb3J0ZXIsLAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g,r={NONCE},"
             "p=w9H9vIo/jsodntpDDeLdytQa0oto6PYDAlsEKQDvVkQ=")


def add(file, name, clauses, messages, refused=None, exporter=None):
    """An exchange, up to the message that its receiver refuses."""
    vector = {"name": name, "clauses": clauses.split(), "user": "user", "password": "pencil",
              "clientNonce": CLIENT_NONCE, "serverNonce": SERVER_NONCE}
    if exporter:
        vector["exporter"] = exporter
    vector["messages"] = [[message] for message in messages]
    if refused:
        vector["refusedMessage"] = refused
    file.vectors.append(vector)


def make():
    file = VectorFile("scram", "Exchanges for the password `pencil` (connection.md 6.1).")
    add(file, "the exchange of RFC 7677", "C-68 C-69 C-70", PLAIN)
    add(file, "a client that supports channel bindings, without TLS", "C-68", DOWNGRADED)
    add(file, "the exchange with tls-exporter", "C-68 C-69 C-70", PLUS, exporter=EXPORTER)
    add(file, "a proof for another TLS connection", "C-68", [*PLUS[:2], ELSEWHERE], "proof", EXPORTER)
    add(file, "a proof without the binding of its first message", "C-68", [*PLUS[:2], PLAIN[2]], "proof", EXPORTER)
    add(file, "a proof of another password", "C-69",
        [*PLAIN[:2], PLAIN[2].replace("p=dHzb", "p=eHzb")], "proof")
    add(file, "a challenge that does not continue the nonce", "C-70",
        [PLAIN[0], CHALLENGE.replace(CLIENT_NONCE, CLIENT_NONCE.swapcase())], "challenge")
    add(file, "a challenge with 4,095 iterations", "C-70", [PLAIN[0], CHALLENGE.replace("4096", "4095")], "challenge")
    add(file, "a server that does not know the keys", "C-70", [*PLAIN[:3], PLUS[3]], "signature")
    return [file]
