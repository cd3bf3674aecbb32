import MartletWire

/// The latest events of a client's connections, with contents, names and secrets left out, and what the connections
/// did.
///
/// The events are in two segments. Each begins with the state of the connections, from which its events can be run
/// again. When the later segment is full, the earlier one is discarded. Frames cost nothing: an event that follows
/// records what they have changed.
struct FlightRecorder: Sendable {
    /// The end of a segment that is reserved for the events until the next end of a turn, and then for the last state.
    private static let turnByteCount = 4096
    private static let stateByteCount = 4096

    private let segmentByteCount: Int
    private var earlier: [UInt8] = []
    private var later: [UInt8] = []
    /// The instant of the last record of the later segment.
    private var time = Instant.zero
    /// What the last record implies about the frames.
    private var activity = ConnectionSupervisor.Activity()
    /// The code of the last fault that ended a connection; nil if it was taken.
    private var fault: ErrorCode?

    /// - Parameter byteCount: The maximum number of bytes of a recording, at least 32 KiB; 0 for no recording.
    init(byteCount: Int) {
        segmentByteCount = byteCount == 0 ? 0 : (max(byteCount, 32 << 10) - FlightRecording.envelopeByteCount) / 2
    }

    private var isOn: Bool { segmentByteCount > 0 }

    /// Records an event before the connections handle it.
    mutating func record(_ event: ConnectionEvent, of connection: ConnectionSupervisor, now: Instant) {
        if case .failed(let code) = event, code != .none { fault = code }
        guard isOn else { return }
        begin(connection, now: now)
        flush(connection, now: now)
        guard case .input(.pathChanged(var status)) = event else { return append(.event(event), now: now) }
        status.addresses = connection.isLocal(on: status) ? [StateArchive.placeholder] : []
        append(.event(.input(.pathChanged(to: status))), now: now)
    }

    /// Notes the effect of an event that was recorded.
    mutating func handled(by connection: ConnectionSupervisor) {
        if isOn { activity = connection.activity }
    }

    /// Records what the connections have done.
    mutating func record(_ step: ConnectionSupervisor.Step, now: Instant) {
        if isOn { append(.step(step), now: now) }
    }

    /// Records a change of the status.
    mutating func recordStatus(of connection: ConnectionSupervisor, now: Instant) {
        guard isOn, !later.isEmpty else { return }
        flush(connection, now: now)
        append(.status(connection.status), now: now)
    }

    /// Whether another segment begins at the end of a turn.
    var isFull: Bool { later.count > segmentByteCount - Self.stateByteCount - Self.turnByteCount && isOn }

    /// Begins another segment. The steps of the connections have been taken.
    mutating func beginSegment(with connection: ConnectionSupervisor, now: Instant) {
        flush(connection, now: now)
        earlier = later
        later = []
        begin(connection, now: now)
    }

    /// Returns the recording. The steps of the connections have been taken.
    func recording(of connection: ConnectionSupervisor, now: Instant) -> [UInt8] {
        guard isOn else { return [] }
        var copy = self
        copy.begin(connection, now: now)
        copy.flush(connection, now: now)
        copy.append(.end(StateArchive.bytes(connection, at: now)), now: now, reserving: 0)
        return FlightRecording.file(copy.earlier + copy.later)
    }

    /// Returns the code of the last fault that ended a connection, once.
    mutating func takeFault() -> ErrorCode? { fault.take() }

    private mutating func begin(_ connection: ConnectionSupervisor, now: Instant) {
        guard later.isEmpty else { return }
        time = .zero
        activity = connection.activity
        append(.begin(StateArchive.bytes(connection, at: now)), now: now)
    }

    private mutating func flush(_ connection: ConnectionSupervisor, now: Instant) {
        let current = connection.activity
        guard current != activity else { return }
        activity = current
        append(.event(.activity(current)), now: now)
    }

    private mutating func append(_ record: FlightRecord, now: Instant, reserving reserved: Int = stateByteCount) {
        var archive = StateArchive(.redact, at: now)
        var (record, since) = (record, UInt64(clamping: (now - time).nanoseconds))
        // Only reading has errors.
        try? archive.number(&since)
        try? record.archive(&archive)
        // Of a turn with more records than are reserved, the last ones are missing, and the replay shows a difference.
        guard later.count + archive.bytes.count <= segmentByteCount - reserved else { return }
        time = now
        later += archive.bytes
    }
}
