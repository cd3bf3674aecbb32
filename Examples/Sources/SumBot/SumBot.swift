import Martlet
import MartletSQLite

/// A bot that adds numbers: it answers `sum 1 2 3` in a room with 6.
///
/// The outbox stores each answer together with the position of the question. After an interruption at any point, the
/// next run answers the questions without an answer, and no question twice.
@main
struct SumBot {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 4 else { return print("usage: sum-bot RELAY ROOM FILE") }
        // snippet:begin
        let client = try Client(to: words[1], as: .anonymous("sum-bot"), outbox: .sqlite(at: words[3]))
        try await withClient(client) { client in
            let room = try await client.open(room: words[2])
            for try await delivery in room.deliveries {
                let answer = delivery.message.text.flatMap(answer)
                try await delivery.done(sending: try answer.map { [try OutgoingMessage(text: $0)] } ?? [])
            }
        }
        // snippet:end
    }

    static func answer(to text: String) -> String? {
        let words = text.split(separator: " ")
        guard words.first == "sum" else { return nil }
        let numbers = words.dropFirst().map { Int($0) }
        var sum = 0
        for number in numbers {
            guard let number else { return "this is not a number" }
            let (next, isOverflow) = sum.addingReportingOverflow(number)
            guard !isOverflow else { return "this sum is too large" }
            sum = next
        }
        return String(sum)
    }
}
