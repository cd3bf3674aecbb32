"""The scenario about attachments in a bucket of S3, of which moto has a stand-in."""

import json
import pathlib
import signal
import sys
import threading

from programs import TIMEOUT, Failure, Relay, Unavailable, random_file, wait_until

PACKAGES = pathlib.Path(__file__).resolve().parents[2] / ".build/python"
BUCKET, PREFIX, REGION = "attachments", "chat/main", "eu-central-1"


class Service:
    """A service in this process, which checks signatures and permissions. Its objects remain while it is away."""

    def __init__(self):
        sys.path.insert(0, str(PACKAGES))
        try:
            import boto3
            import moto.settings
            from moto.iam.access_control import S3IAMRequest
            from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        except ImportError:
            raise Unavailable("there is no moto")
        create_request = S3IAMRequest._create_aws_request

        def create_encoded_request(request):
            # moto has decoded what is signed in its encoded form.
            path, mark, query = request._path.partition("?")
            request._path = path + mark + query.replace("/", "%2F")
            return create_request(request)
        S3IAMRequest._create_aws_request = create_encoded_request
        self.app, self.port = DomainDispatcherApplication(create_backend_app), 0
        # The first and the last byte of each chunk that was written, in the order of requests.
        self.chunks = []
        # Chunks from this byte on wait for the gate.
        self.limit, self.gate, self.is_away = None, threading.Event(), False
        self.start()
        options = {"endpoint_url": self.url, "region_name": REGION, "aws_access_key_id": "admin",
                   "aws_secret_access_key": "admin"}
        boto3.client("s3", **options).create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        iam = boto3.client("iam", **options)
        iam.create_user(UserName="relay")
        iam.put_user_policy(UserName="relay", PolicyName="attachments", PolicyDocument=json.dumps(policy()))
        key = iam.create_access_key(UserName="relay")["AccessKey"]
        self.key, self.secret = key["AccessKeyId"], key["SecretAccessKey"]
        moto.settings.INITIAL_NO_AUTH_ACTION_COUNT = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Quiet(WSGIRequestHandler):
            def log(self, *arguments):
                pass
        self.is_away = False
        self.server = make_server("127.0.0.1", self.port, self.serve, threaded=True, request_handler=Quiet)
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def hold(self, limit):
        """Lets chunks from a byte on wait."""
        self.limit = limit
        self.gate.clear()

    def release(self):
        self.limit = None
        self.gate.set()

    def stop(self):
        """Ends the service. Requests that wait have no answer of it."""
        self.is_away = True
        self.release()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def serve(self, environment, start_response):
        path = environment["PATH_INFO"]
        if environment["REQUEST_METHOD"] != "PUT" or f"/{PREFIX}/u/" not in path:
            return self.app(environment, start_response)
        start = int(path.rsplit("/", 1)[1].split("-")[0], 16)
        if self.limit is not None and start >= self.limit:
            self.gate.wait(TIMEOUT)
        if self.is_away:
            raise ConnectionError("the service is away")
        result = self.app(environment, start_response)
        self.chunks.append((start, start + int(environment["CONTENT_LENGTH"])))
        return result

    def wait_for(self, end, mark):
        """Waits until a chunk after the mark ends at this byte or after it."""
        wait_until(lambda: any(chunk[1] >= end for chunk in self.chunks[mark:]), "a third of an upload")

    def credentials(self, place, secret=None):
        path = place.folder / "credentials"
        path.write_text(f"[default]\naws_access_key_id = {self.key}\naws_secret_access_key = {secret or self.secret}\n")
        return path

    def options(self, credentials):
        return ["--attachment-folder", f"s3://{BUCKET}/{PREFIX}", "--attachment-region", REGION,
                "--attachment-endpoint", self.url, "--attachment-credentials", credentials]


def policy():
    """The policy for the key of a relay, which the guide states."""
    guide = (pathlib.Path(__file__).resolve().parents[2] / "Guides/postgres.md").read_text()
    return json.loads(guide.split("```json\n")[1].split("```")[0])


def s3(place):
    """Attachments in a bucket that two relays share, also when one is killed and when the service is away."""
    service = Service()
    credentials = service.credentials(place)
    one = Relay(place, *service.options(credentials), store="one")
    two = Relay(place, *service.options(credentials), store="two")
    byte_count = 1_500_000 if place.is_quick else 30_000_000

    first = random_file(place.folder / "first", byte_count)
    place.check(one.upload(first, "lobby", "ada").returncode == 0, "an upload to a bucket")
    mark = len(service.chunks)
    place.check(two.upload(first, "lobby", "bob").returncode == 0 and len(service.chunks) == mark,
                "a different relay has the attachment", service.chunks[mark:])
    for relay in (one, two):
        place.check(relay.download("lobby", "first") == first.read_bytes(), "identical bytes from both relays")

    killed(place, service, one, two, byte_count)
    away(place, service, one, two, byte_count)
    refused(place, service, two)
    for relay in (one, two):
        place.check(relay.stop() == 0, "the relays end with 0")
        place.check(service.secret not in relay.log.read_text(), "no secret is in the log")
    service.stop()


def killed(place, service, one, two, byte_count):
    """A relay is killed in the middle of an upload, which continues at a different one."""
    file = random_file(place.folder / "second", byte_count)
    mark = len(service.chunks)
    service.hold(byte_count / 3)
    upload = place.start([place.martlet, "send", *one.to("lobby", "ada"), "--file", file])
    service.wait_for(byte_count / 3, mark)
    one.process.send_signal(signal.SIGKILL)
    one.process.wait()
    upload.kill()
    upload.wait()
    chunks, mark = service.chunks[mark:], len(service.chunks)
    service.release()
    place.check(all(end < byte_count for _, end in chunks), "a relay is killed in the middle of an upload", chunks)
    place.check(two.upload(file, "lobby", "ada").returncode == 0, "an upload to a bucket")
    place.check(min(start for start, _ in service.chunks[mark:]) > byte_count / 4,
                "the upload continues at a different relay", service.chunks[mark:])
    one.start()
    place.check(one.upload(file, "lobby", "bob").returncode == 0, "an upload to a bucket")
    for relay in (one, two):
        place.check(relay.download("lobby", "second") == file.read_bytes(), "identical bytes from both relays")


def away(place, service, one, two, byte_count):
    """The service is away for some seconds during an upload."""
    file = random_file(place.folder / "third", byte_count)
    begun, mark = len(service.chunks), one.mark()
    service.hold(byte_count / 3)
    upload = place.start([place.martlet, "send", *one.to("lobby", "ada"), "--file", file])
    service.wait_for(byte_count / 3, begun)
    service.stop()
    failed = one.wait_for("storeFailed", mark)
    place.check("does not answer" in failed["error"], "the log states why uploads wait", failed)
    place.check(upload.poll() is None, "an upload waits while the service is away")
    service.start()
    place.check(upload.wait(60) == 0, "and continues when it is back")
    place.check(one.download("lobby", "third") == file.read_bytes(), "identical bytes after an outage")


def refused(place, service, relay):
    """Credentials that the service refuses, at the start and at a reload."""
    wrong = service.credentials(place, "x" * 40)
    for words, code in [(["--check"], 1), ([], 73)]:
        done = place.command("serve", "--allow-all", "--listen", "0", *service.options(wrong), *words)
        place.check(done.returncode == code and b"SignatureDoesNotMatch" in done.stderr
                    and b"xxxx" not in done.stderr, "a wrong secret is named at the start", done.stderr)
    relay.reload()
    mark = relay.mark()
    upload = place.start(
        [place.martlet, "send", *relay.to("lobby", "ada"), "--file", random_file(place.folder / "last", 1000)])
    failed = relay.wait_for("storeFailed", mark)
    place.check("SignatureDoesNotMatch" in failed["error"], "and in the log", failed)
    service.credentials(place)
    if relay.reload()["event"] != "reloaded":
        raise Failure(f"the credentials are not read again: {relay.tail()}")
    place.check(upload.wait(60) == 0, "an upload continues with the credentials of a reload")
