/// The replies of the bot. The caller supplies randomness and time.
struct BotReply: Sendable {
    /// The maximum number of dice, and of sides of a die.
    static let maxDiceCount = 100
    private static let maxSideCount = 1_000_000

    /// The commands, for `/help`.
    static let help = """
        /echo TEXT  repeat TEXT
        /roll [NdS] roll N dice with S sides, default 1d6
        /time       the local time
        /help       this list
        """

    /// The methods of requests that the bot answers: the commands without their slash.
    static let methods = ["echo", "roll", "time", "help"]

    /// Returns the reply to a line in a room; nil if the line is not a command.
    static func answer(to line: String, time: String, using random: inout some RandomNumberGenerator) -> String? {
        guard line.hasPrefix("/") else { return nil }
        let words = line.dropFirst().split(separator: " ", maxSplits: 1)
        guard let method = words.first else { return nil }
        let argument = words.count > 1 ? String(words[1]) : ""
        return answer(to: String(method), argument: argument, time: time, using: &random)
    }

    /// Returns the response to a request; nil if the method is unknown.
    static func answer(
        to method: String, argument: String, time: String, using random: inout some RandomNumberGenerator
    ) -> String? {
        switch method {
        case "echo": argument.isEmpty ? "…" : argument
        case "roll": roll(argument, using: &random)
        case "time": time
        case "help": help
        default: nil
        }
    }

    private static func roll(_ text: String, using random: inout some RandomNumberGenerator) -> String {
        let parts = (text.isEmpty ? "1d6" : text).split(separator: "d", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = parts[0].isEmpty ? 1 : Int(parts[0]), let sides = Int(parts[1]),
            (1...maxDiceCount).contains(count), (1...maxSideCount).contains(sides)
        else { return "I roll 1 to \(maxDiceCount) dice with 1 to \(maxSideCount) sides: /roll 2d6" }
        let dice = (0..<count).map { _ in Int.random(in: 1...sides, using: &random) }
        let sum = dice.reduce(0, +)
        return count == 1 ? "\(sum)" : "\(dice.map(String.init).joined(separator: " + ")) = \(sum)"
    }
}
