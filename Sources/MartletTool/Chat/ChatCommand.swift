import MartletWire

/// The command in a submitted line.
enum ChatCommand: Equatable, Sendable {
    /// Send a text to the room.
    case send(String)
    case help, who, quit, retry
    /// Perform an operation on the room.
    case operate(RoomOperation)
    /// Report a command that lacks a word or has an invalid one, with its form.
    case misused(String)
    /// Do nothing.
    case nothing
    /// Report an unknown command.
    case unknown(String)

    /// The text of the command `/help`.
    static let overview = """
        /who    list the members
        /retry  connect now
        /kick, /ban, /unban, /unmute, /invite NAME     operate on an account (for moderators)
        /mute NAME SECONDS, /role NAME ROLE            ROLE is none, reader, member, moderator or owner
        /access WHO, /close, /announce TEXT            WHO is open, inviteOnly or closed
        /roles                                         list roles, bans and mutes
        /quit   end the chat (or Ctrl-C, or Ctrl-D on an empty line)
        //text  send a text that begins with a slash
        Ctrl-Z  suspend, if the shell has job control
        Page up and down scroll, arrow up shows previous lines.
        Marks: … queued, ↑ sent, ✓ accepted by the relay, ✓✓ delivered, ✓✓ read.
        """

    /// Parses a line.
    init(_ line: String) {
        if line.hasPrefix("//") {
            self = .send(String(line.dropFirst()))
            return
        }
        guard line.hasPrefix("/") else {
            self = line.allSatisfy(\.isWhitespace) ? .nothing : .send(line)
            return
        }
        let words = line.dropFirst().split(separator: " ")
        switch words.first ?? "" {
        case "help", "?": self = .help
        case "who", "w": self = .who
        case "quit", "q", "exit": self = .quit
        case "retry": self = .retry
        case let name:
            guard let form = RoomCommand(rawValue: String(name)) else {
                self = .unknown(String(name))
                return
            }
            self = form.operation(words.dropFirst().map(String.init)).map { .operate($0) } ?? .misused(form.usage)
        }
    }
}
