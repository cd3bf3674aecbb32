import Foundation

/// The resources of a process, as reported by Linux.
struct ProcessFigures: Equatable, Sendable {
    /// The number of bytes of resident memory.
    var residentByteCount = 0
    /// The number of threads.
    var threadCount = 0
    /// The number of open descriptors.
    var descriptorCount = 0
    /// The processor time in user and system mode.
    var processorTime = Duration.zero

    /// Creates the figures of a process; nil if the system does not report them.
    init?(of process: Int32) {
        let folder = "/proc/\(process)"
        guard let status = try? String(contentsOfFile: folder + "/status", encoding: .utf8),
            let times = try? String(contentsOfFile: folder + "/stat", encoding: .utf8),
            let descriptors = try? FileManager.default.contentsOfDirectory(atPath: folder + "/fd")
        else { return nil }
        self.init(status: status, stat: times, descriptorCount: descriptors.count)
    }

    /// Creates the figures from /proc/PID/status and /proc/PID/stat (proc(5)).
    init?(status: String, stat: String, descriptorCount: Int, ticksPerSecond: Int = sysconf(Int32(_SC_CLK_TCK))) {
        func number(_ name: String) -> Int? {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
            return line?.split { !$0.isNumber }.first.flatMap { Int($0) }
        }
        // The name of the program, in parentheses, may contain any characters. User and system time are the 12th and
        // 13th fields after it.
        let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ")
        guard let resident = number("VmRSS"), let threads = number("Threads"), fields.count > 13,
            let user = Int(fields[12]), let system = Int(fields[13])
        else { return nil }
        residentByteCount = resident * 1024
        threadCount = threads
        self.descriptorCount = descriptorCount
        processorTime = .seconds(1) * (user + system) / ticksPerSecond
    }
}
