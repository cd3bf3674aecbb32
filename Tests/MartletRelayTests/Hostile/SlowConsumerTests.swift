import MartletRelay
import MartletTransport
import MartletWire
import Testing

@testable import MartletProtocol

/// Specs/hostile.md row 20.
@Suite("A consumer that does not read or acknowledge is closed")
struct SlowConsumerTests {
    /// Bytes that a stalled consumer may cost, objects included.
    private static let bound = 1 << 20

    @Test("who does not read is closed after 10 s, and costs 1 MiB at the most; nobody else notices")
    func neverReads() async throws {
        let hall = VirtualHall()
        let bob = hall.connect()
        try await bob.hello(Speaker.hello("bob", device: 2))
        try await bob.open()
        let alice = hall.connect()
        try await alice.hello()
        try await alice.open()
        hall.stall(bob)
        let began = hall.now
        let text = String(repeating: "x", count: 1000)
        var counter: UInt64 = 0
        while !bob.isFinishing {
            counter += 1
            #expect(try await alice.post(text, counter: counter) == counter)
            #expect(hall.heldForSending(to: bob) <= Self.bound)
            hall.run(for: .milliseconds(20))
        }
        #expect(hall.notes.contains(.faulted(.slowConsumer)))
        #expect(hall.now - began <= .seconds(11))
        #expect(counter > 400)

        // What was missed is there when it comes back.
        let again = hall.connect()
        try await again.hello(Speaker.hello("bob", device: 2))
        try await again.open(cursor: 0)
        for offset in 1...counter {
            let message: Message = try await again.expect()
            #expect(message.relay?.offset == offset)
        }
    }

    @Test("in as many rooms as a link may open, with as much as there is to say in each")
    func everywhere() async throws {
        let hall = VirtualHall()
        let bob = hall.connect()
        try await bob.hello(Speaker.hello("bob", device: 2))
        let alice = hall.connect()
        try await alice.hello()
        let text = String(repeating: "x", count: 8000)
        var counter: UInt64 = 0
        for index in 0..<60 as Range<UInt16> {
            let session = SessionID(rawValue: 2 * index + 1)
            try await bob.open("room \(index)", on: session)
            try await alice.open("room \(index)", on: session)
        }
        hall.stall(bob)
        for round in 0..<25 {
            for index in 0..<60 as Range<UInt16> where !bob.isFinishing {
                counter += 1
                try await alice.post(text, counter: counter, on: SessionID(rawValue: 2 * index + 1))
            }
            #expect(hall.heldForSending(to: bob) <= Self.bound, "round \(round)")
        }
    }

    @Test("on a real connection")
    func socket() async throws {
        var configuration = RelayConfiguration.patient
        configuration.slowConsumerTimeout = .milliseconds(200)
        // Kernels that take megabytes are not full before a silent peer is taken for dead (S-29) on a busy machine.
        var small = TCPOptions()
        small.sendBufferByteCount = 16 << 10
        small.receiveBufferByteCount = 16 << 10
        let log = EventLog()
        try await withRelay(configuration, connection: small, onEvent: log.note) { relay, port in
            let stage = Stage.socket(relay, port, log)
            let bob = try await WirePeer.connect(to: port, options: small)
            try await bob.hello(Speaker.hello("bob", device: 2))
            try await bob.open()
            let alice = try await stage.member()
            await bob.pauseReading()
            let text = String(repeating: "x", count: 16_000)
            var counter: UInt64 = 0
            while await relay.statistics.connections == 2 {
                counter += 1
                #expect(try await alice.post(text, counter: counter) == counter)
            }
            #expect(stage.faults == [.slowConsumer])
        }
    }

    @Test("who reads and never acknowledges stalls at the window, and is closed after 60 s")
    func neverAcknowledges() async throws {
        let hall = VirtualHall()
        let bob = hall.connect()
        try await bob.hello(Speaker.hello("bob", device: 2))
        try await bob.open()
        await bob.fallSilent()
        let alice = hall.connect()
        try await alice.hello()
        try await alice.open()
        let text = String(repeating: "x", count: 8000)
        for counter in 1...200 as ClosedRange<UInt64> { try await alice.post(text, counter: counter) }
        let began = hall.now
        var nonce: UInt64 = 0
        while !bob.isOver {
            nonce += 1
            await bob.send(Ping(nonce: nonce))
            #expect(hall.heldForSending(to: bob) <= Self.bound)
            hall.run(for: .seconds(1))
        }
        #expect(hall.notes.contains(.faulted(.ackTimeout)))
        #expect(hall.now - began <= .seconds(61))
        #expect(hall.now - began >= .seconds(59))
        var received = 0
        while case .frame(let frame) = try await bob.arrival() {
            if frame.header.type == .data { received += frame.body.count }
        }
        // The message that used up the last of the credit may be longer than what was left.
        #expect(received <= 256 * 1024 + 8192)
    }
}
