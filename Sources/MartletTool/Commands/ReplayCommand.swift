import MartletLink
import MartletToolSupport

/// `martlet replay`: runs the events of a flight recording again.
enum ReplayCommand {
    static let spec = CommandSpec(
        name: "replay",
        summary: "Run the events of a flight recording again, and compare what the connections do.",
        operand: "FILE", options: [],
        notes: [
            """
            A flight recording has the latest events of a client's connections. A client with --recordings DIR writes \
            one into DIR when a fault has ended a connection, and on the signal USR1. 'martlet decode FILE' prints it.
            """,
            """
            This version of the program runs the events from the recorded state. The first action or state that \
            differs from the recorded one is printed. A version that has fixed a fault differs where the fault was.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "the actions and the last state are those of the recording"),
            ExitMeaning(.failure, "an action or a state differs"),
            ExitMeaning(.dataError, "FILE is not a valid recording"), ExitMeaning(.noInput, "FILE cannot be read"),
        ]
    ) { arguments in
        guard let path = arguments.operands.first else { throw UsageError(message: "FILE is missing") }
        let recording = try parse(try InputFile.read(path, "the recording"))
        let replay: FlightReplay
        do throws(RecordingError) { replay = try FlightReplay(recording) } catch { throw CommandError(error) }
        if let difference = replay.difference {
            for line in difference.lines { try Output.print(SafeText.line(line)) }
            return .failure
        }
        try Output.print("\(replay.eventCount) events, the same actions and the same state: \(replay.status)")
        return .success
    }

    /// Reads a recording, with the errors of a command.
    static func parse(_ file: [UInt8]) throws(CommandError) -> FlightRecording {
        do throws(RecordingError) { return try FlightRecording(parsing: file) } catch { throw CommandError(error) }
    }
}

extension CommandError {
    fileprivate init(_ error: RecordingError) {
        let text =
            switch error {
            case .notRecording: "not a flight recording"
            case .unsupportedVersion(let version): "version \(version) of the format is not known"
            case .damaged: "the recording is damaged"
            case .invalid(let offset): "a field at offset \(offset) of the records is not valid"
            }
        self.init(.dataError, text)
    }
}
