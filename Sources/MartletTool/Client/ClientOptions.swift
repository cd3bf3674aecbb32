import Foundation
import Martlet
import MartletToolSupport
import MartletWire

/// What all commands that are clients take.
enum ClientOptions {
    static let target = Option.text(
        "to", "URL", fallback: "martlet://127.0.0.1:7227", help: "the relay; there is no TLS yet, so martlet:// it is")
    static let room = Option.text("room", short: "r", "NAME", fallback: "lobby", help: "the room")
    static let account = Option.text(
        "account", short: "a", "NAME", help: "who to be [your name on this machine]")
    static let token = Option.text(
        "token", "TOKEN", help: "what proves it; better given in MARTLET_TOKEN, which other users do not see")
    static let multipath = Option.flag(
        "multipath", help: "connect by multipath TCP where both machines have it")
    static let timeout = Option.duration(
        "timeout", "S", in: .seconds, isZeroAllowed: false,
        help: "give up after so long without a connection [never]")

    static let specs = [target.spec, room.spec, account.spec, token.spec, multipath.spec]

    /// The exit codes that all of them have.
    static let exitCodes = [
        ExitMeaning(.unavailable, "no connection for longer than --timeout, or the relay wants no more of them"),
        ExitMeaning(.noPermission, "the relay refuses the account, its token or the room"),
        ExitMeaning(.interrupted, "interrupted"), ExitMeaning(.terminated, "asked to terminate"),
    ]

    /// The client that the options ask for. A wrong name of the room is an error of the command line, too.
    static func client(
        _ arguments: ParsedArguments, agent: String, flushTimeout: Duration? = nil
    ) throws -> Client {
        _ = try roomName(arguments)
        var configuration = Client.Configuration()
        configuration.flushTimeout = flushTimeout ?? configuration.flushTimeout
        configuration.usesMultipath = arguments.has(multipath)
        configuration.agent = "\(MartletTool.program.title) \(agent)"
        do {
            return try Client(
                to: arguments[target] ?? "", as: credentials(arguments), configuration: configuration)
        } catch {
            throw UsageError(message: "\(error)")
        }
    }

    /// The room that the options name. Another text than a name is a wrong command line.
    static func roomName(_ arguments: ParsedArguments) throws(UsageError) -> RoomName {
        let text = arguments[room] ?? ""
        guard let name = RoomName(text) else { throw UsageError(message: "\(MartletError.invalidName(text))") }
        return name
    }

    /// Who the options say one is.
    static func accountName(_ arguments: ParsedArguments) -> String {
        arguments[account] ?? ProcessInfo.processInfo.environment["USER"] ?? "somebody"
    }

    private static func credentials(_ arguments: ParsedArguments) -> Credentials {
        let name = accountName(arguments)
        guard let token = arguments[token] ?? ProcessInfo.processInfo.environment["MARTLET_TOKEN"] else {
            return .anonymous(name)
        }
        return .token(account: name, token)
    }
}

extension CommandError {
    /// A client's error as a command ends with it.
    init(_ error: MartletError) {
        let code: ExitCode =
            switch error {
            case .gaveUp(let reason): Self.code(for: reason)
            case .roomClosed(.roomForbidden?), .roomClosed(.forbidden?): .noPermission
            case .roomClosed, .stopped, .connectionLost: .unavailable
            case .invalidEndpoint, .invalidName, .tlsUnavailable: .usage
            default: .failure
            }
        self.init(code, "\(error)")
    }

    /// A client that gave up.
    init(givingUp reason: StopReason, explanation: String) {
        self.init(Self.code(for: reason), SafeText.line(explanation))
    }

    private static func code(for reason: StopReason) -> ExitCode {
        switch reason {
        case .unauthenticated, .forbidden, .revoked: .noPermission
        default: .unavailable
        }
    }
}
