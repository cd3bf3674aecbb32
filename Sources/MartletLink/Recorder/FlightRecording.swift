import MartletWire

/// A record of a flight recording.
enum FlightRecord {
    /// The state with which a segment begins.
    case begin([UInt8])
    case event(ConnectionEvent)
    case step(ConnectionSupervisor.Step)
    case status(LinkStatus)
    /// The state after the last event.
    case end([UInt8])
}

extension FlightRecord: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var (index, state, event) = (0, [UInt8](), ConnectionEvent.blank)
        var (step, status) = (ConnectionSupervisor.Step.receive, LinkStatus())
        switch self {
        case .begin(let bytes): state = bytes
        case .event(let recorded): (index, event) = (1, recorded)
        case .step(let recorded): (index, step) = (2, recorded)
        case .status(let recorded): (index, status) = (3, recorded)
        case .end(let bytes): (index, state) = (4, bytes)
        }
        switch try archive.tag(index, below: 5) {
        case 0:
            try archive.state(&state)
            self = .begin(state)
        case 1:
            try event.archive(&archive)
            self = .event(event)
        case 2:
            try step.archive(&archive)
            self = .step(step)
        case 3:
            try status.archive(&archive)
            self = .status(status)
        default:
            try archive.state(&state)
            self = .end(state)
        }
    }
}

/// A flight recording as a file: a header, the records of up to two segments, and a checksum.
///
/// | bytes | |
/// |---|---|
/// | 4 | `MTFR` |
/// | 1 | the version of the format |
/// | | records: nanoseconds since the last one, at the first of a segment since the origin of the clock; kind; fields |
/// | 4 | CRC-32C of all bytes before |
package struct FlightRecording {
    static let magic: [UInt8] = Array("MTFR".utf8)
    static let version: UInt8 = 1
    /// The number of bytes of header and checksum.
    static let envelopeByteCount = magic.count + 1 + 4
    /// The maximum number of bytes of a file.
    package static let maxByteCount = 16 << 20

    /// The records with their instants.
    private(set) var records: [(at: Instant, record: FlightRecord)] = []

    static func file(_ records: [UInt8]) -> [UInt8] {
        var file = magic + [version] + records
        file.append(bigEndian: CRC32.checksum(file.rawBytes))
        return file
    }

    /// Whether bytes begin as a recording does.
    package static func isRecording(_ prefix: [UInt8]) -> Bool { prefix.starts(with: magic) }

    /// Reads a file.
    package init(parsing file: [UInt8]) throws(RecordingError) {
        guard Self.isRecording(file), file.count >= Self.envelopeByteCount else { throw .notRecording }
        guard file[Self.magic.count] == Self.version else { throw .unsupportedVersion(file[Self.magic.count]) }
        let content = file.dropLast(4)
        let checksum = file.rawBytes.loadUInt32(at: content.count)
        guard file.count <= Self.maxByteCount, CRC32.checksum(content.rawBytes) == checksum else { throw .damaged }
        var archive = StateArchive(.read, Array(content.dropFirst(Self.magic.count + 1)))
        while !archive.isAtEnd { try append(&archive) }
        guard case .begin? = records.first?.record, case .end? = records.last?.record else {
            throw archive.fault
        }
    }

    private mutating func append(_ archive: inout StateArchive) throws(RecordingError) {
        let start = archive
        var (since, record) = (UInt64(0), FlightRecord.begin([]))
        try archive.number(&since)
        // The instants of a record are relative to its own, which its kind determines.
        var kind = archive
        let isBegin = try kind.tag(0, below: 5) == 0
        let (time, isOverflow) = (isBegin ? 0 : start.base.nanoseconds).addingReportingOverflow(since)
        guard !isOverflow, time >= start.base.nanoseconds, time < UInt64(Int64.max) else { throw archive.fault }
        archive.base = Instant(nanoseconds: time)
        try record.archive(&archive)
        records.append((archive.base, record))
    }
}

extension StateArchive {
    /// The bytes of a state, at most 64 KiB.
    fileprivate mutating func state(_ state: inout [UInt8]) throws(RecordingError) {
        var count = state.count
        try self.count(&count, upTo: 64 << 10)
        try raw(&state, count)
    }
}
