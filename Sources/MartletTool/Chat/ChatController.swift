import MartletToolSupport
import MartletWire

/// A controller that converts keys, events and time to the contents of the screen and to actions. It accesses neither
/// the terminal nor the client.
struct ChatController: Sendable {
    /// An action for the owner of the controller.
    enum Action: Equatable, Sendable {
        /// Send a text. Reports about the message contain the key.
        case send(key: Int, String)
        /// Notify the members of the room whether the user is typing.
        case typing(Bool)
        /// Connect at once.
        case retry
        /// Perform an operation on the room, and report its result.
        case operate(RoomOperation)
        /// Restore the terminal and stop the process until the shell continues it.
        case suspend
        /// End the chat.
        case quit
    }

    /// The duration without a key after which the user no longer counts as typing.
    static let typingTimeout = Duration.seconds(5)
    /// The interval of the notifications while the user is typing. Other members stop displaying it after 10 s (R-39).
    static let typingInterval = Duration.seconds(4)

    /// The model of the screen.
    private(set) var model: ChatModel
    private var size: ScreenSize
    private var lastKey = 0
    private var typingUntil: Duration?
    private var typingSaidAt = Duration.zero

    /// Creates a chat on a screen of a given size.
    init(_ model: ChatModel, size: ScreenSize) {
        self.model = model
        self.size = size
        self.model.apply(.notice("Enter sends the line. /help lists the commands."))
    }

    /// The contents of the screen.
    var image: ScreenImage { ChatScreen.image(of: model, size: size) }

    /// The time of the next call of ``timePassed(now:)``; nil if none is necessary.
    var deadline: Duration? { typingUntil }

    /// Reports a change of the screen size.
    mutating func resize(to size: ScreenSize) {
        self.size = size
        scroll(by: 0)
    }

    /// Reports an event in the room.
    mutating func apply(_ event: ChatModel.Event) {
        model.apply(event)
    }

    /// Reports a pressed key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - clock: The time of day as text.
    ///   - now: The current time.
    mutating func press(_ key: Key, clock: String, now: Duration) -> [Action] {
        switch key {
        case .control("c"): return [.quit]
        case .control("z"): return stopTyping() + [.suspend]
        case .control("d") where model.editor.characters.isEmpty: return [.quit]
        case .pageUp: scroll(by: max(size.rows - 4, 1))
        case .pageDown: scroll(by: -max(size.rows - 4, 1))
        case .escape: scroll(by: -model.scrolledRowCount)
        default: return edit(key, clock: clock, now: now)
        }
        return []
    }

    /// Reports the current time.
    mutating func timePassed(now: Duration) -> [Action] {
        guard let typingUntil, typingUntil <= now else { return [] }
        self.typingUntil = nil
        return [.typing(false)]
    }

    private mutating func edit(_ key: Key, clock: String, now: Duration) -> [Action] {
        switch model.editor.press(key) {
        case .ignored: return []
        case .submitted(let line): return stopTyping() + submit(line, clock: clock)
        case .edited:
            let text = model.editor.text
            if text.isEmpty || text.hasPrefix("/") && !text.hasPrefix("//") { return stopTyping() }
            defer { typingUntil = now + Self.typingTimeout }
            guard typingUntil == nil || now - typingSaidAt >= Self.typingInterval else { return [] }
            typingSaidAt = now
            return [.typing(true)]
        }
    }

    private mutating func stopTyping() -> [Action] {
        defer { typingUntil = nil }
        return typingUntil == nil ? [] : [.typing(false)]
    }

    private mutating func submit(_ line: String, clock: String) -> [Action] {
        model.scrolledRowCount = 0
        switch ChatCommand(line) {
        case .nothing: return []
        case .quit: return [.quit]
        case .retry: return [.retry]
        case .operate(let operation): return [.operate(operation)]
        case .misused(let form): model.apply(.notice("The form of the command is \(form)."))
        case .help: model.apply(.notice(ChatCommand.overview))
        case .who: model.apply(.notice(memberList))
        case .unknown(let name): model.apply(.notice("Unknown command /\(name). /help lists the commands."))
        case .send(let text):
            lastKey += 1
            model.apply(.wrote(key: lastKey, text: text, clock: clock))
            return [.send(key: lastKey, text)]
        }
        return []
    }

    private var memberList: String {
        let names = model.others.map { $0.name.text + ($0.presence == .away ? " (away)" : "") }
        return names.isEmpty ? "There are no other members." : "Other members: \(names.joined(separator: ", "))."
    }

    private mutating func scroll(by rows: Int) {
        let limit = ChatScreen.scrollableRowCount(of: model, size: size)
        model.scrolledRowCount = min(max(model.scrolledRowCount + rows, 0), limit)
    }
}
