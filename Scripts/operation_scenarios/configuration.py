"""The scenario about the configuration file of a relay."""

import json
import subprocess

from programs import Relay

BROKEN = {
    "an unknown member": ({"log-levle": "info"}, "log-levle"),
    "a wrong type": ({"drain": True}, "drain"),
    "an invalid value": ({"memory": "little"}, "memory"),
    "a member of the command line only": ({"check": True}, "check"),
    "a missing file of a member": ({"tokens": "/none/tokens"}, "/none/tokens"),
}


class Configuration:
    def __init__(self, path, **members):
        self.path, self.members = path, {name.replace("_", "-"): value for name, value in members.items()}
        self.write()

    def write(self, **changes):
        """Writes the members with changes; None removes a member."""
        changes = {name.replace("_", "-"): value for name, value in changes.items()}
        members = {name: value for name, value in (self.members | changes).items() if value is not None}
        self.path.write_text(json.dumps(members, indent=2))


def signs_in(place, relay, account, token):
    done = place.command("send", *relay.to("lobby", account, "--token", token), "--timeout", "20", input=b"line\n")
    return done.returncode == 0


def configuration(place):
    """A relay with a configuration file: reloads apply all changes or none, and name those that need a restart."""
    tokens, others, revoked = (place.folder / name for name in ("tokens", "others", "revoked"))
    tokens.write_text("ada one\nbob two\n")
    others.write_text("ada three\nbob two\n")
    revoked.write_text("bob\n")
    file = Configuration(place.folder / "relay.json", tokens=str(tokens), history=1000, spin="50ms", quiet=False,
                         proxy_protocol=["192.0.2.1", "192.0.2.0/28"])
    relay = Relay(place, "--config", file.path, access=())
    place.check(signs_in(place, relay, "ada", "one"), "the members are options")
    check = lambda: subprocess.run([str(word) for word in [*relay.command, "--check"]], capture_output=True)
    place.check(check().returncode == 0, "`serve --check` accepts the file")

    for name, (members, named) in BROKEN.items():
        file.write(**members, revoked=str(revoked))
        checked = check()
        place.check(checked.returncode == 1 and named in checked.stderr.decode(), "`serve --check` names the member",
                    f"{name}: {checked}")
        result = relay.reload()
        place.check(result["event"] == "reloadFailed" and named in result["error"], "a reload names the member",
                    f"{name}: {result}")
        place.check(signs_in(place, relay, "bob", "two"), "nothing of the file is applied", name)

    file.write(tokens=str(others), revoked=str(revoked))
    place.check(relay.reload()["event"] == "reloaded", "another file of tokens is read")
    place.check(signs_in(place, relay, "ada", "three") and not signs_in(place, relay, "ada", "one"),
                "another file of tokens is read")
    place.check(not signs_in(place, relay, "bob", "two"), "an added file of revoked accounts is read")

    mark = relay.mark()
    file.write(tokens=str(tokens), history=2000, rooms=str(place.folder / "rooms"), log_level="debug")
    place.check(relay.reload()["event"] == "reloaded", "changes that need a restart do not prevent the others")
    event = relay.wait_for("restartRequired", mark)
    place.check(event["options"] == ["history", "rooms"], "changes that need a restart are named", event)
    place.check(signs_in(place, relay, "ada", "one") and signs_in(place, relay, "bob", "two"),
                "changes that need a restart do not prevent the others")
    relay.wait_for("ended", mark, account="ada")
    place.check(True, "the level of the log changes")
    file.write()
    mark = relay.mark()
    place.check(relay.reload()["event"] == "reloaded" and relay.stop() == 0, "the relay ends with 0")
    place.check(all(each["event"] != "restartRequired" for each in relay.events(mark)),
                "a change that is taken back is not named")
