"""A copy of the package with faults, each behind a switch that an environment variable sets at run time.

All faults are compiled into one copy, so one build suffices, and the package itself contains none of them. The copy
contains the library, the simulator and the tests of the link and of the engines, and on request the databases, the
timeline, and the tests of these, of the client and of the simulator.
"""

import json
import os
import re
import resource
import shutil
import subprocess
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The targets that the faults concern. The copy has these, and the targets on which they depend.
TARGETS = [
    "MartletSimulator", "MartletDifferential", "MartletTestSupport", "MartletLinkTests", "MartletEngineTests",
]
STORE_TARGETS = [
    "MartletTimeline", "MartletRelayTests", "MartletSQLiteTests", "MartletStorageTests", "MartletTestKitTests",
    "MartletTests", "MartletTimelineTests", "MartletSimulatorTests",
]
SWITCH = "MARTLET_PLANTED_BUG"
# The seeds of the simulator of the faults of files, the first of which that fails decides.
STORAGE_SEEDS = "1..1000"
# The timeout of a run, in seconds.
PATIENCE = 600
# The limit of a run's memory, in bytes. A fault can make a program allocate without end.
MEMORY = 4 << 30

SWITCH_CODE = """import Glibc

/// The fault that is planted in this run; 0 is none.
let plantedBug: Int = {
    guard let text = unsafe getenv("MARTLET_PLANTED_BUG") else { return 0 }
    return unsafe Int(atol(text))
}()
"""

# The only program of the copy.
PLAY = r"""import Glibc
import MartletSimulator

// Runs seeds until one fails, and prints it with its violation.
//
//     play [lives] FIRST LAST [LOOPS [RELAYS]]
let words = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
guard words.count >= 2, words[0] <= words[1] else { fatalError("play [lives] FIRST LAST [LOOPS [RELAYS]]") }
if CommandLine.arguments[1] == "lives" {
    for seed in words[0]...words[1] {
        let result = ClientLives.run(seed: seed, duration: .seconds(1200))
        guard let violation = result.violations.first else { continue }
        print("\(seed)\t\(violation.invariant.rawValue)\t\(violation)")
        exit(1)
    }
    exit(0)
}
for seed in words[0]...words[1] {
    let (loops, relays) = (words.count > 2 ? Int(words[2]) : 1, words.count > 3 ? Int(words[3]) : 1)
    let result = Simulation.run(Scenario(seed: seed, relayCount: relays, loopCount: loops))
    guard let violation = result.violations.first else { continue }
    print("\(seed)\t\(violation.invariant.rawValue)\t\(violation)")
    exit(1)
}
"""

# What follows the settings at the beginning of the package's manifest.
PACKAGE = """
// The tests need debug builds, and run often: only they are not optimized.
let fast = settings + [.unsafeFlags(["-O"], .when(configuration: .debug))]
let package = Package(
    name: "copy", platforms: [.macOS(.v15), .iOS(.v18)],
    targets: [
%s
        .executableTarget(name: "Play", dependencies: ["MartletSimulator"], swiftSettings: fast),
    ],
    swiftLanguageModes: [.v6])
"""


class CopyError(Exception):
    pass


def read(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


def files_of(folder, exclusions=()):
    return [
        os.path.relpath(os.path.join(place, name), ROOT)
        for place, _, names in os.walk(os.path.join(ROOT, folder)) for name in sorted(names)
        if not any(os.path.relpath(os.path.join(place, name), os.path.join(ROOT, folder)).startswith(exclusion)
                   for exclusion in exclusions)
    ]


class Target:
    """A target of the package or of the package Dev."""

    def __init__(self, package, described):
        self.name, self.type = described["name"], described["type"]
        folder = "Tests" if self.type == "test" else "Sources"
        self.path = os.path.normpath(os.path.join(package, described.get("path") or f"{folder}/{self.name}"))
        self.exclusions = described["exclude"]
        # Targets of Linux only: the program and the faults run there.
        self.dependencies = [
            names[0] for dependency in described["dependencies"] for names in dependency.values()
            if not isinstance(names[1], dict) or "linux" in names[1]["platformNames"]
        ]
        self.libraries = [
            setting["kind"]["linkedLibrary"]["_0"] for setting in described["settings"]
            if "linkedLibrary" in setting["kind"]
        ]

    def declaration(self):
        kind = {"test": "testTarget", "system": "systemLibrary"}.get(self.type, "target")
        parts = [f'name: "{self.name}"']
        if self.type != "system":
            parts.append("dependencies: [%s]" % ", ".join(f'"{name}"' for name in self.dependencies))
        parts.append(f'path: "{self.path}"')
        if self.type != "system":
            if not self.name.startswith("C"):
                parts.append("swiftSettings: %s" % ("settings" if self.path.startswith("Tests") else "fast"))
            if self.libraries:
                parts.append("linkerSettings: [%s]" % ", ".join(f'.linkedLibrary("{x}")' for x in self.libraries))
        return "        .%s(%s)," % (kind, ", ".join(parts))


def targets(has_stores):
    """The targets of the copy, by name."""
    known = {}
    for package in ["", "Dev"]:
        command = [os.environ.get("SWIFT", "swift"), "package", "--package-path", os.path.join(ROOT, package)]
        described = json.loads(subprocess.run([*command, "dump-package"], check=True, capture_output=True).stdout)
        known.update((target["name"], Target(package, target)) for target in described["targets"])
    chosen, waiting = {}, TARGETS + (STORE_TARGETS if has_stores else [])
    while waiting:
        target = known[waiting.pop()]
        if target.name not in chosen:
            chosen[target.name] = target
            waiting = waiting + target.dependencies
    return chosen


def manifest(targets):
    text = read("Package.swift")
    text = text[: text.index("\n#if os(Linux)")]
    # The copy has no traits. The tests use the conveniences of the trait Foundation.
    text = text.replace(".treatAllWarnings(as: .error),", ".treatAllWarnings(as: .warning), .define(\"Foundation\"),")
    return text + PACKAGE % "\n".join(targets[name].declaration() for name in sorted(targets))


def write(folder, changed, has_stores=False):
    """Writes the copy with the changed files. Only differences are written, for incremental builds."""
    chosen = targets(has_stores)
    files = {"Package.swift": manifest(chosen), "Sources/Play/main.swift": PLAY}
    for target in chosen.values():
        for path in files_of(target.path, target.exclusions):
            files[path] = read(path)
    for module in {path.split("/")[1] for path in changed}:
        files[f"Sources/{module}/PlantedBug.swift"] = SWITCH_CODE
    files.update(changed)
    for place in ["Sources", "Tests", "Dev"]:
        if stale(folder, place, files):
            shutil.rmtree(os.path.join(folder, place))
    for path, text in files.items():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target) or open(target).read() != text:
            with open(target, "w") as file:
                file.write(text)
    # The tests find the vectors relative to the sources.
    link = os.path.join(folder, "Specs")
    if not os.path.islink(link):
        os.symlink(os.path.join(ROOT, "Specs"), link)


def stale(folder, place, files):
    """Whether the copy contains a source that the package has removed."""
    return any(
        os.path.relpath(os.path.join(at, name), folder) not in files
        for at, _, names in os.walk(os.path.join(folder, place)) for name in names
    )


def build(folder, *options):
    """Builds the copy. Returns the errors of the compiler, which are empty on success."""
    # The output is a file, because a process that the build leaves running would keep a pipe open.
    log = os.path.join(folder, "build.log")
    with open(log, "w") as file:
        command = [os.environ.get("SWIFT", "swift"), "build", *options]
        result = subprocess.run(command, cwd=folder, stdout=file, stderr=subprocess.STDOUT)
    if result.returncode == 0:
        return []
    with open(log) as file:
        text = file.read()
    return [line for line in text.splitlines() if re.search(r"\berror:", line)] or [text[-2000:]]


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def play(folder, number, first, last, loops=1, relays=1, lives=False):
    """The first failing seed and its violation; a seed of None if there is none."""
    environment = dict(os.environ, **{SWITCH: str(number)})
    mode = ["lives"] if lives else []
    command = [os.path.join(folder, ".build/release/Play"), *mode, str(first), str(last), str(loops), str(relays)]
    try:
        run = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=PATIENCE, preexec_fn=limit_memory)
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
    environment = dict({"MARTLET_STORAGE_SEEDS": STORAGE_SEEDS}, **os.environ, **{SWITCH: str(number)})
    command = [
        os.path.join(folder, ".build/debug/copyPackageTests.xctest"), "--testing-library", "swift-testing",
        "--filter", name,
    ]
    for other in skipped:
        command += ["--skip", other]
    # The first reported issue decides. The rest of the run would take longer than all before it.
    run = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", preexec_fn=limit_memory)
    patience = threading.Timer(PATIENCE, run.kill)
    patience.start()
    try:
        for line in run.stdout:
            if "recorded an issue" in line:
                return True
            if "with 0 tests" in line:
                raise CopyError(f"there is no test {name}")
    finally:
        patience.cancel()
        run.kill()
        run.wait()
    return run.returncode != 0
