import MartletLink
import MartletWire
import Testing

@testable import Martlet

@Suite("Calls of a room's application", .timeLimit(.minutes(10)))
struct RoomCoreApplicationTests {
    private let alice = AccountName("alice")
    private let device = DeviceID(rawValue: 1)

    /// A message that replaces a dead letter, so that `send` waits for the outbox.
    private func retry() throws -> OutgoingMessage {
        var message = try OutgoingMessage(text: "hello")
        message.replacedLetter = MessageID(sender: alice, device: device, counter: 1)
        return message
    }

    @Test func `a send that is cancelled before the loop takes its message → the observer receives the failure`()
        async throws
    {
        // The mailbox belongs to no client, so no loop takes the message.
        let core = RoomCore(
            id: RoomID(rawValue: 1), name: RoomName("lobby"), account: alice, device: device,
            configuration: Client.Configuration(), source: CounterSource(first: 2), outbox: nil,
            mailbox: Mailbox(loop: .shared))
        let message = try retry()
        let sending = Task { try await core.send(message) }
        await until { core.pendingCount == 1 }
        let handle = MessageHandle(room: core, counter: 2)
        let observing = Task { try await handle.accepted() }
        await until { core.state.withLock { $0.waiters.observers.count } == 1 }
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        await #expect(throws: MartletError.notAccepted(.cancelled)) { try await observing.value }
    }
}
