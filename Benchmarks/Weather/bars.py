"""The requirements. Each returns whether it is met, and the measured value. Scenarios that were not run have none."""

from figures import recovery_figures

MAX_SHARE_OF_TCP_MEAN = 0.25
MAX_COMPLETE_AFTER = 10.0
MAX_MEDIAN_RECOVERY = 1.5


def judge(results):
    """[(is met, requirement, measured value)]"""
    found = [bar for result in results for bar in always(result)]
    for result in results:
        if result["kind"] == "loss" and result["loss"] == 0.3:
            found += thirty(result)
        if result["kind"] == "loss" and result["loss"] == 0.5:
            found += fifty(result)
        if result["kind"] == "black hole":
            found += black_hole(result)
    return found


def always(result):
    figures = result["flows"]["martlet"]
    wrong = figures["duplicates"] + figures["disorders"]
    yield wrong == 0, f"{result['name']}: each once and in order", f"{wrong} were not"


def thirty(result):
    martlet, tcp = result["flows"]["martlet"], result["flows"]["TCP"]
    share = martlet["mean"] / tcp["mean"]
    bound = " or less" if tcp["isMeanLowerBound"] else ""
    yield (
        martlet["delivered"] == martlet["sent"], "30 %: delivered 100 %",
        f"{martlet['delivered']} of {martlet['sent']}")
    yield (
        share <= MAX_SHARE_OF_TCP_MEAN, "30 %: mean at most a quarter of plain TCP's",
        f"{martlet['mean']:.2f} s, {share:.2f} of {tcp['mean']:.2f} s{bound}")


def fifty(result):
    martlet, tcp = result["flows"]["martlet"], result["flows"]["TCP"]
    after = martlet["completeAfter"]
    yield (
        martlet["deliveredMeanwhile"] > tcp["deliveredMeanwhile"], "50 %: more than plain TCP during the faults",
        f"{martlet['deliveredMeanwhile']} and {tcp['deliveredMeanwhile']} of {martlet['sent']}")
    yield (
        after is not None and after <= MAX_COMPLETE_AFTER, "50 %: 100 % within 10 s after the faults",
        f"{martlet['delivered']} of {martlet['sent']}, " + ("not all" if after is None else f"after {after:.1f} s"))


def black_hole(result):
    median = recovery_figures(result["flows"]["martlet"]["recoveries"], None)["median"]
    yield (
        median <= MAX_MEDIAN_RECOVERY, f"{result['name']}: median recovery within 1.5 s", f"{median:.2f} s")
