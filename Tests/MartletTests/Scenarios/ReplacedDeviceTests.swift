import MartletTestKit
import MartletWire
import Testing

@testable import Martlet

/// Devices whose outboxes are restored or copied, in virtual time.
@Suite("Restored and copied outboxes")
struct ReplacedDeviceTests {
    private let world = TestWorld(seed: 5)
    private let id = DeviceID(rawValue: 77)

    /// A device whose outbox has the ID and none of the messages of the others.
    private func device() -> TestDevice { world.device("alice", outbox: InMemoryOutbox(device: id)) }

    private func texts(_ count: Int, by reader: TestDevice) async throws -> [String?] {
        let room = try await reader.start().open(room: "lobby", options: Room.Options(from: .start))
        return try await room.messages.first(count).map(\.text)
    }

    // C-103, Specs/hostile.md row 94
    @Test(arguments: [1, 3, 200])
    func `a restored outbox, after any number of lost messages → all later messages arrive in order`(
        lost: Int
    ) throws {
        let (texts, events) = try world.run {
            try world.startRelay()
            let first = device()
            let room = try await first.start().open(room: "lobby")
            for number in 1...lost { _ = try await room.send("before \(number)").accepted() }
            await first.stop()
            let restored = device()
            let again = try await restored.start().open(room: "lobby")
            var events = again.events.makeAsyncIterator()
            var handles: [MessageHandle] = []
            for number in 1...5 { handles.append(try await again.send("after \(number)")) }
            for handle in handles { _ = try await handle.accepted() }
            #expect(handles.allSatisfy { $0.id.device != id })
            await restored.stop()
            var count = 0
            while let event = await events.next() { if case .deviceReplaced = event { count += 1 } }
            return (try await self.texts(lost + 5, by: world.device("bob")), count)
        }
        #expect(texts == (1...lost).map { "before \($0)" } + (1...5).map { "after \($0)" })
        #expect(events == 1)
    }

    //
    @Test func `two devices with copies of one outbox, in turns → the messages of both`() throws {
        let texts = try world.run {
            try world.startRelay()
            let devices = [device(), device()]
            for round in 1...3 {
                for (number, device) in devices.enumerated() {
                    let room = try await device.start().open(room: "lobby")
                    _ = try await room.send("\(number) \(round)").accepted()
                    await device.stop()
                }
            }
            return try await self.texts(6, by: world.device("bob"))
        }
        #expect(texts == (1...3).flatMap { ["0 \($0)", "1 \($0)"] })
    }

    //
    @Test func `messages that a killed client of a restored outbox has handed over → all arrive`() throws {
        let texts = try world.run {
            try world.startRelay()
            let first = device()
            let room = try await first.start().open(room: "lobby")
            for number in 1...3 { _ = try await room.send("before \(number)").accepted() }
            await first.stop()
            let restored = device()
            let again = try await restored.start().open(room: "lobby")
            restored.blackHole(.down)
            for number in 1...3 { try await again.send("after \(number)") }
            try await world.sleep(for: .seconds(1))
            await restored.kill()
            restored.restore()
            let last = try await restored.start().open(room: "lobby")
            _ = try await last.send("end").accepted()
            return try await self.texts(7, by: world.device("bob"))
        }
        #expect(texts == (1...3).map { "before \($0)" } + (1...3).map { "after \($0)" } + ["end"])
    }
}
