/// A report about a command that sends or receives lines, during its run and at its end.
package struct TransferReport: Equatable, Sendable, Decodable {
    /// The kind of the report.
    package enum Event: String, Sendable, Decodable {
        case progress, summary
    }

    /// Whether the command is running or has ended.
    package var event = Event.progress
    /// The number of lines that were read and queued.
    package var sent = 0
    /// The number of lines that the relay has accepted.
    package var accepted = 0
    /// The number of lines that the relay has refused or that have failed.
    package var failed = 0
    /// The number of lines written.
    package var received = 0
    /// The number of messages that the relay no longer kept.
    package var missed: UInt64 = 0
    /// The number of times that the room had a new log.
    package var replacedLogs: UInt64 = 0
    /// The number of connections after the first.
    package var reconnects: UInt64 = 0
    /// The number of connections that resumed the link.
    package var resumes: UInt64 = 0
    /// The number of retransmitted frames.
    package var retransmissions: UInt64 = 0
    /// The median round-trip time in milliseconds; nil if it is unknown.
    package var rttP50: Double?
    /// The 99th percentile of the round-trip time in milliseconds; nil if it is unknown.
    package var rttP99: Double?
    /// The number of bytes of sent frames.
    package var bytesSent: UInt64 = 0
    /// The number of bytes of received frames.
    package var bytesReceived: UInt64 = 0
    /// The time since the start of the command, in seconds.
    package var seconds = 0.0
    /// Whether there is a connection.
    package var online = false
    /// The state of the connection as text for people.
    package var status = ""

    package init() {}

    /// The report as a JSON object.
    package var json: JSONLine {
        .object([
            .init("event", .string(event.rawValue)), .init("sent", .count(sent)), .init("accepted", .count(accepted)),
            .init("failed", .count(failed)), .init("received", .count(received)), .init("missed", .count(missed)),
            .init("replacedLogs", .count(replacedLogs)),
            .init("reconnects", .count(reconnects)), .init("resumes", .count(resumes)),
            .init("retransmissions", .count(retransmissions)), .init("rttP50", rttP50.map { .decimal($0) } ?? .null),
            .init("rttP99", rttP99.map { .decimal($0) } ?? .null), .init("bytesSent", .count(bytesSent)),
            .init("bytesReceived", .count(bytesReceived)), .init("seconds", .decimal(seconds)),
            .init("online", .bool(online)), .init("status", .string(status)),
        ])
    }
}
