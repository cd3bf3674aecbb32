/// What a command's end means to the shell that ran it; numbers above 63 are those of sysexits(3).
package enum ExitCode: Int32, Sendable {
    /// Everything that was asked for was done.
    case success = 0
    /// It ran, and the answer is no: not everything was accepted, or two files differ.
    case failure = 1
    /// It ran, and the relay had lost what was read before: what came is of a log that began anew.
    case logReplaced = 3
    /// The command line is wrong.
    case usage = 64
    /// The input is not what it should be.
    case dataError = 65
    /// A file that was named cannot be read.
    case noInput = 66
    /// The other side could not be reached, or not for long enough.
    case unavailable = 69
    /// A file or an address could not be taken.
    case cannotCreate = 73
    /// Reading or writing failed.
    case inputOutput = 74
    /// The relay refused the account, its token or the room.
    case noPermission = 77
    /// Ended because the terminal was closed.
    case hungUp = 129
    /// Ended by the interrupt key.
    case interrupted = 130
    /// Ended by a request to terminate.
    case terminated = 143
}

/// A command that cannot go on: what to tell the user, and with which code to leave.
package struct CommandError: Error, Equatable, Sendable {
    package var code: ExitCode
    package var message: String

    package init(_ code: ExitCode, _ message: String) {
        self.code = code
        self.message = message
    }
}
