"""The status page of a relay in headless Chromium, Debian's package chromium, by the pipe of its DevTools protocol."""

import base64
import json
import os
import subprocess
import tempfile

from programs import Failure, wait_until

KEYS = {"Tab": 9, "ArrowLeft": 37, "End": 35, "Escape": 27}
# The contrast of texts that WCAG 2.2 requires in 1.4.3.
MIN_CONTRAST = 4.5


class Browser:
    """A page of headless Chromium."""

    def __init__(self, profile):
        out_read, out_write = os.pipe()  # to the browser
        in_read, in_write = os.pipe()  # from the browser
        program = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]

        def descriptors():
            # The DevTools pipe is descriptors 3 and 4 of the browser.
            copies = os.dup(out_read), os.dup(in_write)
            os.dup2(copies[0], 3)
            os.dup2(copies[1], 4)

        self.process = subprocess.Popen(program, close_fds=False, preexec_fn=descriptors,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(out_read)
        os.close(in_write)
        self.output, self.input, self.rest, self.last = out_write, in_read, b"", 0
        self.events = []
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.page(f"{domain}.enable")

    def call(self, method, params=None, session=None):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                part = os.read(self.input, 1 << 16)
                if not part:
                    raise Failure("the browser has ended")
                self.rest += part
            line, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(line)
            if answer.get("id") != self.last:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise Failure(f"{method}: {answer['error']['message']}")
            return answer["result"]

    def page(self, method, params=None):
        return self.call(method, params, self.session)

    def evaluate(self, expression):
        result = self.page("Runtime.evaluate", {"expression": expression, "returnByValue": True})
        if "exceptionDetails" in result:
            raise Failure(f"{expression}: {result['exceptionDetails']['text']}")
        return result["result"].get("value")

    def wait(self, expression, what):
        try:
            wait_until(lambda: self.evaluate(expression), what)
        except Failure as failure:
            raise Failure(f"{failure}; the page has {self.evaluate('document.body.innerText')!r}")

    def key(self, key):
        for kind in ("rawKeyDown", "keyUp"):
            self.page("Input.dispatchKeyEvent",
                      {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]})

    def screenshot(self, path):
        size = self.page("Page.getLayoutMetrics")["cssContentSize"]
        data = self.page("Page.captureScreenshot", {
            "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def theme(self, scheme):
        self.page("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})


def check_status_page(place, url, token, screenshots=None):
    """Opens the page as a user does, by keyboard, in both themes and in a narrow window."""
    # Processes of the browser write to the profile for a moment after its end.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            check(place, browser, url, token, screenshots)
        finally:
            browser.process.terminate()
            browser.process.wait()


def check(place, browser, url, token, screenshots):
    browser.page("Emulation.setDeviceMetricsOverride",
                 {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    browser.page("Page.navigate", {"url": url})
    if token:
        browser.wait("document.getElementById('access')?.hidden === false", "the field for the token")
        place.check(browser.evaluate("document.activeElement.id") == "token", "the field for the token has the focus")
        browser.page("Input.insertText", {"text": token})
        browser.evaluate("document.getElementById('access').requestSubmit()")
    browser.wait("document.getElementById('state')?.textContent === 'ready'", "the state 'ready'")
    browser.wait("typeof samples !== 'undefined' && samples.length > 1", "two samples")

    labels = browser.evaluate("[...document.querySelectorAll('figure svg')].map((x) => x.getAttribute('aria-label'))")
    has_values = len(labels) >= 9 and all(": " in label for label in labels)
    place.check(has_values, "each plot of the page has a label with its values", labels)
    place.check(browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page fits a wide window")

    browser.evaluate("document.querySelector('figure svg').focus()")
    browser.key("ArrowLeft")
    label = browser.evaluate("document.activeElement.getAttribute('aria-label')")
    place.check(" at " in label, "an arrow key selects an instant of a plot", label)
    browser.key("Escape")
    label = browser.evaluate("document.activeElement.getAttribute('aria-label')")
    place.check(" at " not in label, "Escape selects none", label)
    browser.key("Tab")
    place.check(browser.evaluate("document.activeElement.tagName") == "svg", "Tab leads to the next plot")

    for scheme in ("light", "dark"):
        browser.theme(scheme)
        contrast = browser.evaluate("""(() => {
            const light = (text) => {
                const parts = text.match(/[\\d.]+/g).slice(0, 3).map((x) => x / 255)
                    .map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
                return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
            };
            const back = light(getComputedStyle(document.querySelector('figure')).backgroundColor);
            const texts = ['h2', '.faint', '#state', '.tile dt', 'td'].map((x) => document.querySelector(x));
            return Math.min(...texts.map((x) => light(getComputedStyle(x).color))
                .map((x) => (Math.max(x, back) + 0.05) / (Math.min(x, back) + 0.05)));
        })()""")
        place.check(contrast >= MIN_CONTRAST, f"the contrast of the {scheme} theme is sufficient", contrast)
        if screenshots:
            browser.screenshot(os.path.join(screenshots, f"status-{scheme}.png"))
    browser.page("Emulation.setDeviceMetricsOverride",
                 {"width": 360, "height": 700, "deviceScaleFactor": 1, "mobile": True})
    place.check(browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page fits 360 pixels")
    faults = [event["params"] for event in browser.events
              if event.get("method") == "Runtime.exceptionThrown"
              or event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error"
              and "401" not in event["params"]["entry"]["text"]]
    place.check(not faults, "the browser reports no errors", faults)
