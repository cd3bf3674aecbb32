package import MartletWire

/// The reason why bytes are not a valid flight recording.
package enum RecordingError: Error, Equatable {
    /// The bytes begin in another way.
    case notRecording
    /// The recording was written by a later version of the format.
    case unsupportedVersion(UInt8)
    /// The bytes have changed since they were written, or some are missing.
    case damaged
    /// A field at an offset of the records has a value that it cannot have.
    case invalid(at: Int)
}

/// A pass over the fields of a state, which writes them or reads them. Each type lists its fields once.
///
/// Texts and secrets are written as their lengths, and read as placeholders of the same lengths.
struct StateArchive {
    enum Mode: Equatable {
        /// Networks are replaced by numbers without a meaning outside of the process.
        case redact
        /// The state contains placeholders only.
        case write
        case read
    }

    let mode: Mode
    private(set) var bytes: [UInt8]
    private(set) var offset = 0
    /// The instant to which other instants are relative.
    var base = Instant.zero

    init(_ mode: Mode, _ bytes: [UInt8] = [], at base: Instant = .zero) {
        self.mode = mode
        self.bytes = bytes
        self.base = base
    }

    /// Returns the fields of a state that a recording may contain.
    static func bytes(_ state: some Archived, at base: Instant, _ mode: Mode = .redact) -> [UInt8] {
        var archive = StateArchive(mode, at: base)
        var state = state
        // Only reading has errors.
        try? state.archive(&archive)
        return archive.bytes
    }

    var isReading: Bool { mode == .read }
    var isAtEnd: Bool { offset == bytes.count }
    var fault: RecordingError { .invalid(at: offset) }

    /// A number in groups of 7 bits, the least significant group first.
    mutating func number(_ value: inout UInt64) throws(RecordingError) {
        guard isReading else {
            var rest = value
            while rest > 0x7F {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            return bytes.append(UInt8(rest))
        }
        value = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            guard offset < bytes.count else { throw fault }
            let byte = bytes[offset]
            offset &+= 1
            let group = UInt64(byte & 0x7F)
            guard shift < 63 || group <= 1 else { throw fault }
            value |= group << shift
            if byte < 0x80 { return }
        }
        throw fault
    }

    /// A number of either sign; small ones are short.
    mutating func signed(_ value: inout Int64) throws(RecordingError) {
        var number = UInt64(bitPattern: (value << 1) ^ (value >> 63))
        try self.number(&number)
        value = Int64(bitPattern: (number >> 1) ^ (0 &- (number & 1)))
    }

    /// A number whose values are bounded, also if the recording is not valid.
    mutating func count(_ value: inout Int, upTo bound: Int) throws(RecordingError) {
        var number = UInt64(min(max(value, 0), bound))
        try self.number(&number)
        guard number <= UInt64(bound) else { throw fault }
        value = Int(number)
    }

    /// The index of a case.
    mutating func tag(_ index: Int, below bound: Int) throws(RecordingError) -> Int {
        var index = index
        try count(&index, upTo: bound - 1)
        return index
    }

    mutating func choice<Value: CaseIterable & Equatable>(_ value: inout Value) throws(RecordingError) {
        let all = Array(Value.allCases)
        value = all[try tag(all.firstIndex(of: value) ?? 0, below: all.count)]
    }

    mutating func presence(_ value: inout Bool) throws(RecordingError) {
        value = try tag(value ? 1 : 0, below: 2) == 1
    }

    /// An optional value; `blank` is where reading begins.
    mutating func optional<Value: Archived>(_ value: inout Value?, _ blank: Value) throws(RecordingError) {
        var isPresent = value != nil
        try presence(&isPresent)
        guard isPresent else { return value = nil }
        var present = value ?? blank
        try present.archive(&self)
        value = present
    }

    mutating func list<Value: Archived>(
        _ values: inout [Value], _ blank: Value, upTo bound: Int
    ) throws(RecordingError) {
        var count = values.count
        try self.count(&count, upTo: bound)
        if isReading { values = Array(repeating: blank, count: count) }
        for index in values.indices { try values[index].archive(&self) }
    }

    /// So many bytes as they are.
    mutating func raw(_ raw: inout [UInt8], _ count: Int) throws(RecordingError) {
        guard isReading else { return bytes += raw }
        guard count <= bytes.count &- offset else { throw fault }
        let start = offset
        offset &+= count
        raw = Array(bytes[start..<offset])
    }

    /// A text, of which only the length is written.
    mutating func text(_ text: inout String?, upTo bound: Int) throws(RecordingError) {
        var byteCount = text.map { $0.utf8.count + 1 } ?? 0
        try count(&byteCount, upTo: bound + 1)
        if isReading { text = byteCount == 0 ? nil : String(repeating: "x", count: byteCount - 1) }
    }

    /// A text of which only the presence is written.
    mutating func presence(of text: inout String?) throws(RecordingError) {
        var isPresent = text != nil
        try presence(&isPresent)
        if isReading { text = isPresent ? Self.placeholder : nil }
    }

    /// The text in place of the address of a connection.
    static let placeholder = "redacted"

    /// A secret, of which only the length is written.
    mutating func secret(_ secret: inout Credential?) throws(RecordingError) {
        var byteCount = secret.map { $0.bytes.count + 1 } ?? 0
        try count(&byteCount, upTo: Credential.maxByteCount + 1)
        guard isReading else { return }
        secret = byteCount == 0 ? nil : Credential([UInt8](repeating: 0, count: byteCount - 1))
    }
}

/// A type whose fields can be written to a recording and read from it.
protocol Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError)
}

extension UInt64: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) { try archive.number(&self) }
}

extension Bool: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) { try archive.presence(&self) }
}

/// In nanoseconds.
extension Duration: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var number = nanoseconds
        try archive.signed(&number)
        if archive.isReading { self = .nanoseconds(number) }
    }
}

extension Instant: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var difference = Int64(bitPattern: archive.base.nanoseconds &- nanoseconds)
        try archive.signed(&difference)
        nanoseconds = archive.base.nanoseconds &- UInt64(bitPattern: difference)
    }
}

extension ConnectionID: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var number = Int(rawValue)
        try archive.count(&number, upTo: Int(UInt32.max))
        rawValue = UInt32(number)
    }
}

extension ErrorCode: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var number = Int(rawValue)
        try archive.count(&number, upTo: Int(UInt16.max))
        rawValue = UInt16(number)
    }
}

/// The hash of a network is replaced by one that only this process can compute.
extension NetworkID: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var number = rawValue
        if archive.mode == .redact, number != 0 {
            var hasher = Hasher()
            hasher.combine(number)
            number = UInt64(UInt32(truncatingIfNeeded: hasher.finalize())) | 1 << 32
        }
        try archive.number(&number)
        if archive.isReading { rawValue = number }
    }
}

/// The addresses are not written. The event has what they cause.
extension PathStatus: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        try archive.presence(&isUp)
        try archive.choice(&kind)
        try network.archive(&archive)
    }
}

extension Notice: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var (code, reason, retryAfter, redirect) = (code, reason, retryAfter, redirect)
        try code.archive(&archive)
        try archive.text(&reason, upTo: 256)
        try archive.optional(&retryAfter, .zero)
        try archive.text(&redirect, upTo: Self.maxRedirectByteCount)
        guard archive.isReading else { return }
        if redirect?.isEmpty == true { throw archive.fault }
        self = Notice(code: code, reason: reason, retryAfter: retryAfter, redirect: redirect)
    }
}

extension ConnectionFailure: Archived {
    /// The failures in the order of their numbers.
    private static let all: [ConnectionFailure] = [
        .unreachable, .notListening, .credentialUnavailable, .tlsFailure, .lost, .closedByPeer, .unauthenticated,
        .forbidden, .revoked, .replaced, .unsupportedVersion, .serverUnverified, .refused(retryAfter: nil),
        .redirected(retryAfter: nil), .proxyFailure, .captivePortal,
    ]

    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        let key = key
        let index = try archive.tag(Self.all.firstIndex { $0.key == key } ?? 0, below: Self.all.count)
        var wait: Duration?
        switch self {
        case .refused(let retryAfter), .redirected(let retryAfter): wait = retryAfter
        default: break
        }
        switch Self.all[index] {
        case .refused:
            try archive.optional(&wait, .zero)
            self = .refused(retryAfter: wait)
        case .redirected:
            try archive.optional(&wait, .zero)
            self = .redirected(retryAfter: wait)
        case let other: self = other
        }
    }
}

extension RetryReason: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var (index, attempt, kind) = (0, 0, PathKind.other)
        switch self {
        case .backoff(let number): attempt = number
        case .pathUp(let path): (index, kind) = (1, path)
        case .serverRequired: index = 2
        case .redirected: index = 3
        case .userRequested: index = 4
        }
        switch try archive.tag(index, below: 5) {
        case 0:
            try archive.count(&attempt, upTo: Int(Int32.max))
            self = .backoff(attempt: attempt)
        case 1:
            try archive.choice(&kind)
            self = .pathUp(kind)
        case 2: self = .serverRequired
        case 3: self = .redirected
        default: self = .userRequested
        }
    }
}

extension StopReason: Archived {
    private static let all: [StopReason] = [
        .unauthenticated, .forbidden, .revoked, .replaced, .unsupportedVersion, .serverUnverified, .attemptLimit,
    ]

    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        self = Self.all[try archive.tag(Self.all.firstIndex(of: self) ?? 0, below: Self.all.count)]
    }
}
