"""The scenarios about WebSockets: clients by other authors, a browser, and reverse proxies in front of a relay."""

import base64
import contextlib
import hashlib
import http.client
import importlib.util
import json
import os
import pathlib
import re
import select
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.parse

import browser
from programs import (TIMEOUT, Failure, Listener, Load, Relay, Sender, Unavailable, check_once_in_order, wait_until)

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "Guides/reverse-proxy.md"
# The address from which a proxy connects to its relay. That of the clients differs.
PROXY = "127.0.0.9"


class Peer:
    """A WebSocket by another author, who reads and writes bytes only: `next` reads, and any thread writes.

    The reader alone decides when the stream ends, so the last message before a close is never lost.
    """

    def __init__(self, url, stream):
        self.socket, self.lock, self.waiting = stream, threading.Lock(), []
        self.open(url)

    def receive(self):
        """The next bytes; none at the end, which a reset of the connection is, too."""
        with contextlib.suppress(ConnectionError):
            while event := self.next():
                if data := self.bytes_of(event):
                    return data
        return b""

    def next(self):
        """The next event; nothing at the end."""
        while not self.waiting:
            data = self.socket.recv(65536)
            if not data:
                return None
            with self.lock:
                self.waiting += self.events(data)
        return self.waiting.pop(0)

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class WebsocketsPeer(Peer):
    """The package `websockets`, which offers permessage-deflate."""
    module = "websockets"

    def open(self, url):
        from websockets.client import ClientProtocol
        from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
        from websockets.uri import parse_uri
        self.protocol = ClientProtocol(parse_uri(url), extensions=[ClientPerMessageDeflateFactory()],
                                       subprotocols=["martlet"], max_size=None)
        self.protocol.send_request(self.protocol.connect())
        self.flush()
        self.next()
        if self.protocol.handshake_exc or self.protocol.subprotocol != "martlet":
            raise Failure(f"websockets: {self.protocol.handshake_exc}")

    def flush(self):
        for data in self.protocol.data_to_send():
            if data:
                self.socket.sendall(data)

    def events(self, data):
        self.protocol.receive_data(data)
        # Answers to pings and to a close. The relay may have ended the stream already.
        with contextlib.suppress(OSError):
            self.flush()
        return self.protocol.events_received()

    def bytes_of(self, event):
        from websockets.frames import Opcode
        return bytes(event.data) if event.opcode in (Opcode.BINARY, Opcode.CONT) else b""

    def send(self, data):
        with self.lock:
            self.protocol.send_binary(data)
            self.flush()


class WsprotoPeer(Peer):
    """The package `wsproto`. Each message is cut, so that the relay joins fragments."""
    module = "wsproto"

    def open(self, url):
        from wsproto import ConnectionType, WSConnection
        from wsproto.events import AcceptConnection, Request
        url = urllib.parse.urlsplit(url)
        self.protocol = WSConnection(ConnectionType.CLIENT)
        self.write(Request(host=url.netloc, target=url.path, subprotocols=["martlet"]))
        accepted = self.next()
        if not isinstance(accepted, AcceptConnection) or accepted.subprotocol != "martlet":
            raise Failure(f"wsproto: {accepted}")

    def write(self, event):
        self.socket.sendall(self.protocol.send(event))

    def events(self, data):
        from wsproto.events import CloseConnection, Ping
        self.protocol.receive_data(data)
        found = list(self.protocol.events())
        for event in found:
            if isinstance(event, (Ping, CloseConnection)):
                # The relay may have ended the stream already.
                with contextlib.suppress(OSError):
                    self.write(event.response())
        return found

    def bytes_of(self, event):
        from wsproto.events import BytesMessage
        return bytes(event.data) if isinstance(event, BytesMessage) else b""

    def send(self, data):
        from wsproto.events import BytesMessage
        with self.lock:
            self.write(BytesMessage(data[:1], message_finished=False))
            self.write(BytesMessage(data[1:]))


class WslayPeer(Peer):
    """The library wslay, in a program of its own behind the upgrade."""
    module = "wslay"
    program = None

    @classmethod
    def build(cls, place):
        """Whether the program is built; not so without the library or a compiler."""
        if not shutil.which("gcc") or not pathlib.Path("/usr/include/wslay/wslay.h").exists():
            return False
        cls.program = place.folder / "wslay"
        source = pathlib.Path(__file__).resolve().with_name("wslay.c")
        built = subprocess.run(["gcc", "-O1", "-o", cls.program, source, "-lwslay"], capture_output=True)
        place.check(built.returncode == 0, "the peer by wslay compiles", built.stderr.decode()[-500:])
        return True

    def open(self, url):
        url = urllib.parse.urlsplit(url)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Protocol: martlet\r\n\r\n".encode())
        answer = b""
        # A server sends nothing before the hello.
        while not answer.endswith(b"\r\n\r\n"):
            part = self.socket.recv(65536)
            if not part:
                break
            answer += part
        accepted = base64.b64encode(hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest())
        fields = dict(line.lower().split(b": ", 1) for line in answer.split(b"\r\n")[1:-2])
        if (not answer.startswith(b"HTTP/1.1 101 ") or fields.get(b"sec-websocket-accept") != accepted.lower()
                or fields.get(b"sec-websocket-protocol") != b"martlet"):
            raise Failure(f"wslay: {answer}")
        near, far = socket.socketpair()
        with self.socket, far:
            ends = [far.fileno(), self.socket.fileno()]
            subprocess.Popen([self.program, *map(str, ends)], pass_fds=ends)
        self.socket = near

    def next(self):
        return self.socket.recv(65536)

    def bytes_of(self, event):
        return event

    def send(self, data):
        self.socket.sendall(data)


def dial(host, port, context):
    """A stream to a server; with a context, a socket whose bytes one thread carries through TLS.

    The peers read and write in different threads, and the TLS of Python supports one thread at a time.
    """
    server = socket.create_connection((host, port), TIMEOUT)
    if not context:
        return server
    server = context.wrap_socket(server, server_hostname=host)
    near, far = socket.socketpair()

    def carry():
        try:
            while True:
                ready = [server] if server.pending() else select.select([server, far], [], [])[0]
                if server in ready:
                    server.settimeout(0)
                    try:
                        data = server.recv(65536)
                    except ssl.SSLWantReadError:
                        # The record was incomplete, or had no bytes of the application.
                        continue
                    finally:
                        server.settimeout(TIMEOUT)
                    if not data:
                        break
                    far.sendall(data)
                if far in ready:
                    data = far.recv(65536)
                    if not data:
                        break
                    # A server that has ended the stream may have sent bytes before.
                    with contextlib.suppress(OSError):
                        server.sendall(data)
        except OSError:
            pass
        finally:
            server.close()
            far.close()
    threading.Thread(target=carry, daemon=True).start()
    return near


class Tunnel:
    """A port on this machine. The bytes of its connections go through a WebSocket each."""

    def __init__(self, peer, port, context):
        self.peer, self.server, self.context = peer, port, context
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.carry, args=[connection], daemon=True).start()

    def carry(self, connection):
        stream = dial("localhost", self.server, self.context)
        peer = self.peer(f"ws://localhost:{self.server}/martlet", stream)

        def back():
            with contextlib.suppress(OSError):
                while data := peer.receive():
                    connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
        threading.Thread(target=back, daemon=True).start()
        # The stream ends with the connection. A failed write ends one direction only.
        with contextlib.suppress(OSError):
            while data := connection.recv(65536):
                with contextlib.suppress(OSError):
                    peer.send(data)
        peer.close()

    def close(self):
        self.listener.close()


def certificates(place):
    place.succeed("dev-cert", "--directory", place.folder / "certs")
    folder = place.folder / "certs"
    return ["--certificate", folder / "server.pem", "--key", folder / "server.key"], folder


def peers(place):
    """The reference client, written from the specification, through WebSockets by other authors; files; a browser."""
    options, folder = certificates(place)
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    tokens = place.folder / "tokens"
    tokens.write_text("ada open-sesame\nbob swordfish\n")
    kinds = [kind for kind in (WebsocketsPeer, WsprotoPeer) if importlib.util.find_spec(kind.module)]
    if WslayPeer.build(place):
        kinds.append(WslayPeer)
    has_browser = shutil.which("chromium")
    if not kinds and not has_browser:
        raise Unavailable("there is neither the package websockets nor wsproto of Python, no wslay, and no chromium")
    for kind in kinds:
        for scheme, more in (("ws", []), ("wss", options)):
            relay = Relay(place, *more, store=f"{kind.module}-{scheme}", access=("--tokens", tokens))
            tunnel = Tunnel(kind, relay.port, context if more else None)
            done = subprocess.run(
                [sys.executable, ROOT / "Specs/reference/interoperability.py", str(tunnel.port)],
                capture_output=True, timeout=TIMEOUT)
            tunnel.close()
            place.check(done.returncode == 0, f"the reference client talks through {kind.module}",
                        done.stderr.decode(errors="replace")[-500:] + relay.tail())
            place.check(relay.stop() == 0, "the relay ends")
            place.check(relay.wait_for("ended")["faults"] == 0, "the relay finds no fault")
    files(place, options, context)
    if has_browser:
        in_browser(place)
        page_of_relay(place)


def in_browser(place):
    """A page opens a WebSocket, sends a hello and receives the welcome."""
    sys.path.insert(0, str(ROOT / "Specs/reference"))
    from client import MINE
    from martlet_bodies import Hello
    from martlet_tlv import Version
    from martlet_wire import encode
    hello = encode(Hello(spoken_version=(Version(1, 0),), features=0, limits=MINE, device=7, account="ada",
                         credential=b"open-sesame", agent="browser"))
    script = """(async () => {
        const socket = new WebSocket(%s, "martlet");
        socket.binaryType = "arraybuffer";
        const hello = Uint8Array.from(%s);
        const end = (resolve) => { socket.onclose = (event) => resolve(["closed", event.code, event.wasClean]); };
        window.found = await new Promise((resolve) => {
            end(resolve);
            socket.onopen = () => { socket.send(hello.subarray(0, 9)); socket.send(hello.subarray(9)); };
            socket.onmessage = (event) => resolve([...new Uint8Array(event.data).subarray(0, 8)]);
        });
        if (window.found[0] === "closed") return;
        window.facts = [socket.protocol, socket.extensions];
        window.end = await new Promise((resolve) => { end(resolve); socket.close(1000); });
    })()"""
    tokens = place.folder / "tokens"
    relay = Relay(place, "--web-origin", "*", store="browser", access=("--tokens", tokens))
    strict = Relay(place, store="strict", access=("--tokens", tokens))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        page = browser.Browser(profile)
        try:
            def opened(port, member):
                page.evaluate("window.found = window.end = null; void 0")
                page.evaluate("void " + script % (json.dumps(f"ws://127.0.0.1:{port}/martlet"), list(hello)))
                return wait_until(lambda: page.evaluate(f"window.{member}"), "the answer in the browser")
            end = opened(relay.port, "end")
            found = page.evaluate("window.found")
            place.check(bytes(found[:4]) == hello[:4] and found[6:8] == [0x40, 2], "Chromium gets the welcome", found)
            place.check(page.evaluate("window.facts") == ["martlet", ""], "Chromium gets the subprotocol, no extension")
            place.check(end[1:] == [1000, True], "Chromium closes in good order", end)
            place.check(opened(strict.port, "found")[:2] == ["closed", 1006], "a page of another origin is refused")
        finally:
            page.process.terminate()
            page.process.wait()
    strict.wait_for("webSocketFailed")


def files(place, options, context):
    """The files of --web with and without TLS, after a reload, and of a folder that is refused."""
    folder = place.folder / "files"
    folder.mkdir()
    (folder / "index.html").write_text("<title>one</title>")
    (folder / ".secret").write_text("secret")
    (folder / "link.txt").symlink_to("/etc/passwd")
    large = os.urandom(4 << 20)
    (folder / "large.png").write_bytes(large)
    for more in ([], options):
        relay = Relay(place, "--web", folder, *more, store=f"files{len(more)}", access=("--allow-all",))

        def get(path, method="GET", **fields):
            connection = (http.client.HTTPSConnection("localhost", relay.port, timeout=TIMEOUT, context=context) if more
                          else http.client.HTTPConnection("localhost", relay.port, timeout=TIMEOUT))
            connection.request(method, path, headers={name.replace("_", "-"): each for name, each in fields.items()})
            response = connection.getresponse()
            return response.status, response.read(), response
        status, body, response = get("/")
        place.check(status == 200 and body == (folder / "index.html").read_bytes()
                    and response.getheader("Content-Type").startswith("text/html"), "a browser gets the page")
        place.check(get("/", If_None_Match=response.getheader("ETag"))[:2] == (304, b""),
                    "an unchanged file is not sent")
        place.check(get("/large.png")[1] == large, "a large file arrives whole")
        place.check(get("/large.png", "HEAD")[:2] == (200, b""), "HEAD has no content")
        found = [get(path)[0] for path in ("/.secret", "/link.txt", "/../files/index.html", "/%2e%2e/tokens", "/none")]
        place.check(found == [404] * 5 and get("/", "POST")[0] == 405, "other requests are refused", found)
        place.check(get("/martlet")[0] == 400, "the path of WebSockets is theirs")
        (folder / "index.html").write_text("<title>two</title>")
        place.check(relay.reload()["event"] == "reloaded" and b"two" in get("/")[1], "a reload reads the files again")
        os.truncate(folder / "large.png", (16 << 20) + 1)
        place.check("has more than 16 MiB" in relay.reload()["error"] and get("/large.png")[1] == large,
                    "a folder beyond the bound is refused, and the earlier files stay")
        checked = subprocess.run([str(word) for word in [*relay.command, "--check"]], capture_output=True)
        place.check(checked.returncode == 1 and b"has more than 16 MiB" in checked.stderr, "`serve --check` checks it")
        (folder / "large.png").write_bytes(large)
        place.check(relay.stop() == 0 and relay.wait_for("ended")["faults"] == 0, "the relay finds no fault")


def page_of_relay(place):
    """Chromium opens the chat page of the examples from the relay itself, and signs in with its client."""
    folder = place.folder / "chat"
    shutil.copytree(ROOT / "Examples/WebChat", folder)
    if not shutil.which("esbuild"):
        return
    subprocess.run(["esbuild", ROOT / "Clients/TypeScript/src/index.ts", "--bundle", "--format=esm",
                    "--target=es2022", f"--outfile={folder / 'martlet.js'}"], check=True, capture_output=True)
    relay = Relay(place, "--web", folder, store="page", access=("--allow-all",))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        page = browser.Browser(profile)
        try:
            page.page("Page.navigate", {"url": f"http://127.0.0.1:{relay.port}/"})
            page.wait("document.getElementById('sign-in')?.hidden === false", "the page of the relay")
            place.check(page.evaluate("getComputedStyle(document.querySelector('.card')).display") == "grid",
                        "the page has its style")
            page.evaluate("(() => { const form = document.getElementById('sign-in-form');"
                          "form.elements.account.value = 'ada'; form.requestSubmit(); })()")
            page.wait("document.getElementById('chat')?.hidden === false", "the chat")
            page.evaluate("(() => { document.getElementById('text').value = 'from the page';"
                          "document.getElementById('composer').requestSubmit(); })()")
            page.wait("document.getElementById('messages')?.innerText.includes('from the page')", "the message")
            faults = [event["params"] for event in page.events if event.get("method") == "Runtime.exceptionThrown"
                      or event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error"]
            place.check(not faults, "the browser reports no errors", faults)
            page.evaluate("window.done = null; fetch('https://example.com').then(() => window.done = 'sent',"
                          "() => window.done = 'refused'); void 0")
            place.check(wait_until(lambda: page.evaluate("window.done"), "the answer") == "refused",
                        "a page connects to its own host only")
        finally:
            page.process.terminate()
            page.process.wait()
    lines = relay.lines("lobby")
    place.check(lines == ["from the page"], "the page of the relay sends a message", lines)


def configuration(language, changes):
    """The configuration of the guide, with the ports and files of the test."""
    text = re.search(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL).group(1)
    for old, new in changes.items():
        if old not in text:
            raise Failure(f"the configuration of {language} in the guide has no '{old}'")
        text = text.replace(old, str(new))
    return text


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def start_nginx(place, port, relay, folder):
    server = configuration("nginx", {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl", "127.0.0.1:7227;": f"127.0.0.1:{relay.port};\n"
        f"        proxy_bind {PROXY};", "/etc/ssl/chat.pem": folder / "server.pem",
        "/etc/ssl/chat.key": folder / "server.key"})
    temporary = place.folder / "nginx-files"
    temporary.mkdir()
    paths = "\n".join(f"    {kind}_temp_path {temporary};" for kind in (
        "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    # A namespace of users may have no other user than root.
    user = "user root;\n" if os.geteuid() == 0 else ""
    file = place.folder / "nginx.conf"
    file.write_text(f"{user}daemon off;\npid {temporary}/pid;\nerror_log {temporary}/error.log;\nworker_processes 1;\n"
                    f"events {{}}\nhttp {{\n    access_log off;\n{paths}\n{server}}}\n")
    return ["-p", temporary, "-c", file]


def start_haproxy(place, port, relay, folder):
    joined = place.folder / "chat-and-key.pem"
    joined.write_bytes((folder / "server.pem").read_bytes() + (folder / "server.key").read_bytes())
    file = place.folder / "haproxy.cfg"
    file.write_text(configuration("haproxy", {
        "bind :443": f"bind 127.0.0.1:{port}", "/etc/ssl/chat-and-key.pem": joined,
        "127.0.0.1:7227": f"127.0.0.1:{relay.port} source {PROXY}"}))
    return ["-db", "-f", file]


def proxies(place):
    """nginx and HAProxy end TLS in front of a relay, as the guide configures them; the relay is killed meanwhile."""
    _, folder = certificates(place)
    kinds = {"nginx": (start_nginx, "--web-proxy"), "haproxy": (start_haproxy, "--proxy-protocol")}
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    found = {name: program for name in kinds if (program := shutil.which(name, path=path))}
    if not found:
        raise Unavailable("there is neither nginx nor haproxy")
    for name, program in found.items():
        make, option = kinds[name]
        relay = Relay(place, option, PROXY, store=name)
        port = free_port()
        log = (place.folder / f"{name}.out").open("wb")
        process = place.start([program, *make(place, port, relay, folder)], stdout=log, stderr=subprocess.STDOUT)

        def is_open():
            if process.poll() is not None:
                raise Failure(f"{name} has ended: {pathlib.Path(log.name).read_text(errors='replace')[-500:]}")
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0
        wait_until(is_open, f"{name} listens")
        front = Front(relay, port, folder)
        place.succeed("doctor", f"wss://localhost:{port}", "--trust", folder / "ca.pem")
        place.check(place.command("doctor", f"wss://localhost:{port}/other", "--trust", folder / "ca.pem").returncode
                    != 0, f"{name}: another path is refused")
        listener = Listener(place, front, "lobby", f"{name}-reader")
        sender = Sender(place, front, "lobby", f"{name}-writer", has_outbox=False)
        load = Load(sender)
        wait_until(lambda: len(listener.lines) > 50, f"messages through {name}")
        peer = relay.wait_for("signedIn", account=f"{name}-writer")["peer"]
        place.check(peer.startswith("127.0.0.1:"), f"{name}: the relay has the address of the client", peer)
        for _ in range(1 if place.is_quick else 3):
            count = len(listener.lines)
            relay.process.kill()
            relay.process.wait()
            relay.start()
            wait_until(lambda: len(listener.lines) > count + 100, f"messages through {name} after a kill of the relay")
        load.stop()
        sender.finish()
        listener.wait_for(sender.written[-1])
        check_once_in_order(place, listener.lines, [sender], f"{name}: every message once, in order, after kill -9")
        listener.stop()
        place.check(relay.stop() == 0, "the relay ends")
        process.terminate()
        process.wait()


class Front:
    """The address of a proxy, for commands of clients."""

    def __init__(self, relay, port, folder):
        self.relay, self.port, self.folder = relay, port, folder

    def to(self, room, account, *options):
        words = self.relay.to(room, account, "--trust", self.folder / "ca.pem", *options)
        return ["--to", f"wss://localhost:{self.port}", *words[2:]]
