import MartletTransport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Specs/hostile.md row 20.
@Suite("A consumer that does not read or acknowledge is closed")
struct SlowConsumerTests {
    /// The maximum cost of a stalled consumer, in bytes with objects.
    private static let bound = 1 << 20

    @Test("member that stops reading is closed after 10 s and costs at most 1 MiB")
    func neverReads() async throws {
        let fixture = EngineFixture()
        let bob = fixture.connect()
        try await bob.hello(FrameWriter.hello("bob", device: 2))
        try await bob.open()
        let alice = fixture.connect()
        try await alice.hello()
        try await alice.open()
        fixture.stall(bob)
        let start = fixture.now
        let text = String(repeating: "x", count: 1000)
        var counter: UInt64 = 0
        while !bob.isFinishing {
            counter += 1
            #expect(try await alice.publish(text, counter: counter) == counter)
            #expect(fixture.heldForSending(to: bob) <= Self.bound)
            fixture.run(for: .milliseconds(20))
        }
        #expect(fixture.notes.contains(.link(.faulted(.slowConsumer))))
        #expect(fixture.now - start <= .seconds(11))
        #expect(counter > 400)

        // A new link receives the missed messages.
        let again = fixture.connect()
        try await again.hello(FrameWriter.hello("bob", device: 2))
        try await again.open(cursor: 0)
        for offset in 1...counter {
            let message: Message = try await again.expect()
            #expect(message.relay?.offset == offset)
        }
    }

    @Test("member of 60 rooms that stops reading costs at most 1 MiB")
    func everywhere() async throws {
        let fixture = EngineFixture()
        let bob = fixture.connect()
        try await bob.hello(FrameWriter.hello("bob", device: 2))
        let alice = fixture.connect()
        try await alice.hello()
        let text = String(repeating: "x", count: 8000)
        var counter: UInt64 = 0
        for index in 0..<60 as Range<UInt16> {
            let session = SessionID(rawValue: 2 * index + 1)
            try await bob.open("room \(index)", on: session)
            try await alice.open("room \(index)", on: session)
        }
        fixture.stall(bob)
        for round in 0..<25 {
            for index in 0..<60 as Range<UInt16> where !bob.isFinishing {
                counter += 1
                try await alice.publish(text, counter: counter, on: SessionID(rawValue: 2 * index + 1))
            }
            #expect(fixture.heldForSending(to: bob) <= Self.bound, "round \(round)")
        }
    }

    @Test("socket that is not read closes as slowConsumer")
    func socket() async throws {
        var configuration = RelayConfiguration.withoutTimeouts
        configuration.link.slowConsumerTimeout = .milliseconds(200)
        // On a busy machine large kernel buffers fill after a silent peer is closed (S-29).
        var small = TCPOptions()
        small.sendBufferByteCount = 16 << 10
        small.receiveBufferByteCount = 16 << 10
        let log = EventLog()
        try await withRelay(configuration, connection: small, onEvent: log.note) { relay, port in
            let fixture = RelayFixture.socket(relay, port, log)
            let bob = try await WirePeer.connect(to: port, options: small)
            try await bob.hello(FrameWriter.hello("bob", device: 2))
            try await bob.open()
            let alice = try await fixture.member()
            await bob.pauseReading()
            let text = String(repeating: "x", count: 16_000)
            var counter: UInt64 = 0
            while fixture.faults.isEmpty {
                counter += 1
                #expect(try await alice.publish(text, counter: counter) == counter)
            }
            #expect(fixture.faults == [.slowConsumer])
            while !Task.isCancelled, await relay.statistics.connections > 1 { await Task.yield() }
        }
    }

    @Test("member that never acknowledges stops at its window and is closed after 60 s")
    func neverAcknowledges() async throws {
        let fixture = EngineFixture()
        let bob = fixture.connect()
        try await bob.hello(FrameWriter.hello("bob", device: 2))
        try await bob.open()
        await bob.stopReplying()
        let alice = fixture.connect()
        try await alice.hello()
        try await alice.open()
        let text = String(repeating: "x", count: 8000)
        for counter in 1...200 as ClosedRange<UInt64> { try await alice.publish(text, counter: counter) }
        let start = fixture.now
        var nonce: UInt64 = 0
        while !bob.isClosed {
            nonce += 1
            await bob.send(Ping(nonce: nonce))
            #expect(fixture.heldForSending(to: bob) <= Self.bound)
            fixture.run(for: .seconds(1))
        }
        #expect(fixture.notes.contains(.link(.faulted(.ackTimeout))))
        #expect(fixture.now - start <= .seconds(61))
        #expect(fixture.now - start >= .seconds(59))
        var received = 0
        while case .frame(let frame) = try await bob.arrival() {
            if frame.header.type == .data { received += frame.body.count }
        }
        // The last message may exceed the remaining credit.
        #expect(received <= 256 * 1024 + 8192)
    }
}
