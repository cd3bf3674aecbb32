@testable import MartletLink
@testable import MartletWire

/// The records of a flight recording: none traps, and those that are read can be printed and replayed.
enum RecordingTarget {
    static func run(_ input: RawSpan) {
        let file = FlightRecording.file(Array(copying: input))
        guard let recording = try? FlightRecording(parsing: file) else { return }
        hold(recording.lines.count == recording.records.count, "a record has no line")
        guard let replay = try? FlightReplay(recording) else { return }
        hold(replay.eventCount <= recording.records.count, "an event was replayed twice")
    }
}
