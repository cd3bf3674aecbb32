"""The scenario about the files that a relay reads again after SIGHUP."""

import base64
import json
import os
import shutil
import subprocess

from programs import Failure, Listener, Relay, wait_until

PASSWORD = "correct horse battery staple"
# Root opens files regardless of their permissions, unless it lacks these capabilities.
WITH_PERMISSIONS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()


class File:
    """A file of the options, and the ways in which it can be broken."""

    def __init__(self, path, truncated=b"", other=b"", accepts_empty=False):
        self.path = path
        self.content = path.read_bytes()
        self.breaks = {
            "empty": None if accepts_empty else lambda: path.write_bytes(b""),
            "truncated": (lambda: path.write_bytes(truncated)) if truncated else None,
            "another": (lambda: path.write_bytes(other)) if other else None,
            "garbage": lambda: path.write_bytes(b"\xff\xfe\x00 garbage\n" * 19),
            "missing": lambda: None,
            "a folder": path.mkdir,
            "a loop of links": lambda: path.symlink_to(path.name),
            "unreadable": lambda: (path.write_bytes(self.content), path.chmod(0)),
        }

    def remove(self):
        if self.path.is_dir() and not self.path.is_symlink():
            self.path.rmdir()
        else:
            self.path.unlink(missing_ok=True)

    def damage(self, name):
        self.remove()
        self.breaks[name]()

    def mend(self):
        self.remove()
        self.path.write_bytes(self.content)
        self.path.chmod(0o600)


def certificates(place):
    folder = place.folder / "certificates"
    place.succeed("dev-cert", "--directory", folder)
    return folder


def reload(place):
    """Each file that SIGHUP reads is broken in each way: nothing is applied, and the log states file and reason."""
    made, other = certificates(place), place.folder / "others"
    place.succeed("dev-cert", "--directory", other)
    folder = place.folder / "files"
    folder.mkdir()
    for name, source in [("certificate", "server.pem"), ("key", "server.key"), ("client-ca", "ca.pem")]:
        shutil.copy(made / source, folder / name)
    (folder / "ticket-keys").write_bytes(os.urandom(160))
    (folder / "tokens").write_text("bob one\ncanary two\nada three\n")
    (folder / "rooms").write_text("allow all in * to everyone\n")
    (folder / "revoked").write_text("mallory\n")
    (folder / "push-secret").write_text("a secret of more than 16 bytes\n")
    encrypted = subprocess.run(
        ["openssl", "pkey", "-in", made / "server.key", "-aes256", "-passout", "pass:secret"], capture_output=True)
    tls = {
        "certificate": File(folder / "certificate", (folder / "certificate").read_bytes()[:300],
                            (other / "server.pem").read_bytes()),
        "key": File(folder / "key", (folder / "key").read_bytes()[:100], (other / "server.key").read_bytes()),
        "client-ca": File(folder / "client-ca", (folder / "client-ca").read_bytes()[:300]),
        "ticket-keys": File(folder / "ticket-keys", bytes(100)),
        "tokens": File(folder / "tokens", b"bob one\ncanary\n", b"bob one\nbob two\n"),
        "rooms": File(folder / "rooms", b"allow all in", b"permit all in * to everyone\n"),
        "revoked": File(folder / "revoked", accepts_empty=True, other=b"\xc3\n"),
        "push-secret": File(folder / "push-secret", b"a secret"),
    }
    if encrypted.returncode == 0:
        tls["key"].breaks["encrypted"] = lambda: (folder / "key").write_bytes(encrypted.stdout)
    break_all(place, folder, tls, made)
    passwords(place)
    keys(place)


def break_all(place, folder, files, authority):
    options = [word for name in files for word in (f"--{name}", folder / name)]
    audit = place.folder / "audit"
    # No message is reported to the gateway, because no account has joined the room.
    gateway = ["--push-webhook", "http://localhost:9/"]
    relay = Relay(place, "--audit", audit, *gateway, *options, access=(), scheme="martlets", wrapper=WITH_PERMISSIONS)
    credentials = ["--trust", authority / "ca.pem", "--token"]
    listener = Listener(place, relay, "lobby", "bob", *credentials, "one")
    number = 0

    for name, file in files.items():
        # A valid change of another file, which the reload of a broken one must not apply.
        canary = files["rooms" if name == "revoked" else "revoked"]
        change = b"deny in * to account canary\n" if name == "revoked" else b"mallory\ncanary\n"
        for kind, damage in file.breaks.items():
            if damage is None:
                continue
            what = f"{name}: {kind}"
            file.damage(kind)
            canary.path.write_bytes(change + canary.content if name == "revoked" else change)
            # A certificate and a key that do not belong together: the key is named.
            check_refused(place, relay, files["key"].path if what == "certificate: another" else file.path, what)
            number += 1
            line = f"ada.{number}"
            place.check(sends(place, relay, "canary", [*credentials, "two"], line),
                        "nothing of the reload is applied", what)
            listener.wait_for(line)
            file.mend()
            if kind != "unreadable":
                canary.mend()
                continue
            result = relay.reload()
            place.check(result["event"] == "reloaded", "the mended files are applied", f"{what}: {result}")
            place.check(not sends(place, relay, "canary", [*credentials, "two"], "refused"),
                        "a valid change of another file is applied with them", what)
            canary.mend()
            place.check(relay.reload()["event"] == "reloaded", "the mended files are applied", what)
    break_audit(place, relay, audit)
    place.check([each for each in relay.events() if each["event"] == "signedIn" and each["account"] == "bob"][1:] == [],
                "connected clients stay")
    place.check(relay.stop() == 0, "the relay ends with 0")


def break_audit(place, relay, audit):
    """A file of --audit that cannot be opened. The earlier file receives the records."""
    aside = audit.with_name("audit.1")
    audit.rename(aside)
    audit.mkdir()
    check_refused(place, relay, audit, "audit: a folder")
    audit.rmdir()
    # The audit log has a writer of its own, which may be later than the log.
    wait_until(lambda: b"reloadFailed" in aside.read_bytes().splitlines()[-1], "the record in the earlier audit log")
    place.check(True, "the earlier audit log continues")
    place.check(relay.reload()["event"] == "reloaded" and audit.exists(), "the mended files are applied", "audit")


def sends(place, relay, account, credentials, line):
    """Whether an account signs in and sends a line. A refused account ends with 77."""
    done = place.command("send", *relay.to("lobby", account, *credentials), "--timeout", "20",
                         input=line.encode() + b"\n")
    if done.returncode not in (0, 77):
        raise Failure(f"{account}: {done.returncode}: {done.stderr.decode()}")
    return done.returncode == 0


def check_refused(place, relay, path, what):
    """A start, `serve --check` and a reload refuse a broken file, and name it."""
    checked = subprocess.run([str(word) for word in relay.command] + ["--check"], capture_output=True,
                             stdin=subprocess.DEVNULL, timeout=60)
    place.check(checked.returncode == 1, "`serve --check` ends with 1", f"{what}: {checked}")
    place.check(str(path).encode() in checked.stderr, "`serve --check` names the file", f"{what}: {checked.stderr}")
    result = relay.reload()
    place.check(result["event"] == "reloadFailed", "the log states that the reload failed", f"{what}: {result}")
    place.check(str(path) in result["error"], "and names the file", f"{what}: {result}")
    place.check(len(result["error"]) > len(str(path)) + 5, "with a reason", f"{what}: {result}")


def passwords(place):
    """The same for a file of passwords."""
    path = place.folder / "passwords"
    for account in ("bob", "ada"):
        place.succeed("user", "add", account, "--file", path, input=f"{PASSWORD}\n".encode())
    secret = place.folder / "password"
    secret.write_text(f"{PASSWORD}\n")
    credentials = ["--plaintext", "--password-file", secret]
    file = File(path, path.read_bytes()[:-20])
    relay = Relay(place, "--passwords", path, store="passwords-store", access=("--plaintext",),
                  wrapper=WITH_PERMISSIONS)
    listener = Listener(place, relay, "lobby", "bob", *credentials, name="passwords")
    for number, (kind, damage) in enumerate(file.breaks.items()):
        if damage is None:
            continue
        file.damage(kind)
        check_refused(place, relay, path, f"passwords: {kind}")
        place.check(sends(place, relay, "ada", credentials, f"ada.{number}"), "clients sign in as before")
        listener.wait_for(f"ada.{number}")
        file.mend()
    place.succeed("user", "remove", "ada", "--file", path)
    place.check(relay.reload()["event"] == "reloaded", "the mended files are applied")
    place.check(not sends(place, relay, "ada", credentials, "refused"), "the mended files are applied")
    relay.stop()


def keys(place):
    """The same for a set of keys."""
    path = place.folder / "keys"
    key = {"kty": "oct", "alg": "HS256", "kid": "1", "k": base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")}
    path.write_text(json.dumps({"keys": [key]}))
    file = File(path, path.read_bytes()[:40], b'{"keys": []}')
    relay = Relay(place, "--jwks", path, "--audience", "chat", store="keys-store", access=(),
                  wrapper=WITH_PERMISSIONS)
    for kind, damage in file.breaks.items():
        if damage is None:
            continue
        file.damage(kind)
        check_refused(place, relay, path, f"keys: {kind}")
        file.mend()
    place.check(relay.reload()["event"] == "reloaded", "the mended files are applied")
    relay.stop()
