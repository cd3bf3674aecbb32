"""The scenario about points of telemetry, which a relay writes to InfluxDB."""

import json
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from monitoring import Port
from programs import Failure, Relay, Unavailable, wait_until


class Database:
    """A process of Debian's InfluxDB 1, with one database."""

    def __init__(self, place):
        self.place = place
        folder = place.folder / "influxdb"
        self.port, admin = free_ports(2)
        self.configuration = place.folder / "influxdb.conf"
        self.configuration.write_text(
            f'reporting-disabled = true\nbind-address = "127.0.0.1:{admin}"\n'
            f'[meta]\ndir = "{folder / "meta"}"\n'
            f'[data]\ndir = "{folder / "data"}"\nwal-dir = "{folder / "wal"}"\n'
            f'[http]\nbind-address = "127.0.0.1:{self.port}"\nlog-enabled = false\n'
            '[monitor]\nstore-enabled = false\n')
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()
        self.query("CREATE DATABASE app", is_change=True)

    def start(self):
        log = (self.place.folder / "influxdb.log").open("ab")
        self.process = self.place.start(
            ["influxd", "-config", self.configuration], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self.answers, "an answer of InfluxDB")

    def answers(self):
        try:
            return urllib.request.urlopen(f"{self.url}/ping", timeout=5).status == 204
        except (urllib.error.URLError, OSError):
            return False

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def query(self, text, is_change=False):
        """The series of a result."""
        data = urllib.parse.urlencode({"q": text, "db": "app", "epoch": "ns"})
        body = data.encode() if is_change else None
        url = f"{self.url}/query" + ("" if is_change else f"?{data}")
        answer = json.load(urllib.request.urlopen(urllib.request.Request(url, body), timeout=20))
        result = answer["results"][0]
        if "error" in result:
            raise Failure(f"InfluxDB refuses {text!r}: {result['error']}")
        return result.get("series", [])

    def numbers(self, measurement):
        """The values of the field `number` of all points, in order."""
        found = self.query(f'SELECT "number" FROM "{measurement}"')
        return sorted(row[1] for row in found[0]["values"]) if found else []


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Recorder:
    """Points with rising numbers. A call returns when the relay has stored its points."""

    def __init__(self, place, relay):
        self.place, self.relay = place, relay
        self.count = 0

    def options(self):
        return ["--to", f"martlet://127.0.0.1:{self.relay.port}", "--account", "ada", "--max-wait", "1",
                "--tag", "screen=chat"]

    def record(self, count):
        lines = "".join(f"number={self.count + index} share=0.5 ok=true text=a,b\n" for index in range(count))
        self.place.succeed("record", "points", *self.options(), input=lines.encode())
        self.count += count

    @property
    def recorded(self):
        return list(range(self.count))


def influxdb(place):
    """Points reach InfluxDB once, also when it is away for ten minutes and the relay is killed meanwhile."""
    if not shutil.which("influxd"):
        raise Unavailable("there is no influxd")
    database = Database(place)
    spool = place.folder / "spool"
    relay = Relay(
        place, "--admin", f"127.0.0.1:{free_ports(1)[0]}", "--telemetry", f"{database.url}/write?db=app",
        "--telemetry-spool", spool, "--telemetry-spool-size", "1M")
    recorder = Recorder(place, relay)
    recorder.record(50)
    wait_until(lambda: database.numbers("points") == recorder.recorded, "fifty points")
    place.check(True, "points arrive, each once")
    series = database.query("SHOW SERIES")[0]["values"]
    names = [row[0] for row in series]
    place.check(len(names) == 1 and ",client=martlet" in names[0] and names[0].endswith(",screen=chat"),
                "a series has the tags of the point and the client, and no account", names)
    types = dict(database.query('SHOW FIELD KEYS FROM "points"')[0]["values"])
    place.check(types == {"number": "integer", "share": "float", "ok": "boolean", "text": "string"},
                "fields have their types", types)
    escapes(place, recorder, database)

    database.stop()
    minutes = 0.1 if place.is_quick else 10
    deadline = time.monotonic() + minutes * 60
    kills = 0
    while time.monotonic() < deadline or kills < 3:
        recorder.record(20)
        relay.process.send_signal(signal.SIGKILL)
        relay.process.wait()
        relay.start()
        kills += 1
        recorder.record(20)
        time.sleep(0.2 if place.is_quick else 10)
    relay.wait_for("telemetryUnavailable")
    place.check(True, "the log states an outage")
    place.check(database.process.poll() is not None and recorder.count > 50, "points are accepted during an outage")
    database.start()
    wait_until(lambda: len(database.numbers("points")) >= recorder.count, "the points of the outage", 120)
    place.check(database.numbers("points") == recorder.recorded,
                "after an outage, and kills of the relay meanwhile, each accepted point is there once")
    relay.wait_for("telemetryRecovered")
    refusals(place, relay, recorder, database)

    relay.stop()
    other = place.command("serve", "--allow-all", "--listen", "0", "--telemetry-spool", spool)
    place.check(other.returncode == 64, "a spool requires --telemetry", other.stderr)
    relay.start()
    other = place.command(
        "serve", "--allow-all", "--listen", "0", "--telemetry", f"{database.url}/write?db=app",
        "--telemetry-spool", spool)
    place.check(other.returncode == 73, "a spool has one relay", other.stderr)
    full_spool(place, relay, recorder, database)
    place.check(relay.stop() == 0, "the relay ends with 0")
    database.stop()


def escapes(place, recorder, database):
    """Special characters in all parts of a point."""
    measurement, key, value, text = 'a b,c=d"e', "k ,=", 'v ,="\\x', 'say "a\\b",\nc=d'
    place.succeed("record", measurement, *recorder.options(), "--tag", f"k={value}", "--field", f"f={text}",
                  "--field", "number=1")
    found = wait_until(lambda: database.query("SELECT * FROM /^a b/"), "the point with special characters")[0]
    row = dict(zip(found["columns"], found["values"][0]))
    place.check(found["name"] == measurement and row["k"] == value and row["f"] == text,
                "special characters arrive unchanged", (key, found))


def refusals(place, relay, recorder, database):
    """A point that InfluxDB refuses is dropped, and does not hold up others."""
    mark = relay.mark()
    # The field is an integer in earlier points.
    place.succeed("record", "points", *recorder.options(), "--field", "number=much")
    rejected = relay.wait_for("telemetryRejected", mark)
    place.check(rejected["count"] == 1 and rejected["status"] == 400, "a refused point is dropped, and logged")
    recorder.record(5)
    wait_until(lambda: database.numbers("points") == recorder.recorded, "the points after a refused one")


def full_spool(place, relay, recorder, database):
    """A relay with a full spool refuses points, and their client keeps them."""
    database.stop()
    mark = relay.mark()
    lines = "".join(f"number={number} text={'x' * 400}\n" for number in range(4000))
    process = place.start(
        [place.martlet, "record", "many", *recorder.options()], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(lines.encode())
    process.stdin.close()
    relay.wait_for("telemetrySpoolFull", mark)
    admin = Port(relay)
    size = admin.value("martlet_relay_telemetry_spool_bytes")
    place.check(900_000 < size <= 1 << 20, "the spool keeps its bound", size)
    place.check(admin.value("martlet_relay_telemetry_refused_total") > 0, "refused batches are counted")
    database.start()
    place.check(process.wait(180) == 0, "the client sends again what a full spool has refused", process.stderr.read())
    wait_until(lambda: len(database.numbers("many")) == 4000, "all points of the client", 120)
    place.check(database.numbers("many") == list(range(4000)), "no point is lost beyond the bound of the spool")
    wait_until(lambda: admin.value("martlet_relay_telemetry_spool_bytes") == 0, "an empty spool")
