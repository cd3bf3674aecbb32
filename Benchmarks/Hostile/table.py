"""The results as a table, and as JSON."""

from dataclasses import asdict

COLUMNS = "{:34} {:>14} {:>15} {:>8} {:>5} {:>18} {:>4}  {}"


def head():
    title = COLUMNS.format(
        "attack", "quiet p50/p99", "honest p50/p99", "welcome", "lost", "RSS before/peak/after", "CPU", "verdict")
    unit = COLUMNS.format("", "ms", "ms", "ms", "", "MiB", "%", "")
    return f"{title}\n{unit.rstrip()}"


def milliseconds(found):
    return "-" if found is None else "/".join(f"{1000 * each:.1f}" for each in found)


def row(figures):
    rss = "/".join(f"{each / (1 << 20):.0f}" for each in (figures.rss_before, figures.rss_peak, figures.rss_after))
    verdict = "MISSED" if figures.missed else "holds"
    return COLUMNS.format(
        figures.name, milliseconds(figures.quiet), milliseconds(figures.honest),
        "-" if figures.welcome is None else f"{1000 * figures.welcome:.1f}", figures.lost, rss,
        f"{100 * figures.processor:.0f}", f"{verdict}  {words(figures.tally)}").rstrip()


def words(tally):
    """The actions of the attackers, and the codes that they received."""
    ends = ("ended:", "stopped:")
    ended = sorted((key, count) for key, count in tally.items() if key.startswith(ends))
    done = [(key, count) for key, count in tally.items() if not key.startswith(ends) and (count or key == "accepted")]
    return ", ".join(f"{key} {count:,}" for key, count in done + ended)


def shown(figures):
    return asdict(figures)
