"""The scenarios about proxies between a client and its relay: one of our own, strict about RFC 9110 §9.3.6, RFC 7616,
RFC 1928 and RFC 1929, and those of Debian."""

import base64
import hashlib
import json
import os
import re
import secrets
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time

from programs import Failure, Relay, Unavailable, wait_until

# A name that only the proxy resolves.
HOST = "chat.example"
BUFFER = 1 << 16
# The bound on the time until a client is online behind a proxy that blocks all ports but 443.
ONLINE = 3.0
# The time for welcome (C-60).
WELCOME = 10.0


class Refused(Exception):
    """The proxy ends the connection after this answer."""

    def __init__(self, answer=b""):
        super().__init__(answer)
        self.answer = answer


def head(status, *fields, content=b""):
    lines = [f"HTTP/1.1 {status}", *fields, f"Content-Length: {len(content)}", "", ""]
    return "\r\n".join(lines).encode() + content


def receive(stream, count):
    data = b""
    while len(data) < count:
        part = stream.recv(count - len(data))
        if not part:
            raise Refused()
        data += part
    return data


class Server:
    """A port whose connections `serve` handles, each in a thread."""

    def listen(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                stream, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[stream], daemon=True).start()


class Proxy(Server):
    """A proxy that lets only port 443 of HOST pass, and connects it to a port of this machine."""

    def __init__(self, port, user=None, password=None, scheme="basic", portal=None, permits=443, is_silent=False):
        self.port, self.user, self.password, self.scheme = port, user, password, scheme
        # Whether the proxy never answers a request that its rules forbid.
        self.portal, self.permits, self.is_silent = portal, permits, is_silent
        self.requests, self.faults = [], []
        self.nonce = secrets.token_hex(8)
        self.listen()
        self.address = f"127.0.0.1:{self.server.getsockname()[1]}"

    def serve(self, stream):
        with stream:
            try:
                with self.handshake(stream) as upstream:
                    carry(stream, upstream)
            except Refused as refusal:
                try:
                    stream.sendall(refusal.answer)
                except OSError:
                    pass
            except OSError:
                pass

    def fault(self, text):
        self.faults.append(text)
        raise Refused()

    def connect(self, host, port):
        """The stream to the relay; None if the rules of the proxy forbid it."""
        self.requests.append(f"{host}:{port}")
        if host != HOST or port != self.permits:
            if self.is_silent:
                threading.Event().wait()
            return None
        return socket.create_connection(("127.0.0.1", self.port))

    def close(self):
        self.server.close()


class ConnectProxy(Proxy):
    """CONNECT of HTTP, with Basic or Digest."""

    def handshake(self, stream):
        while True:
            data = b""
            while not data.endswith(b"\r\n\r\n"):
                data += receive(stream, 1)
                if len(data) > BUFFER:
                    self.fault("a head without end")
            target, fields = self.parse(data)
            if self.portal:
                raise Refused(head("302 Found", f"Location: {self.portal}"))
            if self.user and not self.is_authorized(fields.get("proxy-authorization"), target):
                # The request is repeated on the same connection.
                stream.sendall(head(
                    "407 Proxy Authentication Required", f"Proxy-Authenticate: {self.challenge()}",
                    content=b"<html>sign in</html>"))
                continue
            host, port = target.rsplit(":", 1)
            upstream = self.connect(host, int(port))
            if upstream is None:
                raise Refused(head("403 Filtered"))
            # A client ignores the length of a successful answer.
            stream.sendall(b"HTTP/1.0 200 Connection established\r\nContent-Length: 7\r\n\r\n")
            return upstream

    def parse(self, data):
        lines = data.decode("ascii").split("\r\n")
        match = re.fullmatch(r"CONNECT ([a-z0-9.-]+:[0-9]+) HTTP/1\.1", lines[0])
        if not match:
            self.fault(f"the request line {lines[0]!r}")
        fields = {}
        for line in lines[1:-2]:
            name, value = re.fullmatch(r"([A-Za-z-]+): (.*)", line).groups()
            if name.lower() in fields:
                self.fault(f"the field {name} twice")
            fields[name.lower()] = value
        if fields.get("host") != match[1]:
            self.fault(f"the field Host {fields.get('host')!r}")
        if {"content-length", "transfer-encoding"} & set(fields):
            self.fault("a request with content")
        return match[1], fields

    def challenge(self):
        if self.scheme == "basic":
            return 'Basic realm="proxy"'
        return (f'Basic realm="proxy", Digest realm="a \\"proxy\\"", nonce="{self.nonce}", qop="auth,auth-int", '
                f'algorithm={self.scheme}, opaque="o"')

    def is_authorized(self, value, target):
        if value is None:
            return False
        if self.scheme == "basic":
            return value == "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        if not value.startswith("Digest "):
            self.fault("Basic in place of Digest")
        given = {name: text[1:-1] if text.startswith('"') else text
                 for name, text in re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|[^,\s]+)', value)}
        function = {"MD5": hashlib.md5, "SHA-256": hashlib.sha256}[self.scheme]
        def digest(*parts):
            return function(":".join(parts).encode()).hexdigest()
        if (given["uri"], given["nc"], given["qop"], given["nonce"], given["opaque"], given["algorithm"]) != (
                target, "00000001", "auth", self.nonce, "o", self.scheme):
            self.fault(f"the parameters {given}")
        secret = digest(self.user, 'a "proxy"', self.password)
        expected = digest(
            secret, self.nonce, given["nc"], given["cnonce"], "auth", digest("CONNECT", target))
        return given["response"] == expected


class SOCKSProxy(Proxy):
    """SOCKS 5, with a user name and a password."""

    def handshake(self, stream):
        version, count = receive(stream, 2)
        methods = receive(stream, count)
        wanted = 2 if self.user else 0
        if version != 5 or wanted not in methods:
            raise Refused(b"\x05\xff")
        stream.sendall(bytes([5, wanted]))
        if self.user:
            version, count = receive(stream, 2)
            user = receive(stream, count)
            password = receive(stream, receive(stream, 1)[0])
            if version != 1:
                self.fault("the version of the password")
            if (user.decode(), password.decode()) != (self.user, self.password):
                raise Refused(b"\x01\x01")
            stream.sendall(b"\x01\x00")
        version, command, reserved, kind = receive(stream, 4)
        if (version, command, reserved) != (5, 1, 0):
            self.fault("the request")
        if kind != 3:
            self.fault("a name that the client has resolved itself")
        host = receive(stream, receive(stream, 1)[0]).decode()
        port, = struct.unpack(">H", receive(stream, 2))
        upstream = self.connect(host, port)
        if upstream is None:
            raise Refused(b"\x05\x02\x00\x01" + bytes(6))
        stream.sendall(b"\x05\x00\x00\x01" + bytes(6))
        return upstream


def carry(stream, upstream):
    """Carries bytes in both directions until one ends."""
    def forward(source, target):
        try:
            while data := source.recv(BUFFER):
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
    back = threading.Thread(target=forward, args=[upstream, stream], daemon=True)
    back.start()
    forward(stream, upstream)
    back.join()


class Impostor(Server):
    """A server with the certificate of the relay that completes TLS, then ends the connection or stalls."""

    def __init__(self, folder, ends):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem", folder / "server.key")
        context.set_alpn_protocols(["martlet/1"])
        self.context, self.ends, self.held = context, ends, []
        self.listen()
        self.port = self.server.getsockname()[1]

    def serve(self, stream):
        try:
            secure = self.context.wrap_socket(stream, server_side=True)
            if self.ends:
                secure.recv(1)
                secure.close()
            else:
                self.held.append(secure)
        except OSError:
            pass


class Detour(ConnectProxy):
    """A proxy behind which port 7227 leads to an impostor, and port 443 to the relay."""

    def __init__(self, port, impostor):
        super().__init__(port)
        self.impostor = impostor

    def connect(self, host, port):
        self.requests.append(f"{host}:{port}")
        return socket.create_connection(("127.0.0.1", self.impostor if port == 7227 else self.port))


class Client:
    """The options and the environment of a client behind a proxy."""

    def __init__(self, folder, **variables):
        self.folder = folder
        names = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
        kept = {name: value for name, value in os.environ.items() if name.lower() not in names}
        self.environment = {**kept, **variables}

    def to(self, room, account, *options):
        return ["--to", f"martlets://{HOST}", "--room", room, "--account", account, "--max-wait", "0.2",
                "--trust", self.folder / "ca.pem", *options]

    def findings(self, place, *options, to=f"martlets://{HOST}"):
        """The lines of `martlet doctor`, and its exit code."""
        done = place.command(
            "doctor", to, "--trust", self.folder / "ca.pem", "--account", "ada", "--json", "--timeout", "3", *options,
            env=self.environment)
        return [json.loads(line) for line in done.stdout.splitlines()], done.returncode

    def doctor(self, place, *options):
        """The lines of `martlet doctor`, by their checks, and its exit code."""
        lines, status = self.findings(place, *options)
        return {line["check"]: line for line in lines}, status

    def send(self, place, text, *options, timeout=10):
        """Sends a message. Returns the seconds until the relay has accepted it."""
        began = time.monotonic()
        done = place.command(
            "send", *self.to("lobby", "ada", *options), "--timeout", str(timeout), "--progress", "none",
            input=text.encode() + b"\n", env=self.environment)
        seconds = time.monotonic() - began
        if done.returncode != 0:
            raise Failure(f"send ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
        return seconds


def relay_and_folder(place):
    folder = place.folder / "certs"
    place.succeed("dev-cert", "--directory", folder, "--host", HOST)
    relay = Relay(place, "--certificate", folder / "server.pem", "--key", folder / "server.key", scheme="martlets")
    return relay, folder


def own(place):
    """Proxies that block all but 443: the default client is online through each; faults and portals are named."""
    relay, folder = relay_and_folder(place)
    user, password = "ann", "s3cret: %/@"
    encoded = "ann:s3cret%3A%20%25%2F%40"
    cases = [
        ("CONNECT", ConnectProxy(relay.port), "HTTPS_PROXY", "http://"),
        ("CONNECT without refusals", ConnectProxy(relay.port, is_silent=True), "HTTPS_PROXY", "http://"),
        ("Basic", ConnectProxy(relay.port, user, password), "https_proxy", f"http://{encoded}@"),
        ("Digest MD5", ConnectProxy(relay.port, user, password, "MD5"), "HTTPS_PROXY", f"{encoded}@"),
        ("Digest SHA-256", ConnectProxy(relay.port, user, password, "SHA-256"), "ALL_PROXY", f"http://{encoded}@"),
        ("SOCKS 5", SOCKSProxy(relay.port), "ALL_PROXY", "socks5h://"),
        ("SOCKS 5 with a password", SOCKSProxy(relay.port, user, password), "all_proxy", f"socks5://{encoded}@"),
    ]
    times = []
    for name, proxy, variable, prefix in cases:
        client = Client(folder, **{variable: prefix + proxy.address})
        seconds = client.send(place, f"hello through {name}")
        times.append((seconds, name))
        place.check(seconds <= ONLINE, f"online within {ONLINE:.0f} s behind {name}", f"{seconds:.2f} s")
        lines, status = client.doctor(place)
        route = lines.get("route", {})
        place.check(
            status == 0 and route.get("route") == "webSocketThroughProxy" and route.get("proxy") == proxy.address
            and variable in route.get("reason", ""), "doctor names the route", f"{name}: {status}, {lines}")
        place.check(not proxy.faults, "the proxies find no fault", f"{name}: {proxy.faults}")
        allowed = {f"{HOST}:7227", f"{HOST}:443"}
        place.check(set(proxy.requests) <= allowed, "no other target is requested", f"{proxy.requests}")
        if user in prefix:
            other = Client(folder, **{variable: prefix.replace("ann:s3cret", "ann:wrong") + proxy.address})
            lines, status = other.doctor(place)
            text = json.dumps(lines)
            place.check(status != 0 and "does not accept" in text, "a wrong password is named", f"{name}: {text}")
            place.check("wrong%" not in text and "wrong:" not in text, "no password is shown", text)
        proxy.close()
    received = relay.lines("lobby", "auditor", "--trust", folder / "ca.pem")
    place.check(len(received) == len(cases), "every message once", f"{received}")
    through_port(place, relay, folder)
    impostors(place, relay, folder)
    exceptions(place, relay, folder)
    slowest, name = max(times)
    place.checked.append(f"at most {slowest:.2f} s from the start of the process to acceptance ({name})")


def through_port(place, relay, folder):
    """A proxy that permits the relay's own port carries TLS without a WebSocket; with an option, too."""
    proxy = ConnectProxy(relay.port, permits=7227)
    client = Client(folder)
    seconds = client.send(place, "hello", "--proxy", f"http://{proxy.address}")
    lines, status = client.doctor(place, "--proxy", f"http://{proxy.address}")
    place.check(
        status == 0 and lines["route"]["route"] == "proxy", "a proxy of the options is used", f"{seconds}, {lines}")
    lines, _ = Client(folder, HTTPS_PROXY=f"http://{proxy.address}", NO_PROXY=".example").doctor(place)
    place.check(lines["route"].get("proxy") is None, "NO_PROXY excludes the host", f"{lines}")
    lines, _ = Client(folder, HTTPS_PROXY=f"http://{proxy.address}").doctor(place, "--proxy", "none")
    place.check(lines["route"].get("proxy") is None, "--proxy none uses no proxy", f"{lines}")
    proxy.close()


def impostors(place, relay, folder):
    """A route with a server that answers no hello is left at the next attempt, and named."""
    for ends, bound in [(True, ONLINE), (False, WELCOME + ONLINE)]:
        impostor = Impostor(folder, ends)
        proxy = Detour(relay.port, impostor.port)
        client = Client(folder, HTTPS_PROXY=f"http://{proxy.address}")
        seconds = client.send(place, f"hello beside an impostor, {ends}", timeout=30)
        place.check(seconds <= bound, f"online within {bound:.0f} s beside an impostor", f"{seconds:.2f} s")
        place.check(
            proxy.requests.count(f"{HOST}:7227") == 1, "one attempt on the impostor's route", f"{proxy.requests}")
        lines, status = client.findings(place)
        found = [line["found"] for line in lines if line["check"] == "welcome"]
        place.check(
            status == 0 and len(found) == 2 and found[0].startswith(f"proxy {proxy.address}: "),
            "doctor names the route without a relay, and goes on", f"{status}, {lines}")
        proxy.close()
        impostor.server.close()


def exceptions(place, relay, folder):
    portal = ConnectProxy(relay.port, portal="http://login.example/start?x=1")
    lines, status = Client(folder, HTTPS_PROXY=f"http://{portal.address}").doctor(place)
    place.check(
        status != 0 and lines["route"].get("error") == "captivePortal" and "login.example" in lines["route"]["found"],
        "a captive portal is named", f"{lines}")
    portal.close()
    lines, status = Client(folder, HTTPS_PROXY="https://u:secret@127.0.0.1:1").doctor(place)
    text = json.dumps(lines)
    place.check(
        status != 0 and "HTTPS_PROXY" in text and "secret" not in text, "an invalid variable is named", text)
    lines, status = Client(folder, HTTPS_PROXY="https://u:secret@127.0.0.1:1").findings(
        place, to=f"martlets://localhost:{relay.port}")
    marks = [line["mark"] for line in lines if line["check"] == "route"]
    place.check(
        status == 0 and marks == ["warn"], "an invalid variable that is not used is named", f"{status}, {lines}")


TINYPROXY = """
Port {port}
Listen 127.0.0.1
Timeout 600
LogLevel Error
BasicAuth ann secret
ConnectPort 443
"""
SQUID = """
http_port 127.0.0.1:{port}
auth_param digest program /usr/lib/squid/digest_file_auth {folder}/passwords
auth_param digest realm proxy
acl known proxy_auth REQUIRED
acl tls port 443
http_access allow CONNECT tls known
http_access deny all
hosts_file /etc/hosts
pid_filename none
access_log none
cache_log {folder}/squid.log
cache deny all
coredump_dir {folder}
shutdown_lifetime 0 seconds
"""
HTTP, SOCKS = "http://ann:secret@127.0.0.1:{port}", "socks5h://ann:secret@127.0.0.1:{port}"
# The programs of Debian: the file of the configuration, the command, and the address.
PROGRAMS = {
    "tinyproxy": (TINYPROXY, "tinyproxy -d -c {file}", HTTP),
    "squid": (SQUID, "squid -N -f {file}", HTTP),
    "microsocks": ("", "microsocks -i 127.0.0.1 -p {port} -u ann -P secret", SOCKS),
}


def debian(place):
    """Proxies of Debian with Basic, Digest and SOCKS, behind which only port 443 answers: the client is online."""
    found = [name for name in PROGRAMS if shutil.which(name)]
    if not found:
        raise Unavailable(f"none of {', '.join(PROGRAMS)} is installed")
    if os.geteuid() != 0:
        raise Unavailable("port 443 and a name in /etc/hosts require root")
    relay, folder = relay_and_folder(place)
    try:
        forward = socket.create_server(("127.0.0.1", 443))
    except OSError as error:
        raise Unavailable(f"port 443: {error}")
    def accept():
        while True:
            stream, _ = forward.accept()
            upstream = socket.create_connection(("127.0.0.1", relay.port))
            threading.Thread(target=carry, args=[stream, upstream], daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    # Only the proxies resolve the name.
    hosts = place.folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n127.0.0.1 {HOST}\n")
    times = [f"{behind(place, name, hosts, folder):.2f} s behind {name}" for name in found]
    place.checked.append(f"from the start of the process to acceptance {', '.join(times)}")


def behind(place, name, hosts, folder):
    """Sends a message through a program. Returns the seconds until the relay has accepted it."""
    settings, command, address = PROGRAMS[name]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    own = place.folder / name
    own.mkdir()
    own.chmod(0o777)
    (own / "passwords").write_text("ann:secret\n")
    values = {"port": port, "folder": own, "file": own / "settings"}
    (own / "settings").write_text(settings.format(**values))
    place.folder.chmod(0o755)
    place.start(
        ["unshare", "--mount", "sh", "-c",
         f"mount --bind {hosts} /etc/hosts && exec {command.format(**values)}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=(own / "log").open("ab"))
    def is_open():
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        except OSError:
            return False
    wait_until(is_open, f"the port of {name}")
    client = Client(folder, ALL_PROXY=address.format(port=port))
    seconds = client.send(place, f"hello through {name}")
    place.check(seconds <= ONLINE, f"online within {ONLINE:.0f} s", f"{name}: {seconds:.2f} s")
    lines, status = client.doctor(place)
    place.check(
        status == 0 and lines["route"]["route"] == "webSocketThroughProxy", "doctor names the route",
        f"{name}: {lines}")
    return seconds
