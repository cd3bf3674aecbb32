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

/// Bytes written as hexadecimal digits.
private func bytes(_ line: some StringProtocol) -> [UInt8]? {
    let digits = Array(line.utf8)
    let values = digits.map { UInt8(String(UnicodeScalar($0)), radix: 16) }
    guard digits.count.isMultiple(of: 2), !values.contains(nil) else { return nil }
    return stride(from: 0, to: values.count, by: 2).map { values[$0]! << 4 | values[$0 + 1]! }
}

private func fail(_ message: String) -> Never {
    print("replay: \(message)")
    exit(1)
}

private func run(_ target: FuzzTarget, _ input: [UInt8], _ name: String) {
    unsafe free(running)
    unsafe running = strdup("replay: \(name)")
    unsafe target.run(input.span.bytes)
}

/// The least number of committed inputs: fewer mean that their files were not found.
private let minInputCount = 100
private let root = CommandLine.arguments.dropFirst().first ?? "."
private let chosen = CommandLine.arguments.dropFirst(2).first
private var inputCount = 0

for number in [SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGBUS] { signal(number, report) }
for target in FuzzTarget.allCases where chosen == nil || chosen == target.rawValue {
    let path = "\(root)/Corpus/\(target.rawValue).hex"
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    for (index, line) in text.split(separator: "\n").enumerated() {
        guard let input = bytes(line) else { fail("\(path):\(index + 1) is not hexadecimal") }
        run(target, input, "\(path):\(index + 1)")
        inputCount += 1
    }
    for path in files(in: "\(root)/FailCases/\(target.rawValue)") {
        guard let data = FileManager.default.contents(atPath: path) else { fail("\(path) cannot be read") }
        run(target, [UInt8](data), path)
    }
}
if chosen == nil, inputCount < minInputCount { fail("\(inputCount) inputs, fewer than \(minInputCount)") }
