/// The reason for which a line of a ``PasswordFile``, or a change to it, is refused.
public enum PasswordFileFault: Error, Equatable, Sendable {
    /// There is no blank between name and record.
    case missingRecord
    /// The name is not UTF-8 of 1 to 128 bytes, contains a control character, begins with `#`, or begins or ends with a
    /// blank.
    case invalidName
    /// The record does not have the form of ``SCRAMRecord/init(_:)``.
    case invalidRecord
    /// The name has a record already.
    case duplicateName
    /// The name has no record.
    case unknownName
    /// The line has more than 512 bytes.
    case oversizedLine
    /// The file has more than 100,000 lines.
    case tooManyLines
}

extension PasswordFileFault: CustomStringConvertible {
    /// A description in one line.
    public var description: String {
        switch self {
        case .missingRecord: "a line is a name, a blank and a record"
        case .invalidName: "the name is not valid, or begins with '#'"
        case .invalidRecord: "the record is not valid"
        case .duplicateName: "the name has a record already"
        case .unknownName: "the name has no record"
        case .oversizedLine: "the line has more than \(PasswordFile.maxLineByteCount) bytes"
        case .tooManyLines: "the file has more than \(PasswordFile.maxLineCount) lines"
        }
    }
}

/// The first invalid line of a ``PasswordFile``.
public struct PasswordFileError: Error, Equatable, Sendable {
    /// The number of the line. The first line has the number 1.
    public let line: Int
    /// The reason.
    public let fault: PasswordFileFault
}
