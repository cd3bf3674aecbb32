"""The scenarios about the port of `serve --admin`."""

import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import time
import urllib.request

import browser
from programs import Load, Relay, Sender, Unavailable, wait_until

TOKEN = "a-token-of-an-administrator"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


class Port:
    """The port of a relay."""

    def __init__(self, relay, certificates=None):
        self.number = relay.wait_for("adminListening")["port"]
        self.context = None
        if certificates:
            self.context = ssl.create_default_context(cafile=certificates / "ca.pem")
            self.context.set_alpn_protocols(["http/1.1"])
        self.url = f"{'https' if self.context else 'http'}://localhost:{self.number}"

    def connect(self):
        if self.context:
            return http.client.HTTPSConnection("localhost", self.number, timeout=20, context=self.context)
        return http.client.HTTPConnection("127.0.0.1", self.number, timeout=20)

    def get(self, path, method="GET", **fields):
        """The status, the fields and the text of an answer."""
        connection = self.connect()
        try:
            connection.request(method, path, headers={name.replace("_", "-"): text for name, text in fields.items()})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            connection.close()

    def value(self, name, **fields):
        """The value of a sample, by its line without the value."""
        lines = self.get("/metrics", **fields)[2].splitlines()
        return next((float(line.rpartition(" ")[2]) for line in lines if line.rpartition(" ")[0] == name), None)


def events(answer, count):
    """The next events of a stream, as pairs of position and object."""
    found, position = [], None
    while len(found) < count:
        line = answer.readline().decode().rstrip("\n")
        if line.startswith("id: "):
            position = int(line[4:])
        elif line.startswith("data: "):
            found.append((position, json.loads(line[6:])))
    return found


def raw(port, data):
    """The answer to bytes that a client of HTTP would not send."""
    with socket.create_connection(("127.0.0.1", port.number), timeout=20) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65536):
            answer += part
        return answer.decode()


def slow_request(port):
    """The duration in seconds and the answer of a connection whose request never ends."""
    with socket.create_connection(("127.0.0.1", port.number), timeout=0.5) as connection:
        begin = time.monotonic()
        connection.sendall(b"GET / HTTP/1.1\r\nX: ")
        while time.monotonic() < begin + 20:
            try:
                answer = connection.recv(65536)
                break
            except TimeoutError:
                connection.sendall(b"x")
        else:
            answer = b""
        return time.monotonic() - begin, answer


def unread_requests(port):
    """Whether the port stops to read the requests of a client that does not read the answers."""
    request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port.number), timeout=1) as connection:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            try:
                connection.sendall(request * 1000)
            except TimeoutError:
                return True
        return False


def port(place):
    """Every path and every refusal of the port, in the clear, by a token and with TLS."""
    rules = place.folder / "alerts"
    rules.write_text("many: martlet_relay_messages_stored > 40\nfew: martlet_relay_messages_stored < 40\n")
    relay = Relay(place, "--admin", "0", "--alerts", rules)
    open_port = Port(relay)
    place.check(open_port.get("/health/live")[::2] == (200, "live\n"), "/health/live answers")
    place.check(open_port.get("/health/ready")[::2] == (200, "ready\n"), "/health/ready answers")
    place.check(open_port.get("/other")[0] == 404 and open_port.get("/metrics/")[0] == 404, "other paths are unknown")
    place.check(open_port.get("/metrics", "POST")[0] == 405, "other methods are refused")
    head = open_port.get("/metrics", "HEAD")
    place.check(head[2] == "" and int(head[1]["content-length"]) > 1000, "HEAD has the length, and no content")
    place.check(open_port.get("/metrics", Host="relay.example")[0] == 403, "another host's name is refused")
    for data, status in [(b"\x16\x03\x01\x02\x00\r\n\r\n", "400"),
                         (b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", "505"),
                         (b"GET /" + b"x" * 20000, "431"), (b"GET / HTTP/1.1\r\n\r\n", "400")]:
        answer = raw(open_port, data)
        place.check(answer.split(" ")[1:2] == [status], "invalid requests are answered with their fault", answer)
    pipelined = raw(open_port, b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
    place.check(pipelined.count("\r\n\r\nlive\n") == 100, "a hundred requests of one connection are answered in order")

    place.check(unread_requests(open_port), "requests of a client that reads no answers are not read")
    duration, answer = slow_request(open_port)
    place.check(9 < duration < 12 and b" 408 " in answer, "a request has ten seconds", (duration, answer))

    sender = Sender(place, relay, "lobby", "bob", has_outbox=False)
    sender.write(50)
    sender.finish()
    place.check(open_port.value("martlet_relay_messages_stored_total") == 50, "the stored messages are counted")
    calls = open_port.value('martlet_relay_store_call_seconds_count{call="append"}')
    place.check(calls >= 1, "calls of the store are timed")

    place.check(relay.wait_for("alertRaised", alert="many")["value"] == 50, "the log states a raised alert")
    relay.wait_for("alertEnded", alert="few")
    rules.write_text("many: martlet_relay_messages_stored > forty\n")
    place.check(relay.reload()["event"] == "reloadFailed", "invalid rules of alerts are not applied")
    rules.write_text("other: martlet_relay_messages_stored > 40\n")
    place.check(relay.reload()["event"] == "reloaded", "other rules of alerts are applied")
    relay.wait_for("alertEnded", alert="many")
    relay.wait_for("alertRaised", alert="other")

    connection = open_port.connect()
    connection.request("GET", "/events")
    answer = connection.getresponse()
    first = events(answer, 2)
    place.check(first[1][0] == first[0][0] + 1, "events have rising positions")
    place.check(first[1][1]["values"]["messages_stored"] in (0, 50), "events have the values")
    wait_until(lambda: "other" in events(answer, 1)[0][1]["alerts"], "the raised alert in the events")
    connection.close()
    connection = open_port.connect()
    connection.request("GET", "/events", headers={"Last-Event-ID": str(first[0][0])})
    stream = connection.getresponse()
    place.check(events(stream, 1)[0][0] == first[1][0], "a stream continues after Last-Event-ID")
    relay.stop()
    while stream.readline():
        pass
    place.check(True, "a stream ends with the relay")

    tokens = place.folder / "token"
    tokens.write_text(TOKEN + "\n")
    made = place.folder / "certificates"
    place.succeed("dev-cert", "--directory", made)
    refused = place.command("serve", "--allow-all", "--listen", "0", "--admin", "0.0.0.0:0")
    place.check(refused.returncode == 64, "an address of the network requires certificates", refused.stderr)
    tls = ("--certificate", made / "server.pem", "--key", made / "server.key")
    refused = place.command("serve", "--allow-all", "--listen", "0", "--admin", "0.0.0.0:0", *tls)
    place.check(refused.returncode == 64, "an address of the network requires credentials", refused.stderr)
    relay = Relay(place, "--admin", "0.0.0.0:0", "--admin-token", tokens, *tls, store="tls", scheme="martlets")
    secured = Port(relay, made)
    place.check(secured.get("/health/ready")[0] == 200, "TLS: health without the token")
    status, fields, _ = secured.get("/metrics")
    place.check((status, fields.get("www-authenticate")) == (401, "Bearer"), "TLS: metrics require the token")
    place.check(secured.get("/metrics", Authorization=f"Bearer {TOKEN}")[0] == 200, "TLS: the token is accepted")
    place.check(secured.get("/metrics", Authorization=f"Bearer {TOKEN}x")[0] == 401, "TLS: others are refused")
    tokens.write_text("short\n")
    place.check(relay.reload()["event"] == "reloadFailed", "an invalid token is not applied")
    place.check(secured.get("/metrics", Authorization=f"Bearer {TOKEN}")[0] == 200, "the earlier token remains")
    tokens.write_text(TOKEN + "-2\n")
    place.check(relay.reload()["event"] == "reloaded", "another token is applied")
    place.check(secured.get("/metrics", Authorization=f"Bearer {TOKEN}")[0] == 401, "the earlier token is refused")
    place.check(secured.get("/metrics", Authorization=f"Bearer {TOKEN}-2")[0] == 200, "the new token is accepted")


def scraping(place):
    """promtool accepts the metrics, and Prometheus scrapes them."""
    for program in ("promtool", "prometheus"):
        if not shutil.which(program):
            raise Unavailable(f"there is no {program}")
    relay = Relay(place, "--admin", "0")
    admin = Port(relay)
    load = Load(Sender(place, relay, "lobby", "bob", has_outbox=False))
    wait_until(lambda: admin.value("martlet_relay_messages_stored_total") > 100, "a hundred messages")
    text = admin.get("/metrics")[2]
    lint = subprocess.run(["promtool", "check", "metrics"], input=text.encode(), capture_output=True)
    place.check(lint.returncode == 0, "promtool accepts the metrics", lint.stderr.decode())
    names = {line.split(" ")[2] for line in text.splitlines() if line.startswith("# HELP ")}
    samples = {line.partition("{")[0].partition(" ")[0] for line in text.splitlines() if not line.startswith("#")}
    suffixes = ("_bucket", "_sum", "_count")
    lost = [name for name in samples if name not in names and not any(
        name.endswith(suffix) and name[: -len(suffix)] in names for suffix in suffixes)]
    place.check(not lost, "every metric has its HELP", lost)
    text = admin.get("/metrics", Accept=OPEN_METRICS)[2]
    place.check(text.endswith("# EOF\n"), "OpenMetrics ends with EOF")

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    configuration = place.folder / "prometheus.json"
    configuration.write_text(json.dumps({
        "global": {"scrape_interval": "1s"},
        "scrape_configs": [{"job_name": "martlet", "static_configs": [{"targets": [f"127.0.0.1:{admin.number}"]}]}]}))
    place.start(["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={place.folder / 'tsdb'}",
                 f"--web.listen-address=127.0.0.1:{number}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def query(text):
        try:
            url = f"http://127.0.0.1:{number}/api/v1/query?query={text}"
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)["data"]["result"]
        except OSError:
            return []
    wait_until(lambda: query("martlet_relay_messages_stored_total%20%3E%20100"), "Prometheus has the stored messages")
    place.check(query("up")[0]["value"][1] == "1", "Prometheus scrapes the port")
    quantile = "histogram_quantile(0.99,martlet_relay_store_call_seconds_bucket%7Bcall=%22append%22%7D)"
    place.check(float(query(quantile)[0]["value"][1]) > 0, "Prometheus computes quantiles of a histogram")
    load.stop()


def status_page(place):
    """The status page in a browser, while 100 other readers have the events."""
    if not shutil.which("chromium"):
        raise Unavailable("there is no chromium")
    tokens = place.folder / "token"
    tokens.write_text(TOKEN + "\n")
    relay = Relay(place, "--admin", "0", "--admin-token", tokens, "--cards", "ci", "--cards", "no messages")
    admin = Port(relay)
    load = Load(Sender(place, relay, "lobby", "bob", has_outbox=False))

    def publish(name, status, *options, account="bot"):
        place.succeed("card", *relay.to("ci", account), "--id", name, "--status", status, *options)

    publish("build-7", "running", "--title", "Build 7 of main", "--detail", "branch=main",
            "--detail", "commit=0123456789abcdef0123456789abcdef01234567", "--url", "https://ci.example/builds/7")
    publish("checkout", "ok", "--title", "Feature flag “new checkout”", "--detail", "share=50 %")
    publish("db-1", "warning", "--title", "Database 1", "--detail", "disk=91 % full", "--detail", "load=0.7")
    publish("markup", "failed", "--title", "<img src=x onerror=alert(1)>", "--detail", "<b>key</b>=<script>1</script>")
    publish("gone", "ok")
    publish("gone", "removed")
    publish("build-7", "unknown", "--title", "Build 7 of another account", account="carol")
    readers = []
    for _ in range(100):
        connection = admin.connect()
        connection.request("GET", "/events", headers={"Authorization": f"Bearer {TOKEN}"})
        place.check(connection.getresponse().status == 200, "100 readers have the events")
        readers.append(connection)
    screenshots = os.environ.get("MARTLET_SCREENSHOTS")
    if screenshots:
        time.sleep(20)
    browser.check_status_page(place, f"http://127.0.0.1:{admin.number}/", TOKEN, publish, screenshots)

    def stream(last=None):
        """The events of a new stream, or of one that continues, up to the latest card."""
        connection = admin.connect()
        fields = {"Last-Event-ID": str(last)} if last else {}
        connection.request("GET", "/events", headers={"Authorization": f"Bearer {TOKEN}"} | fields)
        answer, found = connection.getresponse(), []
        while not found or isinstance(found[-1][1], list) or found[-1][1].get("id") != "build-8":
            found += events(answer, 1)
        connection.close()
        return found
    everything = stream()
    place.check(everything[0][1] == ["ci", "no messages"], "a new stream begins with the rooms of cards", everything[0])
    last = next(number for number, event in everything[1:] if event.get("id") == "db-1")
    place.check(all(isinstance(event, dict) and number > last for number, event in stream(last)),
                "a stream that continues has later events only")
    for connection in readers:
        connection.close()
    load.stop()
