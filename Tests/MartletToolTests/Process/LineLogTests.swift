import Foundation
import MartletToolSupport
import MartletTransport
import Testing

@testable import MartletTool

@Suite(.timeLimit(.minutes(10))) struct LineLogTests {
    private static func log(to descriptor: Int32, maxWaitingCount: Int = 100) -> LineLog<Int> {
        LineLog(to: descriptor, maxWaitingCount: maxWaitingCount) {
            "entry \($0)"
        } dropped: {
            "\($0) dropped"
        }
    }

    /// Calls `body` with a pipe of 4 KiB, and closes its ends unless `body` has closed the writer.
    private func withPipe(_ body: (_ reader: Int32, _ writer: FileHandle) async throws -> Void) async throws {
        var ends: [Int32] = [0, 0]
        try #require(unsafe pipe(&ends) == 0)
        try #require(fcntl(ends[1], 1031 /* F_SETPIPE_SZ */, 4096) == 4096)
        // A file handle closes its descriptor once. A number that is closed twice could belong to another test.
        let (reader, writer) = (FileHandle(fileDescriptor: ends[0]), FileHandle(fileDescriptor: ends[1]))
        defer {
            try? reader.close()
            try? writer.close()
        }
        try await body(reader.fileDescriptor, writer)
    }

    private func lines(_ reader: Int32) -> [String] {
        let bytes = FileHandle(fileDescriptor: reader, closeOnDealloc: false).readDataToEndOfFile()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func `lines are written before the log is finished`() async throws {
        try await withPipe { reader, writer in
            let log = Self.log(to: writer.fileDescriptor)
            for entry in 1...3 { log.add(entry) }
            await log.finish(within: .seconds(600))
            try writer.close()
            #expect(lines(reader) == ["entry 1", "entry 2", "entry 3"])
        }
    }

    // The test runs in a separate process, because the thread of the log is still in its write at the end.
    @Test func `a stalled reader blocks neither callers nor the end of the log`() async {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [0, 0]
            try #require(unsafe pipe(&ends) == 0)
            let log = LineLogTests.log(to: ends[1])
            for entry in 1...100_000 { log.add(entry) }
            await log.finish(within: .milliseconds(1))
        }
    }

    @Test func `a reader that resumes reading receives the number of dropped lines`() async throws {
        try await withPipe { reader, writer in
            let log = Self.log(to: writer.fileDescriptor, maxWaitingCount: 10)
            for entry in 1...10_000 { log.add(entry) }
            async let end: Void = log.finish(within: .seconds(600))
            // The writer is not closed, so the test reads until the last entry.
            var text = ""
            while !text.contains("entry 10000\n") {
                text += String(
                    decoding: FileHandle(fileDescriptor: reader, closeOnDealloc: false).availableData, as: UTF8.self)
            }
            await end
            let lines = text.split(separator: "\n")
            let dropped = lines.filter { $0.hasSuffix(" dropped") }.compactMap { Int($0.split(separator: " ")[0]) }
            let written = lines.count { $0.hasPrefix("entry ") }
            #expect(dropped.reduce(0, +) > 0)
            #expect(dropped.reduce(0, +) + written == 10_000)
        }
    }

    @Test func `a line that a full disk cuts off is ended before the next line`() async throws {
        await #expect(processExitsWith: .success) {
            let path = NSTemporaryDirectory() + UUID().uuidString
            let descriptor = Descriptors.open(path, O_WRONLY | O_CREAT | O_APPEND, mode: 0o600)
            try #require(descriptor >= 0)
            _ = signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit()
            try #require(unsafe getrlimit(Int32(RLIMIT_FSIZE.rawValue), &limit) == 0)
            limit.rlim_cur = 8
            try #require(unsafe setrlimit(Int32(RLIMIT_FSIZE.rawValue), &limit) == 0)
            let losses = Guarded(0)
            let log = LineLog<String>(to: descriptor) {
                $0
            } dropped: {
                "\($0) dropped"
            } onLoss: { count in
                losses.withLock { $0 += count }
            }
            log.add("first")
            log.add("second")
            while losses.withLock({ $0 }) < 1 { sched_yield() }
            limit.rlim_cur = limit.rlim_max
            try #require(unsafe setrlimit(Int32(RLIMIT_FSIZE.rawValue), &limit) == 0)
            log.add("third")
            await log.finish(within: .seconds(600))
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.hasPrefix("first\nse\n") && text.hasSuffix("\nthird\n"))
            _ = unsafe unlink(path)
        }
    }

    @Test func `a log without a reader accepts entries, and reports them as lost`() async {
        await #expect(processExitsWith: .success) {
            _ = signal(SIGPIPE, SIG_IGN)
            var ends: [Int32] = [0, 0]
            try #require(unsafe pipe(&ends) == 0)
            close(ends[0])
            let losses = Guarded(0)
            let log = LineLog<Int>(to: ends[1], maxWaitingCount: 10) {
                "\($0)"
            } dropped: {
                "\($0)"
            } onLoss: { count in
                losses.withLock { $0 += count }
            }
            for entry in 1...1000 { log.add(entry) }
            await log.finish(within: .seconds(600))
            #expect(losses.withLock { $0 } == 1000)
        }
    }
}
