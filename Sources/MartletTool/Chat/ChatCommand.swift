/// The command in a submitted line.
enum ChatCommand: Equatable, Sendable {
    /// Send a text to the room.
    case send(String)
    case help, who, quit, retry
    /// Do nothing.
    case nothing
    /// Report an unknown command.
    case unknown(String)

    /// The text of the command `/help`.
    static let overview = """
        /who    list the members
        /retry  connect now
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
        switch line.dropFirst().split(separator: " ").first ?? "" {
        case "help", "?": self = .help
        case "who", "w": self = .who
        case "quit", "q", "exit": self = .quit
        case "retry": self = .retry
        case let name: self = .unknown(String(name))
        }
    }
}
