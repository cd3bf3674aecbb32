import MartletDecode

/// Why an input cannot be decoded, or not further.
enum InputError: Error, Equatable, Sendable {
    /// The capture cannot be read.
    case capture(CaptureError)
    /// A line of hex text is malformed.
    case hex(line: Int, problem: String)
    /// A capture that does not come from a file is longer than so many bytes.
    case captureTooLarge(maxByteCount: Int)

    /// The error as a message for the user.
    var message: String {
        switch self {
        case .capture(let error): "\(error)"
        case .hex(let line, let problem): "in line \(line): \(problem)"
        case .captureTooLarge(let byteCount): "a capture of more than \(byteCount) bytes that is not in a file"
        }
    }
}
