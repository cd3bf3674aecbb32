"""The report of a run, as text, JSON or JUnit, with the clauses that no case of the run judges."""

import json
import re
from collections import Counter
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from kit import ALWAYS, FAILED, INCONCLUSIVE, OF_RELAYS, PASSED, SKIPPED

SPECS = ("wire.md", "connection.md", "session.md", "relay.md")
LAST_FRAMES = 12
ELEMENTS = {FAILED: "failure", SKIPPED: "skipped", INCONCLUSIVE: "error"}  # Of JUnit.
CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f]")  # What a terminal would execute.


def clauses():
    """The binding clauses of the four documents, and the first sentence of each."""
    found = {}
    for name in SPECS:
        data = __loader__.get_data(str(Path(__file__).parent.parent / name)).decode()
        for clause, rest in re.findall(r"^\*\*([WCSR]-\d+)\*\* (.*(?:\n[^\n|`*#-].*)*)", data, re.MULTILINE):
            if not rest.startswith("*Informative.*"):
                found[clause] = re.split(r"(?<=[.:]) ", " ".join(rest.split()))[0]
    return found


def judged_by(cases):
    """The clauses that the cases judge, with those that each case checks throughout."""
    found = {clause for case in cases for clause in (*case.clauses, *ALWAYS)}
    return found.union(OF_RELAYS) if any(not case.id.startswith("client-") for case in cases) else found


def summary(outcomes):
    counts = Counter(outcome.status for outcome in outcomes)
    known, judged = clauses(), judged_by([outcome.case for outcome in outcomes if outcome.status == PASSED])
    judged |= {outcome.clause for outcome in outcomes if outcome.status == FAILED}
    return {
        **{status: counts[status] for status in (PASSED, FAILED, SKIPPED, INCONCLUSIVE)},
        "clausesJudged": len(judged & known.keys()),
        "clausesNotJudged": [clause for clause in known if clause not in judged],
    }


def as_json(outcomes):
    cases = [{
        "case": o.case.id, "clauses": o.case.clauses, "level": o.case.level, "title": o.case.title,
        "status": o.status, "clause": o.clause, "expected": o.expected, "received": o.received,
        "seconds": round(o.seconds, 3),
        "frames": [dict(zip(("at", "who", "frame", "hex"), line)) for line in o.trace],
    } for o in outcomes]
    return json.dumps({"summary": summary(outcomes), "cases": cases}, indent=1)


def details(outcome, texts):
    """What a case that has not passed has expected, received and sent."""
    lines = [f"received: {outcome.received}"] if outcome.status == FAILED else [outcome.received]
    if outcome.status == FAILED:
        lines[:0] = [f"clause {outcome.clause}: {texts.get(outcome.clause, '')}", f"expected: {outcome.expected}"]
    if outcome.status == SKIPPED or not outcome.trace:
        return lines
    lines.append("the last frames, in seconds since the begin:")
    for at, who, text, data in outcome.trace[-LAST_FRAMES:]:
        lines += [f"  {at:7.3f} {who} {text}"] + ([f"          {data}"] if data else [])
    return lines


def as_text(outcomes, verbose=False):
    texts, lines = clauses(), []
    for outcome in outcomes:
        if outcome.status != PASSED or verbose:
            named = " ".join(outcome.case.clauses)
            lines.append(f"{outcome.status:12} {outcome.case.id}: {outcome.case.title} [{named}]")
        if outcome.status != PASSED:
            lines += ["    " + line for line in details(outcome, texts)]
    found = summary(outcomes)
    lines.append(
        f"{len(outcomes)} cases: {found[PASSED]} passed, {found[FAILED]} failed, {found[SKIPPED]} skipped, "
        f"{found[INCONCLUSIVE]} inconclusive; {found['clausesJudged']} clauses judged, "
        f"{len(found['clausesNotJudged'])} not judged")
    return CONTROLS.sub(lambda found: repr(found[0])[1:-1], "\n".join(lines))


def as_junit(outcomes):
    found, texts = summary(outcomes), clauses()
    lines = ['<?xml version="1.0" encoding="UTF-8"?>',
             f'<testsuite name="martlet-conformance" tests="{len(outcomes)}" failures="{found[FAILED]}" '
             f'errors="{found[INCONCLUSIVE]}" skipped="{found[SKIPPED]}">']
    for o in outcomes:
        lines.append(f"<testcase classname={quoted(' '.join(o.case.clauses))} name={quoted(o.case.id)} "
                     f'time="{o.seconds:.3f}">')
        if o.status != PASSED:
            kind = ELEMENTS[o.status]
            clause = f" type={quoted(o.clause)}" if o.status == FAILED else ""
            text = escape(plain("\n".join(details(o, texts))))
            lines.append(f"<{kind} message={quoted(o.expected or o.received)}{clause}>{text}</{kind}>")
        lines.append("</testcase>")
    return "\n".join([*lines, "</testsuite>"])


def plain(text):
    """The text without the characters that XML does not permit."""
    return re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def quoted(text):
    return quoteattr(plain(text))
