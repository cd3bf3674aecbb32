import Foundation

/// The progress of a command that sends or receives lines, reported while it runs and at its end.
package struct TransferReport: Equatable, Sendable, Decodable {
    /// What the report is about.
    package enum Event: String, Sendable, Decodable {
        case progress, summary
    }

    /// On the way, or at the end.
    package var event = Event.progress
    /// Lines taken from the input and queued.
    package var sent = 0
    /// Lines that the relay has accepted.
    package var accepted = 0
    /// Lines that the relay refused, or that failed otherwise.
    package var failed = 0
    /// Lines written.
    package var received = 0
    /// Messages that the relay no longer had.
    package var missed: UInt64 = 0
    /// Times that the relay had lost the room's log.
    package var replacedLogs: UInt64 = 0
    /// Connections after the first.
    package var reconnects: UInt64 = 0
    /// Connections that went on where the last one stopped.
    package var resumes: UInt64 = 0
    /// Frames sent more than once.
    package var retransmissions: UInt64 = 0
    /// The median round trip in milliseconds.
    package var rttP50: Double?
    /// The round trip that 99 of 100 stay below, in milliseconds.
    package var rttP99: Double?
    /// Bytes of frames sent.
    package var bytesSent: UInt64 = 0
    /// Bytes of frames received.
    package var bytesReceived: UInt64 = 0
    /// Since the command began, in seconds.
    package var seconds = 0.0
    /// Whether there is a connection.
    package var online = false
    /// What the connection is doing, for a person.
    package var status = ""

    package init() {}

    /// The report as a JSON object; reads back as the same.
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

    /// The report in a line of JSON; `nil` when it holds none.
    package static func parse(_ line: String) -> TransferReport? {
        try? JSONDecoder().decode(TransferReport.self, from: Data(line.utf8))
    }
}
