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


def check_status_page(place, url, token, publish, screenshots=None):
    """Opens the page as a user does, by keyboard, in both themes and in a narrow window. `publish` publishes a card."""
    # Processes of the browser write to the profile for a moment after its end.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            check(place, browser, url, token, publish, screenshots)
        finally:
            browser.process.terminate()
            browser.process.wait()


def check_cards(place, browser, publish):
    """The cards of monitoring.status_page, and changes of them while the page is open."""
    def texts(selector):
        return browser.evaluate(f"[...document.querySelectorAll('#card-list {selector}')].map((x) => x.textContent)")
    names = "JSON.stringify([...document.querySelectorAll('#card-list article')].map((x) => x.ariaLabel))"
    browser.wait(f"JSON.parse({names}).length === 5", "five cards")
    labels = ["Build 7 of another account: unknown", "<img src=x onerror=alert(1)>: failed", "Database 1: warning",
              "Feature flag “new checkout”: ok", "Build 7 of main: running"]
    found = json.loads(browser.evaluate(names))
    place.check(found == labels, "each card has its title and status as its name, newest state first", found)
    place.check(texts("h3")[1] == "<img src=x onerror=alert(1)>" and texts("dt")[0] == "<b>key</b>"
                and not browser.evaluate("document.querySelector('#card-list :is(img, script, b)')"),
                "texts of cards are no markup")
    place.check(texts("dd")[1:3] == ["91 % full", "0.7"], "a card has its details", texts("dd"))
    link = browser.evaluate("""(() => {
        const link = document.querySelector('#card-list a');
        return [link.href, link.rel, link.target, link.ariaLabel];
    })()""")
    place.check(link == ["https://ci.example/builds/7", "noopener noreferrer", "_blank",
                         "Build 7 of main: open ci.example"], "a card has its page as a link", link)
    title = browser.evaluate("document.getElementById('cards').getAttribute('aria-labelledby')")
    place.check(title == "cards-title" and "ci, no messages" in browser.evaluate(
        "document.getElementById('cards-title').textContent"), "the section of cards has a name")

    # The link is the next element of the keyboard behind the field for the token, which is hidden.
    browser.evaluate("document.activeElement.blur()")
    browser.key("Tab")
    place.check(browser.evaluate("document.activeElement.tagName") == "A", "Tab leads to the page of a card")
    publish("build-7", "failed", "--title", "Build 7 of main", "--url", "https://ci.example/builds/7")
    browser.wait(f"JSON.parse({names})[0] === 'Build 7 of main: failed'", "another state of a card")
    place.check(len(json.loads(browser.evaluate(names))) == 5, "another state replaces a card")
    place.check(browser.evaluate("document.activeElement.tagName") == "A", "the link of the card keeps the focus")
    news = browser.evaluate("document.getElementById('news').textContent")
    place.check(news == "Build 7 of main: failed", "another state is announced to screen readers", news)
    publish("checkout", "removed")
    browser.wait(f"JSON.parse({names}).length === 4", "a removed card")
    publish("build-7", "ok", "--title", "Build 7 of main", "--detail", "branch=main",
            "--url", "https://ci.example/builds/7")
    publish("build-8", "running", "--title", "Build 8 of main", "--detail", "branch=main", "--detail", "step=2 of 9")
    browser.wait(f"JSON.parse({names}).length === 5", "a new card")


def check(place, browser, url, token, publish, screenshots):
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

    check_cards(place, browser, publish)
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
            const texts = ['h2', '.faint', '#state', '.tile dt', 'td', ...['good', 'busy', 'warn', 'bad', 'faint']
                .map((x) => `.card.${x} .state`), '.card h3', '.card dt', '.card dd', '.card a', '.card time']
                .map((x) => document.querySelector(x));
            return Math.min(...texts.map((x) => light(getComputedStyle(x).color))
                .map((x) => (Math.max(x, back) + 0.05) / (Math.min(x, back) + 0.05)));
        })()""")
        place.check(contrast >= MIN_CONTRAST, f"the contrast of the {scheme} theme is sufficient", contrast)
        if screenshots:
            browser.screenshot(os.path.join(screenshots, f"status-{scheme}.png"))
    browser.page("Emulation.setDeviceMetricsOverride",
                 {"width": 360, "height": 700, "deviceScaleFactor": 1, "mobile": True})
    place.check(browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page fits 360 pixels")
    if screenshots:
        browser.screenshot(os.path.join(screenshots, "status-narrow.png"))
    faults = [event["params"] for event in browser.events
              if event.get("method") == "Runtime.exceptionThrown"
              or event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error"
              and "401" not in event["params"]["entry"]["text"]]
    place.check(not faults, "the browser reports no errors", faults)
