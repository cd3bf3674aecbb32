import Foundation
import MartletProtocol
import MartletTransport
import MartletWire
import Testing

/// What hostile peers cost a relay on real sockets, in its process's memory, and what others notice (the bounds below
/// the table of Specs/hostile.md).
///
/// `make hostile` runs it against a relay in another process, and prints the figures; the memory of a process that the
/// peers share would say nothing.
@Suite("Rows 1 to 32 together", .serialized, .enabled(if: HostileRelay.found != nil), .timeLimit(.minutes(10)))
struct OverallBoundsTests {
    private func connect(_ options: TCPOptions = TCPOptions()) async throws -> WirePeer {
        try await WirePeer.connect(to: #require(HostileRelay.found).port, options: options)
    }

    /// Bytes of the relay's memory that are resident.
    private func residentByteCount() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(#require(HostileRelay.found).process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(line.split { !$0.isNumber }.first.flatMap { Int($0) }) * 1024
    }

    private func report(_ name: String, _ byteCount: Int, of count: Int, limit: Int) {
        print("hostile: \(name): \(byteCount / count) bytes each of \(count), at most \(limit)")
        #expect(byteCount <= limit * count)
    }

    // MARK: Before authentication

    @Test func `before authentication a connection costs 16 KiB at the most, whatever it has said`() async throws {
        let count = 1000
        // What is made once has been made.
        for _ in 0..<100 { await (try connect()).cut() }
        let words: [(String, [UInt8])] = [
            ("that says nothing", []),
            ("in the middle of the longest hello", Self.longestHello),
            ("behind a refused resume", Self.refusedResume + [UInt8](repeating: 0, count: 10)),
        ]
        for (name, bytes) in words {
            let before = try residentByteCount()
            var peers: [WirePeer] = []
            for _ in 0..<count {
                let peer = try await connect()
                await peer.send(bytes)
                peers.append(peer)
            }
            // One that is answered came behind them all.
            let last = try await connect()
            try await last.hello()
            report("a connection \(name)", try residentByteCount() - before, of: count, limit: 16 * 1024)
            for peer in peers + [last] { await peer.cut() }
        }
    }

    /// All but the last byte of a frame as long as it may be.
    private static var longestHello: [UInt8] {
        let byteCount = Limits.maxHandshakeBodyByteCount
        return Speaker.header(.hello, bodyByteCount: UInt32(byteCount)) + [UInt8](repeating: 0, count: byteCount - 1)
    }

    private static var refusedResume: [UInt8] {
        let point = ResumePoint(link: LinkID(rawValue: 1), token: ResumeToken(1, 2, 3, 4), positions: [])
        return Speaker.bytes(.hello, Speaker.hello(resume: point).encode())
    }

    // MARK: Authenticated

    @Test func `hostile in every way at once costs 4.25 MiB at the most`() async throws {
        let count = 16
        let talker = try await connect()
        try await talker.hello(Speaker.hello("talker", device: 900))
        for number in 0..<count { try await talker.open("court-\(number)", on: Self.session(number)) }
        try await fill(talker, rooms: count)
        let before = try residentByteCount()
        var mobs: [WirePeer] = []
        for number in 0..<count { mobs.append(try await mob(number)) }
        let most = try await fill(talker, rooms: count)
        report("hostile in every way", most - before, of: count, limit: 17 << 18)
        for peer in mobs + [talker] { await peer.cut() }
    }

    /// Opens all the sessions it may, asks and never listens, sends ends of messages without beginnings, and beginnings
    /// without ends; then reads nothing and acknowledges nothing.
    private func mob(_ number: Int) async throws -> WirePeer {
        let peer = try await connect(Self.smallBuffers)
        let welcome = try await peer.hello(Speaker.hello("mob-\(number)", device: 1000 + UInt64(number)))
        try await peer.open("court-\(number)", on: Self.session(0), tail: 0)
        for session in 1..<60 { try await peer.open("mob-\(number)-\(session)", on: Self.session(session)) }
        await peer.fallSilent()
        await peer.pauseReading()
        let limits = welcome.limits
        await peer.say { speaker in
            var bytes: [UInt8] = []
            for nonce in 1...60 { bytes += speaker.frame(Ping(nonce: UInt64(nonce))) }
            for correlation in 1...40 as ClosedRange<UInt64> {
                let request = Request(
                    correlation: correlation, method: MethodName("never")!, deadline: .seconds(300), recipient: nil,
                    sender: nil,
                    content: Message.textContent(String(repeating: "x", count: 500)))
                bytes += speaker.frame(request, on: Self.session(0))
            }
            // A message that never ends, as long as the window lets it be.
            let piece = [UInt8](repeating: 2, count: 16 * 1024)
            for _ in 0..<min(limits.sessionWindow / piece.count - 2, 14) {
                bytes += speaker.frame(.data, piece, on: Self.session(1), flags: .moreFragments)
            }
            // Frames behind a gap.
            for session in 2..<4 {
                _ = speaker.frame(.data, piece, on: Self.session(session))
                for _ in 0..<min(limits.sessionWindow / piece.count - 2, 14) {
                    bytes += speaker.frame(.data, piece, on: Self.session(session))
                }
            }
            return bytes
        }
        return peer
    }

    // MARK: Stalled

    @Test func `a stalled consumer costs 1.25 MiB at the most, and the others' p99 at most doubles`() async throws {
        let count = 20
        let talker = try await connect()
        try await talker.hello(Speaker.hello("talker", device: 800))
        var consumers: [WirePeer] = []
        for number in 0..<count {
            try await talker.open("stall-\(number)", on: Self.session(number))
            let consumer = try await connect(Self.smallBuffers)
            try await consumer.hello(Speaker.hello("consumer-\(number)", device: 801 + UInt64(number)))
            try await consumer.open("stall-\(number)")
            consumers.append(consumer)
        }
        try await fill(talker, rooms: count)
        let (calm, _) = try await whileFilling(talker, count) { try await latencies(of: 1000, "calm") }
        let before = try residentByteCount()
        for consumer in consumers { await consumer.pauseReading() }
        let (stalled, most) = try await whileFilling(talker, count) { try await latencies(of: 1000, "stalled") }
        report("a stalled consumer", most - before, of: count, limit: 5 << 18)
        let (quick, slow) = (calm[calm.count * 99 / 100], stalled[stalled.count * 99 / 100])
        print("hostile: p99 of a line of others': \(quick), and \(slow) beside \(count) stalled consumers")
        #expect(slow <= quick * 2)
        for peer in consumers + [talker] { await peer.cut() }
    }

    /// What `body` measures while more than a megabyte goes to each room, and the most memory that the relay had.
    private func whileFilling(
        _ talker: WirePeer, _ count: Int, _ body: @Sendable () async throws -> [Duration]
    ) async throws -> ([Duration], Int) {
        async let most = fill(talker, rooms: count)
        let measured = try await body()
        return (measured, try await most)
    }

    /// How long lines take from one member to another, in order of length.
    private func latencies(of count: Int, _ room: String) async throws -> [Duration] {
        let speaker = try await connect()
        try await speaker.hello(Speaker.hello("speaker", device: 700))
        try await speaker.open(room, noLocal: true)
        let listener = try await connect()
        try await listener.hello(Speaker.hello("listener", device: 701))
        try await listener.open(room)
        var times: [Duration] = []
        for counter in 1...UInt64(count) {
            let began = ContinuousClock.now
            await speaker.say { $0.text("a line", counter: counter, on: .first) }
            let _: Message = try await listener.next()
            times.append(.now - began)
        }
        await speaker.cut()
        await listener.cut()
        return times.sorted()
    }

    // MARK: Parts

    private static let smallBuffers: TCPOptions = {
        var options = TCPOptions()
        options.receiveBufferByteCount = 16 * 1024
        return options
    }()

    private static func session(_ number: Int) -> SessionID { SessionID(rawValue: UInt16(2 * number + 1)) }

    /// Says more in each of the rooms on the talker's sessions than the relay keeps of them; returns the most memory
    /// that the relay had meanwhile.
    @discardableResult
    private func fill(_ talker: WirePeer, rooms: Int) async throws -> Int {
        let text = String(repeating: "x", count: 8000)
        var most = 0
        for _ in 0..<160 {
            var last: UInt64 = 0
            for number in 0..<rooms {
                let session = Self.session(number)
                let counter = nextCounter()
                await talker.say { $0.text(text, counter: counter, on: session) }
                last = counter
            }
            try await heard(talker, upTo: last)
            most = max(most, try residentByteCount())
        }
        return most
    }

    /// Waits until a message is accepted.
    private func heard(_ talker: WirePeer, upTo counter: UInt64) async throws {
        while true {
            let accepted: Accepted = try await talker.next()
            if accepted.runs.contains(where: { $0.offset(of: counter) != nil }) { return }
        }
    }

    private func nextCounter() -> UInt64 {
        Self.counter.withLock { counter in
            counter += 1
            return counter
        }
    }

    private static let counter = Guarded<UInt64>(0)
}

/// A relay in another process.
private struct HostileRelay {
    var port: UInt16
    var process: Int

    /// The one that the environment names.
    static let found: HostileRelay? = {
        let environment = ProcessInfo.processInfo.environment
        guard let port = environment["MARTLET_HOSTILE_PORT"].flatMap(UInt16.init),
            let process = environment["MARTLET_HOSTILE_PROCESS"].flatMap(Int.init)
        else { return nil }
        return HostileRelay(port: port, process: process)
    }()
}
