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

/// The first invalid line of a ``PasswordFile``.
public struct PasswordFileError: Error, Equatable, Sendable {
    /// The number of the line. The first line has the number 1.
    public let line: Int
    /// The reason.
    public let fault: PasswordFileFault
}
