/// A file of users and their ``SCRAMRecord``s.
///
/// The file consists of lines that end with a line feed. A line is empty, begins with `#` and is a comment, or contains
/// a name, a blank and a record:
///
/// ```text
/// #unknown-users dGhpcyBpcyBhIHNlY3JldCBvZiAzMiBieXRlcyAuLi4=
/// # users of the relay
/// alice SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPL…
/// ```
///
/// The comment `#unknown-users` contains a secret, with which a server answers for names without a record.
///
/// The name is the part before the last blank, so it can contain blanks. Names are equal if their bytes are equal. A
/// change keeps the other lines and their order.
public struct PasswordFile: Equatable, Sendable {
    /// The maximum number of lines, empty ones and comments included.
    public static let maxLineCount = 100_000
    /// The maximum number of bytes of a line, without its line feed.
    public static let maxLineByteCount = 512
    /// The number of iterations for the first user: a compromise between the time of a guess and that of a sign-in,
    /// about 0.1 s.
    public static let usualIterations = 100_000

    /// The UTF-8 of a name, so that a comparison does not depend on Unicode equivalence.
    private typealias Name = [UInt8]

    private enum Line: Equatable {
        case user(Name)
        /// An empty line or a comment.
        case other([UInt8])
    }

    private var lines: [Line] = []
    private var records: [Name: SCRAMRecord] = [:]

    private static let lineFeed = UInt8(ascii: "\n")
    private static let blank = UInt8(ascii: " ")
    private static let commentMark = UInt8(ascii: "#")
    private static let secretMark = Array("#unknown-users ".utf8)

    /// Creates an empty file.
    public init() {}

    /// Reads the bytes of a file.
    ///
    /// - Throws: ``PasswordFileError`` about the first invalid line.
    public init(parsing bytes: [UInt8]) throws(PasswordFileError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let line = rest.prefix { $0 != Self.lineFeed }
            rest = rest.dropFirst(line.count + 1)
            do {
                try append(line: line)
            } catch {
                throw PasswordFileError(line: lines.count + 1, fault: error)
            }
        }
    }

    private mutating func append(line: ArraySlice<UInt8>) throws(PasswordFileFault) {
        guard lines.count < Self.maxLineCount else { throw .tooManyLines }
        guard line.count <= Self.maxLineByteCount else { throw .oversizedLine }
        guard let first = line.first, first != Self.commentMark else {
            lines.append(.other(Array(line)))
            return
        }
        guard let blank = line.lastIndex(of: Self.blank) else { throw .missingRecord }
        let record = String(validating: line[blank...].dropFirst(), as: UTF8.self).flatMap { SCRAMRecord($0) }
        guard let record else { throw .invalidRecord }
        guard let name = String(validating: line[..<blank], as: UTF8.self) else { throw .invalidName }
        try append(Self.name(name), record)
    }

    private mutating func append(_ name: Name, _ record: SCRAMRecord) throws(PasswordFileFault) {
        guard lines.count < Self.maxLineCount else { throw .tooManyLines }
        guard records[name] == nil else { throw .duplicateName }
        lines.append(.user(name))
        records[name] = record
    }

    private static func name(_ text: String) throws(PasswordFileFault) -> Name {
        let name = Array(text.utf8)
        guard (try? SCRAMName(text)) != nil, name.first != commentMark, name.first != blank, name.last != blank else {
            throw .invalidName
        }
        return name
    }

    /// The bytes of the file. They contain keys; only the server's user should be able to read them.
    public var bytes: [UInt8] {
        Array(
            lines.lazy.flatMap { line in
                switch line {
                case .user(let name): name + [Self.blank] + Array((records[name]?.text ?? "").utf8) + [Self.lineFeed]
                case .other(let text): text + [Self.lineFeed]
                }
            })
    }

    /// The names, in the order of the file.
    public var names: [String] {
        lines.compactMap { line in
            if case .user(let name) = line { String(decoding: name, as: UTF8.self) } else { nil }
        }
    }

    /// The number of iterations of the first user's record, which all further ones should have too, so that a challenge
    /// does not reveal which users exist; ``usualIterations`` without users.
    public var iterations: Int {
        for case .user(let name) in lines { return records[name]?.iterations ?? Self.usualIterations }
        return Self.usualIterations
    }

    /// The secret of ``UnknownUserRecords``; nil if the file has none. It outlives restarts of the server in the file.
    public var unknownUserSecret: [UInt8]? {
        for case .other(let text) in lines where text.starts(with: Self.secretMark) {
            let secret = Base64.decode(text.dropFirst(Self.secretMark.count), .standard)
            if let secret, secret.count >= SCRAMLimits.minSecretByteCount { return secret }
        }
        return nil
    }

    /// Adds the secret of ``UnknownUserRecords`` in the first line, if the file has none.
    ///
    /// - Parameter secret: 32 to 256 random bytes.
    /// - Throws: ``PasswordFileFault/tooManyLines``.
    public mutating func addUnknownUserSecret(_ secret: [UInt8]) throws(PasswordFileFault) {
        precondition((SCRAMLimits.minSecretByteCount...256).contains(secret.count), "a secret of 32 to 256 bytes")
        guard unknownUserSecret == nil else { return }
        guard lines.count < Self.maxLineCount else { throw .tooManyLines }
        lines.insert(.other(Self.secretMark + Array(Base64.encode(secret, .standard).utf8)), at: 0)
    }

    /// Returns the record of a name, or nil if there is none.
    public func record(of name: String) -> SCRAMRecord? {
        records[Array(name.utf8)]
    }

    /// Adds a user at the end of the file.
    ///
    /// - Throws: ``PasswordFileFault/invalidName``, ``PasswordFileFault/duplicateName``,
    ///   ``PasswordFileFault/tooManyLines``.
    public mutating func add(_ name: String, _ record: SCRAMRecord) throws(PasswordFileFault) {
        try append(Self.name(name), record)
    }

    /// Replaces the record of a user.
    ///
    /// - Throws: ``PasswordFileFault/unknownName``.
    public mutating func replace(_ name: String, _ record: SCRAMRecord) throws(PasswordFileFault) {
        let name = Array(name.utf8)
        guard records[name] != nil else { throw .unknownName }
        records[name] = record
    }

    /// Removes a user.
    ///
    /// - Throws: ``PasswordFileFault/unknownName``.
    public mutating func remove(_ name: String) throws(PasswordFileFault) {
        let name = Array(name.utf8)
        guard records.removeValue(forKey: name) != nil else { throw .unknownName }
        lines.removeAll { $0 == .user(name) }
    }
}
