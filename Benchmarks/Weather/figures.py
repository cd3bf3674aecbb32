"""The results of one or several runs of a scenario."""

import math
import statistics


def percentile(ordered, share):
    """The value that is not exceeded by this share of the values; None without values."""
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else None


def scenario(runs):
    """The results of the runs of one scenario: its parameters, and those of each flow."""
    weather = runs[0].weather
    return {
        "kind": weather.kind, "name": weather.name, "loss": weather.loss, "delay": weather.delay,
        "jitter": weather.jitter, "rate": weather.rate, "seconds": round(runs[0].ended - runs[0].began, 1),
        "runs": len(runs), "measuredLoss": measured_loss(runs),
        "flows": {flow.name: flow_figures(runs, number) for number, flow in enumerate(runs[0].flows)},
    }


def measured_loss(runs):
    total = sum(count for run in runs for name, count in run.packets.items() if name.endswith("_all"))
    lost = sum(count for run in runs for name, count in run.packets.items() if name.endswith("_lost"))
    return lost / total if total else 0.0


def flow_figures(runs, number):
    flows = [run.flows[number] for run in runs]
    pairs = list(zip(runs, flows))
    sent = sum(len(flow.sent) for flow in flows)
    # A missing message has at least the latency until the end of the run.
    latencies = sorted(
        flow.came.get(index, run.finished) - at for run, flow in pairs for index, at in flow.sent.items())
    meanwhile = sum(at <= run.ended for run, flow in pairs for at in flow.came.values())
    came = sum(len(flow.came) for flow in flows)
    complete = [
        max([at - run.ended for at in flow.came.values()], default=0) if len(flow.came) >= len(flow.sent) else None
        for run, flow in pairs]
    figures = {
        "sent": sent, "deliveredMeanwhile": meanwhile, "delivered": came,
        "duplicates": sum(flow.duplicates for flow in flows), "disorders": sum(flow.disorders for flow in flows),
        # The seconds from the end of the faults until all messages had arrived; None if some are missing.
        "completeAfter": None if None in complete else max(max(complete), 0),
        "mean": statistics.fmean(latencies) if latencies else None,
        "isMeanLowerBound": came < sent,
        "p50": percentile(latencies, 0.5), "p90": percentile(latencies, 0.9), "p99": percentile(latencies, 0.99),
        "max": latencies[-1] if latencies else None,
        "latencies": [round(value, 4) for value in sorted(
            flow.came[index] - at for flow in flows for index, at in flow.sent.items() if index in flow.came)],
        "recoveries": [recovery for run, flow in pairs for recovery in recoveries(run, flow)],
        "runs": [facts(run, flow) for run, flow in pairs],
    }
    for key in ("reconnects", "resumes", "retransmissions", "offline"):
        values = [facts[key] for facts in figures["runs"] if facts.get(key) is not None]
        figures[key] = sum(values) if values else None
    return figures


def facts(run, flow):
    """The statistics of a flow, with times since the start of the faults, and the times of each message."""
    found = flow.facts()
    for key in ("states", "relay"):
        if key in found:
            found[key] = [[round(at - run.began, 2), what] for at, what in found[key]]
    found["messages"] = [
        [round(at - run.began, 4), round(flow.came[index] - run.began, 4) if index in flow.came else None]
        for index, at in flow.sent.items()]
    return found


def recoveries(run, flow):
    """For each outage: the seconds from its end to the first message, and until all earlier messages had arrived; None
    if the next outage, or the end of the run, came first."""
    found = []
    for number, (gone, back, what) in enumerate(run.outages):
        limit = run.outages[number + 1][0] if number + 1 < len(run.outages) else run.ended
        first = min((at for at in flow.came.values() if at >= back), default=math.inf)
        before = [flow.came.get(index, math.inf) for index, at in flow.sent.items() if at < back]
        caught_up = max(before, default=back)
        found.append({
            "what": what, "gone": round(gone - run.began, 3), "back": round(back - run.began, 3),
            "first": round(first - back, 4) if first < limit else None,
            "caughtUp": round(max(caught_up - back, 0), 4) if caught_up < limit else None,
            "limit": round(limit - back, 3),
        })
    return found


def recovery_figures(recoveries, what, key="first"):
    """Count, median, 90th percentile, maximum, and the number of missing ones, which count as the maximum."""
    values = sorted(
        math.inf if item[key] is None else item[key] for item in recoveries if what in (None, item["what"]))
    return {
        "count": len(values), "median": percentile(values, 0.5), "p90": percentile(values, 0.9),
        "max": values[-1] if values else None, "missing": sum(value == math.inf for value in values),
    }
