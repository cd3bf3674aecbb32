import BenchHarness
import CBaselines
import Foundation

/// Counts instructions: the program runs one case and subject under callgrind.
///
/// It runs a copy without debug information, which valgrind may be too old to read. Valgrind emulates a processor, on
/// which a library may choose other code. The work is done once as a warm-up, and once in `measure_counted`, the only
/// function that callgrind counts.
enum Instructions {
    static func runCounted(_ name: String, _ options: Options) throws {
        let parts = name.components(separatedBy: "|")
        guard parts.count == 2, let item = try Suites.cases(options).first(where: { $0.name == parts[0] }),
            let once = item.subjects.first(where: { $0.name == parts[1] })?.once
        else { throw Options.Failure(description: "nothing to count in \(name)") }
        let work = Work(once)
        work.run()
        unsafe measure_counted(
            { unsafe Unmanaged<Work>.fromOpaque($0).takeUnretainedValue().run() },
            Unmanaged.passUnretained(work).toOpaque())
        print("operations \(work.operations)")
    }

    static func count(_ item: Case, _ options: Options, into result: inout CaseResult) throws {
        let copy = FileManager.default.temporaryDirectory.appending(path: "martlet-bench-\(getpid())").path
        defer { try? FileManager.default.removeItem(atPath: copy) }
        _ = try ChildOutput.of("strip", ["--strip-debug", "-o", copy, CommandLine.arguments[0]])
        for subject in item.subjects where subject.once != nil {
            let suite = String(item.name.prefix { $0 != "/" })
            let output = try ChildOutput.of(
                "valgrind",
                [
                    "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=measure_counted",
                    copy, suite, "--baselines", options.baselines, "--counted",
                    "\(item.name)|\(subject.name)",
                ])
            guard let operations = number(after: "operations ", in: output), operations > 0,
                let instructions = number(after: "Collected : ", in: output)
            else { throw Options.Failure(description: "callgrind did not count \(item.name)") }
            result.add(["instructions": instructions / operations], of: subject.name)
        }
    }

    private static func number(after mark: String, in text: String) -> Double? {
        text.range(of: mark).flatMap { Double(text[$0.upperBound...].prefix { $0.isNumber }) }
    }

    private final class Work {
        private let once: () -> Int
        private(set) var operations = 0

        init(_ once: @escaping () -> Int) {
            self.once = once
        }

        func run() { operations = once() }
    }
}

/// The output of a child process on both streams.
enum ChildOutput {
    static func of(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }
}
