"""The results as a page of SVG: deliveries, latencies and recoveries."""

import html
import math

from figures import percentile

WIDTH, MARGIN = 1120, 60
COLORS = {"martlet": "#c2410c", "TCP": "#1d4ed8"}
INK, FAINT = "#1f2937", "#d1d5db"
STYLE = f"""text {{ font: 13px sans-serif; fill: {INK} }} .title {{ font-size: 20px; font-weight: bold }}
.head {{ font-size: 15px; font-weight: bold }} .small {{ font-size: 11px }}
line, polyline, path {{ fill: none }}"""

# Logarithmic, in seconds.
LATENCY_TICKS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200]
LATENCY_RANGE = (0.08, 250)
RECOVERY_TICKS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20]
RECOVERY_RANGE = (0.08, 30)

PANEL_WIDTH, PANEL_HEIGHT = 470, 210
COLUMN_WIDTH, ROW_HEIGHT = 530, 290


def page(results, about):
    canvas = Canvas()
    canvas.text(MARGIN, 40, "martlet and plain TCP in the same weather", kind="title")
    top = canvas.legend(60)
    top = deliveries(canvas, top + 40, results)
    top = distributions(canvas, top + 40, results)
    top = strips(
        canvas, top + 40, "Recovery: from the network's return to the first message that comes", outages(results))
    top = strips(
        canvas, top + 40, "Reconnecting: each time the sender was without a connection", spells(results))
    for number, line in enumerate(about.split("\n")):
        canvas.text(MARGIN, top + 40 + number * 18, line, kind="small")
    return canvas.page(top + 90)


class Canvas:
    def __init__(self):
        self.parts = []

    def text(self, x, y, text, anchor="start", kind=""):
        kind = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{html.escape(text)}</text>')

    def line(self, x1, y1, x2, y2, color=FAINT, width=1.0):
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width}"/>')

    def rectangle(self, x, y, width, height, color, opacity=1.0):
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height}" fill="{color}" '
            f'fill-opacity="{opacity}"/>')

    def steps(self, points, color):
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{text}" stroke="{color}" stroke-width="2"/>')

    def dot(self, x, y, color):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}" fill-opacity="0.5"/>')

    def legend(self, y):
        x = MARGIN
        for name, color in COLORS.items():
            self.rectangle(x, y, 14, 14, color)
            self.text(x + 20, y + 12, "plain TCP" if name == "TCP" else name)
            x += 110
        return y + 14

    def page(self, height):
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
            f'height="{height:.0f}">\n<style>{STYLE}</style>\n<rect width="100%" height="100%" fill="white"/>\n'
            + "\n".join(self.parts) + "\n</svg>\n")


class Scale:
    """Seconds on a logarithmic axis."""

    def __init__(self, left, width, bounds, ticks):
        self.left, self.width, self.bounds, self.ticks = left, width, bounds, ticks

    def __call__(self, value):
        low, high = (math.log(bound) for bound in self.bounds)
        share = (math.log(max(value, self.bounds[0])) - low) / (high - low)
        return self.left + self.width * min(share, 1)

    def draw(self, canvas, top, bottom):
        for tick in self.ticks:
            canvas.line(self(tick), top, self(tick), bottom)
            canvas.text(self(tick), bottom + 15, f"{tick:g}", "middle", "small")
        canvas.text(self.left + self.width, bottom + 30, "seconds", "end", "small")


def deliveries(canvas, top, results):
    """A bar for each flow: solid for messages during the faults, pale for later ones."""
    canvas.text(MARGIN, top, "Delivered while the weather lasted (solid) and in the end (pale)", kind="head")
    left, width = MARGIN + 210, WIDTH - 2 * MARGIN - 270
    y = top + 14
    for result in results:
        canvas.text(left - 10, y + 21, result["name"], "end")
        for name, figures in result["flows"].items():
            meanwhile, end = (figures[key] / figures["sent"] for key in ("deliveredMeanwhile", "delivered"))
            canvas.rectangle(left, y, width, 13, FAINT, 0.35)
            canvas.rectangle(left, y, width * end, 13, COLORS[name], 0.3)
            canvas.rectangle(left, y, width * meanwhile, 13, COLORS[name])
            canvas.text(left + width + 8, y + 11, f"{100 * meanwhile:.1f} %", kind="small")
            y += 15
        y += 10
    return y


def distributions(canvas, top, results):
    """The share of all messages that had arrived after a time, with a panel for each scenario."""
    canvas.text(MARGIN, top, "How long messages took: share of all that were sent", kind="head")
    for number, result in enumerate(results):
        left = MARGIN + 20 + number % 2 * COLUMN_WIDTH
        y = top + 40 + number // 2 * ROW_HEIGHT
        distribution(canvas, left, y, result)
    return top + 40 + math.ceil(len(results) / 2) * ROW_HEIGHT - 30


def distribution(canvas, left, top, result):
    bottom = top + PANEL_HEIGHT
    scale = Scale(left, PANEL_WIDTH, LATENCY_RANGE, LATENCY_TICKS)
    canvas.text(left, top - 8, result["name"])
    scale.draw(canvas, top, bottom)
    for percent in (0, 25, 50, 75, 100):
        y = bottom - PANEL_HEIGHT * percent / 100
        canvas.line(left, y, left + PANEL_WIDTH, y)
        canvas.text(left - 6, y + 4, f"{percent} %", "end", "small")
    for name, figures in result["flows"].items():
        points, latencies = [(left, bottom)], figures["latencies"]
        # At most several hundred steps for any number of messages.
        stride = max(len(latencies) // 400, 1)
        for index in [*range(0, len(latencies), stride), len(latencies) - 1][:len(latencies) + 1]:
            if latencies:
                y = bottom - PANEL_HEIGHT * (index + 1) / figures["sent"]
                points += [(scale(latencies[index]), points[-1][1]), (scale(latencies[index]), y)]
        points.append((left + PANEL_WIDTH, points[-1][1]))
        canvas.steps(points, COLORS[name])


def outages(results):
    """(row, flow, seconds or None, ...) of every outage."""
    for result in results:
        for what in dict.fromkeys(item["what"] for item in result["flows"]["martlet"]["recoveries"]):
            for name, figures in result["flows"].items():
                yield what, name, [item["first"] for item in figures["recoveries"] if item["what"] == what]


def spells(results):
    for result in results:
        found = [spell for facts in result["flows"]["martlet"]["runs"] for spell in facts["offlineSpells"]]
        if found:
            yield result["name"], "martlet", found


def strips(canvas, top, title, rows):
    """A dot for each outage, and a line at the median. Missing recoveries are counted on the right."""
    rows = list(rows)
    if not rows:
        return top - 40
    canvas.text(MARGIN, top, title, kind="head")
    left = MARGIN + 210
    scale = Scale(left, WIDTH - 2 * MARGIN - 290, RECOVERY_RANGE, RECOVERY_TICKS)
    y, last = top + 30, None
    scale.draw(canvas, top + 14, y + 24 * len(rows) - 10)
    for what, name, values in rows:
        if what != last:
            canvas.text(left - 10, y + 4, what, "end")
        last = what
        there = sorted(math.inf if value is None else value for value in values)
        median = percentile(there, 0.5)
        for value in there:
            if value != math.inf:
                canvas.dot(scale(value), y, COLORS[name])
        if median != math.inf:
            canvas.line(scale(median), y - 9, scale(median), y + 9, COLORS[name], 2.5)
        never = sum(value == math.inf for value in there)
        text = f"median {median:.2f} s" if median != math.inf else "median: never"
        canvas.text(left + scale.width + 8, y + 4, text + (f", {never} never" if never else ""), kind="small")
        y += 24
    return y + 20
