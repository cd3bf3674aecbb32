"""A copy of the package with faults in it, each behind a switch that the environment sets when the copy runs.

All faults are compiled into one copy, so one build serves them all; the package itself knows nothing of them. The copy
has the wire, the protocol, the simulator and their tests, and no more.
"""

import os
import re
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODULES = ["CMartletCodec", "CMartletSystem", "MartletWire", "MartletTransport", "MartletProtocol", "MartletTestKit"]
TESTS = ["MartletProtocolTests"]
SWITCH = "MARTLET_PLANTED_BUG"
# A run that takes longer than this does not end, in seconds.
PATIENCE = 600

SWITCH_CODE = """import Glibc

/// The fault that is planted in this run; 0 is none.
let plantedBug: Int = {
    guard let text = unsafe getenv("MARTLET_PLANTED_BUG") else { return 0 }
    return unsafe Int(atol(text))
}()
"""

# The only program of a copy.
PLAY = r"""import Glibc
import MartletTestKit

// Plays seeds until one fails, and says which and why.
//
//     play FIRST LAST [LOOPS]
let words = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
guard words.count >= 2, words[0] <= words[1] else { fatalError("play FIRST LAST [LOOPS]") }
for seed in words[0]...words[1] {
    let result = Simulation.run(Scenario(seed: seed, loopCount: words.count > 2 ? Int(words[2]) : 1))
    guard let violation = result.violations.first else { continue }
    print("\(seed)\t\(violation.invariant.rawValue)\t\(violation)")
    exit(1)
}
"""

# Behind the settings that the package's own manifest begins with.
PACKAGE = """
let package = Package(
    name: "copy", platforms: [.macOS(.v15), .iOS(.v18)],
    targets: [
        .target(
            name: "CMartletCodec",
            linkerSettings: [.linkedLibrary("z"), .linkedLibrary("deflate", .when(platforms: [.linux]))]),
        .target(name: "CMartletSystem"),
        .target(name: "MartletWire", dependencies: ["CMartletCodec"], swiftSettings: settings),
        .target(name: "MartletProtocol", dependencies: ["MartletWire"], swiftSettings: settings),
        .target(name: "MartletTransport", dependencies: ["MartletWire", "CMartletSystem"], swiftSettings: settings),
        .target(
            name: "MartletTestKit", dependencies: ["MartletWire", "MartletProtocol", "MartletTransport"],
            swiftSettings: settings),
        .executableTarget(name: "Play", dependencies: ["MartletTestKit"], swiftSettings: settings),
        .target(name: "MartletDifferential", dependencies: ["MartletWire"], swiftSettings: settings),
        .testTarget(
            name: "MartletProtocolTests", dependencies: ["MartletProtocol", "MartletTestKit", "MartletDifferential"],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6])
"""


class CopyError(Exception):
    pass


def read(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


def swift_files(folder):
    return [
        os.path.relpath(os.path.join(place, name), ROOT)
        for place, _, names in os.walk(os.path.join(ROOT, folder)) for name in sorted(names)
    ]


def manifest():
    text = read("Package.swift")
    text = text[: text.index("let package")]
    return text.replace(".treatAllWarnings(as: .error)", ".treatAllWarnings(as: .warning)") + PACKAGE


def write(folder, changed):
    """Writes the copy with the files that are changed; only what differs, so that what was built of the rest holds."""
    files = {"Package.swift": manifest(), "Sources/Play/main.swift": PLAY}
    for module in MODULES + ["MartletDifferential"]:
        for path in swift_files("Sources/" + module):
            files[path] = read(path)
    for tests in TESTS:
        for path in swift_files("Tests/" + tests):
            files[path] = read(path)
    for module in {path.split("/")[1] for path in changed}:
        files[f"Sources/{module}/PlantedBug.swift"] = SWITCH_CODE
    files.update(changed)
    for place in ["Sources", "Tests"]:
        if stale(folder, place, files):
            shutil.rmtree(os.path.join(folder, place))
    for path, text in files.items():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target) or open(target).read() != text:
            with open(target, "w") as file:
                file.write(text)
    # Tests look for vectors beside the sources.
    link = os.path.join(folder, "Specs")
    if not os.path.islink(link):
        os.symlink(os.path.join(ROOT, "Specs"), link)


def stale(folder, place, files):
    """Whether the copy has a source that the package has no more."""
    return any(
        os.path.relpath(os.path.join(at, name), folder) not in files
        for at, _, names in os.walk(os.path.join(folder, place)) for name in names
    )


def build(folder, *options):
    """Builds the copy; returns the compiler's errors, of which none is a success."""
    # Into a file: what a build leaves running may keep a pipe open for ever.
    log = os.path.join(folder, "build.log")
    with open(log, "w") as file:
        command = [os.environ.get("SWIFT", "swift"), "build", *options]
        result = subprocess.run(command, cwd=folder, stdout=file, stderr=subprocess.STDOUT)
    if result.returncode == 0:
        return []
    with open(log) as file:
        text = file.read()
    return [line for line in text.splitlines() if re.search(r"\berror:", line)] or [text[-2000:]]


def play(folder, number, first, last, loops=1):
    """The first seed that fails and why; a seed of None is a run that found nothing."""
    environment = dict(os.environ, **{SWITCH: str(number)})
    command = [os.path.join(folder, ".build/release/Play"), str(first), str(last), str(loops)]
    try:
        run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return last, "it did not end"
    if run.returncode == 0:
        return None, ""
    line = run.stdout.strip().split("\t")
    if len(line) < 2:
        return last, "it trapped"
    return int(line[0]), line[1]


def test(folder, number, name, *skipped):
    """Whether the tests of a name fail with a fault.

    The program is run as `swift test` would, which lets only one run at a time.
    """
    environment = dict(os.environ, **{SWITCH: str(number)})
    command = [
        os.path.join(folder, ".build/debug/copyPackageTests.xctest"), "--testing-library", "swift-testing",
        "--filter", name,
    ]
    for other in skipped:
        command += ["--skip", other]
    try:
        run = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, errors="replace")
    except subprocess.TimeoutExpired:
        return True
    if "with 0 tests" in run.stdout + run.stderr:
        raise CopyError(f"there is no test {name}")
    return run.returncode != 0
