"""The results as text."""

from figures import recovery_figures

COLUMNS = [
    "weather", "flow", "meanwhile", "in the end", "complete", "mean", "p50", "p90", "p99", "max", "twice", "disorder",
    "reconnects", "resent", "RTT p50"]
RECOVERY_COLUMNS = [
    "outage", "flow", "times", "first median", "p90", "max", "not before the next", "caught up median", "max"]


def aligned(rows):
    """Lines of columns: the first two are aligned to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))).rstrip()
        for row in rows)


def seconds(value, isLowerBound=False):
    if value is None or value == float("inf"):
        return "–"
    text = f"{value * 1000:.0f} ms" if value < 0.9995 else f"{value:.2f} s" if value < 99.95 else f"{value:.0f} s"
    return ("≥ " if isLowerBound else "") + text


def share(count, total):
    if not total:
        return "–"
    # A value below 100 % is never rounded to 100 %.
    percent = 100 * count / total if count == total else min(100 * count / total, 99.9)
    return f"{percent:.1f} %"


def count(value):
    return "–" if value is None else str(value)


def latency_table(results):
    rows = [COLUMNS]
    for result in results:
        for name, figures in result["flows"].items():
            missing = figures["sent"] - figures["delivered"]
            median = sorted(run["rttP50"] for run in figures["runs"] if run.get("rttP50"))
            rows.append([
                result["name"] if name == "martlet" else "", name,
                share(figures["deliveredMeanwhile"], figures["sent"]), share(figures["delivered"], figures["sent"]),
                "never" if figures["completeAfter"] is None else "+ " + seconds(figures["completeAfter"]),
                seconds(figures["mean"], figures["isMeanLowerBound"]), seconds(figures["p50"]),
                seconds(figures["p90"], missing > 0.1 * figures["sent"]),
                seconds(figures["p99"], missing > 0.01 * figures["sent"]), seconds(figures["max"], missing > 0),
                count(figures["duplicates"]), count(figures["disorders"]), count(figures["reconnects"]),
                count(figures["retransmissions"]), seconds(median[len(median) // 2] / 1000) if median else "–",
            ])
    return aligned(rows)


def recovery_table(results):
    rows = [RECOVERY_COLUMNS]
    for result in results:
        for what in dict.fromkeys(item["what"] for item in result["flows"]["martlet"]["recoveries"]):
            for name, figures in result["flows"].items():
                first = recovery_figures(figures["recoveries"], what)
                caught_up = recovery_figures(figures["recoveries"], what, "caughtUp")
                rows.append([
                    what if name == "martlet" else "", name, str(first["count"]), seconds(first["median"]),
                    seconds(first["p90"]), seconds(first["max"]), str(first["missing"]), seconds(caught_up["median"]),
                    seconds(caught_up["max"]),
                ])
    return aligned(rows) if len(rows) > 1 else ""


def verdicts(bars):
    return aligned([["holds" if holds else "MISSED", asked, found] for holds, asked, found in bars])
