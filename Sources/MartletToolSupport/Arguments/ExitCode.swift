/// The exit code of a command. Codes above 63 are those of sysexits(3).
package enum ExitCode: Int32, Sendable {
    /// The command succeeded.
    case success = 0
    /// The command ran with a negative result: some messages were not accepted, or two files differ.
    case failure = 1
    /// The command ran, but the relay had lost the room's log. The output belongs to a new log.
    case logReplaced = 3
    /// The command line is invalid.
    case usage = 64
    /// The input is invalid.
    case dataError = 65
    /// A named file cannot be read.
    case noInput = 66
    /// The name of a host has no address.
    case noHost = 68
    /// The peer could not be reached before the timeout.
    case unavailable = 69
    /// A file could not be created or an address is not available.
    case cannotCreate = 73
    /// Reading or writing failed.
    case inputOutput = 74
    /// The peer violates TLS or the protocol, or has no valid certificate.
    case protocolError = 76
    /// The relay refused the account, its token or the room.
    case noPermission = 77
    /// The terminal was closed.
    case hungUp = 129
    /// The user pressed the interrupt key.
    case interrupted = 130
    /// A signal requested termination.
    case terminated = 143
}

/// An error that ends a command, with its message and its exit code.
package struct CommandError: Error, Equatable, Sendable {
    package var code: ExitCode
    package var message: String

    package init(_ code: ExitCode, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension CommandError: CustomStringConvertible {
    /// The message.
    package var description: String { message }
}
