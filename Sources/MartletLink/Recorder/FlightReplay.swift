import MartletWire

/// Runs the events of a recording through the connections' machine again, and compares what it does.
package struct FlightReplay {
    /// The first record that differs from what the machine has done.
    package struct Difference: Equatable, Sendable {
        /// The number of the record, from 0.
        package var record: Int
        package var at: Instant
        /// What was recorded, and what the machine has done; nil for nothing.
        package var recorded: String?
        package var replayed: String?
    }

    package private(set) var eventCount = 0
    /// The first difference; nil if there is none.
    package private(set) var difference: Difference?
    /// The status after the last event.
    package private(set) var status = LinkStatus()

    /// - Throws: `invalid` if a state cannot be read.
    package init(_ recording: FlightRecording) throws(RecordingError) {
        var connection = ConnectionSupervisor(
            LinkConfiguration(account: .placeholder, device: DeviceID(rawValue: 0)), seed: 0, now: .zero)
        var isFirst = true
        for (number, (now, record)) in recording.records.enumerated() where difference == nil {
            switch record {
            case .begin(let state) where isFirst:
                isFirst = false
                var archive = StateArchive(.read, state, at: now)
                try connection.archive(&archive)
                guard archive.isAtEnd else { throw archive.fault }
            case .event(let event):
                connection.handle(event, now: now)
                eventCount += 1
            case .step(let step):
                let next = connection.nextStep()
                if next.map({ StateArchive.bytes($0, at: now, .write) }) != StateArchive.bytes(step, at: now, .write) {
                    note(number, now, step.text, next?.text)
                }
            case .status(let status):
                let replayed = StateArchive.bytes(connection.status, at: now, .write)
                if replayed != StateArchive.bytes(status, at: now, .write) {
                    note(number, now, "\(status)", "\(connection.status)")
                }
            case .begin(let state), .end(let state):
                if let step = connection.nextStep() { note(number, now, nil, step.text) }
                guard difference == nil, StateArchive.bytes(connection, at: now, .write) != state else { break }
                var recorded = connection
                var archive = StateArchive(.read, state, at: now)
                try recorded.archive(&archive)
                note(number, now, recorded.summary, connection.summary)
            }
        }
        status = connection.status
    }

    private mutating func note(_ record: Int, _ now: Instant, _ recorded: String?, _ replayed: String?) {
        difference = Difference(record: record, at: now, recorded: recorded, replayed: replayed)
    }
}
