internal import Foundation
internal import FuzzTargets

// Gives every committed input to its target once: what was found stays found. Prints nothing when all is well.
//
// usage: replay <folder of the Fuzz package> [target]

/// The name of the file that is being run, for a signal's handler, which can hold nothing.
///
/// All of this happens on one thread.
nonisolated(unsafe) private var running = unsafe strdup("")

/// Says which input ended the process.
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
