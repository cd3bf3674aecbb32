import MartletToolSupport

/// Turns keys, events and time into what a chat shows and does. It knows no terminal and no client.
struct ChatController: Sendable {
    /// What is to be done outside.
    enum Action: Equatable, Sendable {
        /// Send this; what becomes of it is reported under the key.
        case say(key: Int, String)
        /// Tell the others whether somebody types here.
        case typing(Bool)
        /// Try to connect now.
        case retry
        /// Give the terminal back to the shell until it says to go on.
        case suspend
        /// Leave.
        case quit
    }

    /// After so long without a key nobody is typing any more.
    static let typingTimeout = Duration.seconds(5)
    /// How often it is said again that somebody types; others take it for ended after 10 s (R-39).
    static let typingInterval = Duration.seconds(4)

    /// What is shown.
    private(set) var model: ChatModel
    private var size: ScreenSize
    private var lastKey = 0
    private var typingUntil: Duration?
    private var typingSaidAt = Duration.zero

    /// A chat on a screen of that size.
    init(_ model: ChatModel, size: ScreenSize) {
        self.model = model
        self.size = size
        self.model.apply(.notice("Type and press enter. /help tells the rest."))
    }

    /// What the screen shows.
    var image: ScreenImage { ChatScreen.image(of: model, size: size) }

    /// When ``timePassed(now:)`` has something to do.
    var deadline: Duration? { typingUntil }

    /// The screen has another size.
    mutating func resize(to size: ScreenSize) {
        self.size = size
        scroll(by: 0)
    }

    /// Something happened in the room.
    mutating func apply(_ event: ChatModel.Event) {
        model.apply(event)
    }

    /// A key was pressed; `clock` is the time of day for people.
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

    /// Time has passed.
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
        case .help: model.apply(.notice(ChatCommand.overview))
        case .who: model.apply(.notice(company))
        case .unknown(let name): model.apply(.notice("There is no command /\(name); /help tells which there are."))
        case .say(let text):
            lastKey += 1
            model.apply(.wrote(key: lastKey, text: text, clock: clock))
            return [.say(key: lastKey, text)]
        }
        return []
    }

    private var company: String {
        let names = model.others.map { $0.name + ($0.presence == .away ? " (away)" : "") }
        return names.isEmpty ? "Nobody else is here." : "Here besides you: \(names.joined(separator: ", "))."
    }

    private mutating func scroll(by rows: Int) {
        let limit = ChatScreen.scrollableRowCount(of: model, size: size)
        model.scrolledRowCount = min(max(model.scrolledRowCount + rows, 0), limit)
    }
}
