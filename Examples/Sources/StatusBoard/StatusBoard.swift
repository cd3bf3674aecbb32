import Martlet
import MartletObservation
import Observation

/// A status dashboard on the terminal: it writes the cards of a room again after each change.
@main
struct StatusBoard {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 4 || words.count == 5 else {
            return print("usage: status-board RELAY ACCOUNT ROOM [COUNT]")
        }
        guard let room = RoomName(words[3]) else { return print("\(words[3]) is not the name of a room") }
        let client = try Client(to: words[1], as: .anonymous(words[2]))
        try await withClient(client) { client in
            await show(room, of: client, count: words.count == 5 ? Int(words[4]) ?? .max : .max)
        }
    }

    /// Writes a number of states of the board. The account of the relay may remove cards of others.
    @MainActor
    static func show(_ room: RoomName, of client: Client, count: Int) async {
        let board = StatusBoardModel(of: room, in: client) { $0 == "server" }
        let reading = Task { await board.run() }
        defer { reading.cancel() }
        for _ in 0..<count {
            while !board.isLoaded, board.failure == nil { await change(of: board) }
            if let failure = board.failure { return print(failure) }
            print(board.rows.isEmpty ? "no cards" : board.rows.map { line(of: $0.value) }.joined(separator: "\n"))
            if count > 1 { await change(of: board) }
        }
    }

    /// Waits for the next change of what is shown.
    @MainActor
    private static func change(of board: StatusBoardModel) async {
        await withCheckedContinuation { continuation in
            withObservationTracking {
                _ = (board.isLoaded, board.failure, board.rows.map(\.value))
            } onChange: {
                continuation.resume()
            }
        }
        await Task.yield()  // the property has its new value in the next turn
    }

    private static func line(of entry: CardBoard.Entry) -> String {
        let details = entry.card.details.map { "  \($0.key)=\($0.value)" }.joined()
        return "\(entry.card.status.name)  \(entry.card.title)\(details)"
    }
}
