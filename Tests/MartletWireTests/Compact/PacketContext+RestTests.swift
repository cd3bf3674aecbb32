import Testing

@testable import MartletWire

@Suite struct PacketContextRestTests {
    private func count(_ value: Any) -> Int { Mirror(reflecting: value).children.count }

    /// Whoever adds a member to one of these decides what becomes of it at rest: `packed`, or a condition under which
    /// nothing is at rest.
    @Test func `every member is packed or keeps its owner from rest`() {
        let context = PacketContext()
        #expect(count(context) == 11)
        #expect(count(context.sessions[0]) == 8)
        #expect(count(PacketContext.Author(device: 1, sender: [1])) == 3)
        #expect(count(PacketWriter()) == 7)
        #expect(count(PacketReader()) == 4)
    }

    @Test func `a context that nothing was said in takes nothing`() {
        var context = PacketContext()
        #expect(context.packed.isEmpty)
        #expect(PacketWriter().packedContext.isEmpty)
        #expect(Framer(maxBodyByteCount: 100).packedContext.isEmpty)
        context.hasSaidTime = true
        #expect(context.packed == [0x80, 0, 0])
    }

    @Test func `what a link has said that nobody talks on takes few bytes`() {
        var context = PacketContext()
        context.session = SessionID(rawValue: 1)
        context.timestamp = 90_000
        context.hasSaidTime = true
        context.linkCredit = 1 << 20
        let place = context.place(of: SessionID(rawValue: 1))
        context[place ?? 0].priority = .high
        context[place ?? 0].nextSequence = 2
        context[place ?? 0].cumulative = 1
        context[place ?? 0].creditLimit = 256 << 10
        #expect(context.packed.count == 13)
    }

    @Test(arguments: UInt64(1)...200)
    func `whatever was said comes back`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var context = PacketContext()
        context.session = random.maybe { $0.session() }
        context.timestamp = random.long()
        context.counter = random.number()
        context.echoed = random.long()
        context.linkCredit = random.number()
        context.acceptedAt = random.number()
        context.hasSaidTime = random.chance()
        context.nextAuthor = Int.random(in: 0..<PacketContext.authorCount, using: &random)
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let author = PacketContext.Author(
                device: random.next(), sender: Array(random.account().text.utf8), counter: random.number())
            context.setAuthor(Int.random(in: 0..<PacketContext.authorCount, using: &random), author)
        }
        // Now and then as many as there may be.
        for _ in 0..<(seed % 50 == 0 ? 400 : Int.random(in: 0...4, using: &random)) {
            guard let place = context.place(of: random.session()) else { break }
            change(&context[place], &random)
        }
        change(&context[0], &random)
        let back = PacketContext(unpacking: context.packed.rawBytes)
        #expect(all(of: back) == all(of: context))
    }

    private func change(_ session: inout PacketContext.Session, _ random: inout SeededRandom) {
        session.nextSequence = random.maybe { $0.long() }
        session.priority = Priority.allCases.randomElement(using: &random) ?? .low
        session.offset = random.chance() ? 0 : random.number()
        session.acceptedCounter = random.chance() ? 0 : random.number()
        session.acceptedOffset = random.chance() ? 0 : random.number()
        session.cumulative = random.chance() ? 0 : random.number()
        session.creditLimit = random.chance() ? 0 : random.number()
    }

    /// All of a context but for where it was looked last.
    private func all(of context: PacketContext) -> [String] {
        Mirror(reflecting: context).children.filter { $0.label != "recent" }.map { "\($0.label ?? ""): \($0.value)" }
    }

    @Test(arguments: UInt64(1)...20)
    func `who was packed goes on as who was not`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let (wakeful, resting) = (PacketStream(), PacketStream())
        var sequences: [SessionID: UInt32] = [:]
        for counter in UInt64(1)...60 {
            let session = SessionID(rawValue: .random(in: 1...4, using: &random))
            sequences[session, default: 0] += 1
            let frame = frame(counter, sequences[session] ?? 0, session, &random)
            let bytes = wakeful.write([frame])
            #expect(resting.write([frame]) == bytes)
            #expect(wakeful.read(bytes) == resting.read(bytes))
            guard random.chance() else { continue }
            resting.writer = PacketWriter(deflates: nil, packedContext: resting.writer.packedContext)
            let isAtRest = resting.framer.isAtRest
            #expect(isAtRest)
            resting.framer = Framer(
                maxBodyByteCount: 1 << 20, deflated: false, packedContext: resting.framer.packedContext)
        }
    }

    private func frame(
        _ counter: UInt64, _ sequence: UInt32, _ session: SessionID, _ random: inout SeededRandom
    ) -> [UInt8] {
        let time = UInt32(counter) * 3000
        switch UInt8.random(in: 0...4, using: &random) {
        case 0: return PacketWriterTests.frame(PacketWriterTests.text("hello", counter), sequence, session, time: time)
        case 1:
            let sender = AccountName(String("abcdefghijkl".randomElement(using: &random) ?? "a"))!
            let message = PacketWriterTests.delivery("hi", counter, at: UInt64(time), from: sender)
            return PacketWriterTests.frame(message, sequence, session, time: time)
        case 2:
            let accepted = PacketWriterTests.accepted(counter, counter + random.next() % 5)
            return PacketWriterTests.frame(accepted, sequence, session, time: time)
        case 3:
            let echo = random.maybe { Echo(timestamp: time, delay: .microseconds($0.next() % 1000)) }
            return PacketWriterTests.ack(counter, credit: counter * 100, link: 1 << 20 + counter, echo: echo)
        default:
            return FrameHeader(type: .ping, timestamp: time).frame(body: Ping(nonce: counter).encode().rawBytes)
        }
    }

    // W-94.
    @Test func `a framer is not at rest that holds part of a packet, frames or a stream`() throws {
        let packets = PacketStream(deflates: .small)
        let line = String(repeating: "the bird that never lands ", count: 4)
        let frames = [1, 2].map { PacketWriterTests.frame(PacketWriterTests.text(line, UInt64($0)), UInt32($0)) }
        let bytes = packets.write(frames)
        #expect(packets.read(Array(bytes[..<1])).isEmpty)
        var states = [packets.framer.isAtRest]
        _ = try packets.framer.consume(bytes[1...]) { _, _ in .stop }
        states.append(packets.framer.hasWaitingFrames && packets.framer.isAtRest)
        #expect(packets.read([]) == [frames[1]])
        states.append(packets.framer.isAtRest)
        _ = packets.read(packets.end())
        states.append(packets.framer.isAtRest)
        #expect(states == [false, false, false, true])
        #expect(throws: WireError.self) { try packets.framer.consume([0x8D, 0, 0, 0]) { _, _ in .proceed } }
        let hasFailed = !packets.framer.isAtRest
        #expect(hasFailed)
    }
}
