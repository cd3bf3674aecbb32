import MartletDecode

/// An error of an input that cannot be decoded.
enum InputError: Error, Equatable, Sendable {
    /// The capture cannot be read.
    case capture(CaptureError)
    /// A line of hexadecimal text is malformed.
    case hex(line: Int, problem: String)
    /// A capture from a pipe exceeds the maximum number of bytes.
    case captureTooLarge(maxByteCount: Int)

    /// The error as a message for the user.
    var message: String {
        switch self {
        case .capture(let error): "\(error)"
        case .hex(let line, let problem): "in line \(line): \(problem)"
        case .captureTooLarge(let byteCount): "a capture of more than \(byteCount) bytes from a pipe"
        }
    }
}
