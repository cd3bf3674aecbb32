internal import Foundation
internal import FuzzTargets

// Runs every committed input with its target once, as a regression test. Prints nothing on success.
//
// usage: replay <folder of the Fuzz package> [target]

/// The name of the current file for a signal handler, which cannot capture it. Only one thread accesses it.
nonisolated(unsafe) private var running = unsafe strdup("")

/// Reports the input that ended the process.
private func report(_ number: Int32) {
    if let name = unsafe running {
        unsafe write(STDERR_FILENO, name, strlen(name))
        unsafe write(STDERR_FILENO, "\n", 1)
    }
    signal(number, SIG_DFL)
    raise(number)
}

private func files(in folder: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { !$0.hasPrefix(".") }.sorted().map { folder + "/" + $0 }
}

private let leastSeedCount = 300
private let root = CommandLine.arguments.dropFirst().first ?? "."
private let chosen = CommandLine.arguments.dropFirst(2).first
private var seedCount = 0

for number in [SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGBUS] { signal(number, report) }
for target in FuzzTarget.allCases where chosen == nil || chosen == target.rawValue {
    let seeds = files(in: "\(root)/Corpus/\(target.rawValue)")
    seedCount += seeds.count
    for path in seeds + files(in: "\(root)/FailCases/\(target.rawValue)") {
        guard let data = FileManager.default.contents(atPath: path) else {
            print("replay: \(path) cannot be read")
            exit(1)
        }
        unsafe free(running)
        unsafe running = strdup("replay: \(path)")
        let bytes = [UInt8](data)
        unsafe target.run(bytes.span.bytes)
    }
}
if chosen == nil, seedCount < leastSeedCount {
    print("replay: \(seedCount) seeds, fewer than \(leastSeedCount)")
    exit(1)
}
