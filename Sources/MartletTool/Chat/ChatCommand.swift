/// What a submitted line asks for.
enum ChatCommand: Equatable, Sendable {
    /// To be said in the room.
    case say(String)
    case help, who, quit, retry
    /// Nothing.
    case nothing
    /// A command that there is not.
    case unknown(String)

    /// What help says.
    static let overview = """
        /who    who is here
        /retry  try to connect now
        /quit   leave (or Ctrl-C, or Ctrl-D on an empty line)
        //text  say something that begins with a slash
        Ctrl-Z  suspend, where the shell has job control
        Page up and down scroll, arrow up brings back what you wrote.
        Marks: … queued, ↑ sent, ✓ accepted by the relay, ✓✓ delivered, ✓✓ read.
        """

    /// The meaning of a line.
    init(_ line: String) {
        if line.hasPrefix("//") {
            self = .say(String(line.dropFirst()))
            return
        }
        guard line.hasPrefix("/") else {
            self = line.allSatisfy(\.isWhitespace) ? .nothing : .say(line)
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
