import Foundation
import MartletTestSupport
import MartletWire

@testable import Martlet
@testable import MartletLink
@testable import MartletRelay
@testable import MartletRelaySQLite
@testable import MartletSimulator
@testable import MartletTimeline

/// Numbers: no value of a number of a peer traps in a client, a relay, a timeline or a store.
///
/// Input: a byte for the receiver, then steps: a frame of any type, or a message, and which of its numbers has which
/// edge of arithmetic.
enum NumbersTarget {
    private static let maxSteps = 60

    static func run(_ input: RawSpan) {
        var program = ByteProgram(input)
        switch program.byte() % 4 {
        case 0: runClient(&program)
        case 1: runRelay(&program)
        case 2: runTimeline(&program)
        default: runStore(&program)
        }
    }

    /// The body with an edge of arithmetic in place of one of its numbers.
    private static func edged(_ body: [UInt8], _ program: inout ByteProgram) -> [UInt8] {
        let places = NumberEdges.places(in: body)
        guard !places.isEmpty else { return body }
        let place = program.pick(places)
        let present = NumberEdges.integer(at: place, of: body)
        let values = NumberEdges.values(byteCount: place.byteCount, near: present)
        return NumberEdges.body(body, with: program.pick(values), at: place)
    }

    // MARK: Engines

    private static func runClient(_ program: inout ByteProgram) {
        let host = ClientHost(&program)
        for _ in 0..<maxSteps where !program.isAtEnd {
            if host.connection == nil {
                host.wait(.seconds(40))
                host.connect()
            }
            if !host.isWelcome {
                let welcome = Welcome(
                    features: .supported, limits: Limits(), account: AccountName("alice"), link: LinkID(rawValue: 1),
                    resumeToken: ResumeToken(1, 2, 3, 4), epoch: Epoch(rawValue: 1), resumeLifetime: .seconds(300),
                    credential: host.usesMechanism ? ClientHost.message : nil)
                host.receive(host.frame(.welcome, welcome.encode(), on: .control))
            }
            switch program.byte() % 8 {
            case 0: host.open(&program)
            case 1: host.wait(.seconds(Int(program.byte())))
            case 2: host.take()
            default:
                let session = FrameMaker.session(&program)
                let frame = FrameMaker.frame(&program)
                host.receive(host.frame(frame.type, edged(frame.encode(), &program), on: session))
            }
        }
        host.wait(.seconds(61))
    }

    private static func runRelay(_ program: inout ByteProgram) {
        let world = VirtualWorld(relay: RelayConfiguration(), seed: 1)
        let intruder = Intruder(in: world)
        for _ in 0..<maxSteps where !program.isAtEnd {
            if intruder.key == nil {
                intruder.connect(.reliable)
                let hello = Hello(device: DeviceID(rawValue: 7), account: AccountName("mallory"))
                intruder.send(intruder.frame(.hello, hello.encode(), on: .control))
                let open = Open(room: "lobby", kind: .chat, cursor: 0)
                intruder.send(intruder.frame(.open, open.encode(), on: SessionID(rawValue: 1)))
            }
            switch program.byte() % 8 {
            case 0: world.relay.refusesAppends.toggle()
            case 1: world.run(until: world.now + .seconds(Int(program.byte())))
            default:
                let session = FrameMaker.session(&program)
                let frame = FrameMaker.frame(&program)
                intruder.send(intruder.frame(frame.type, edged(frame.encode(), &program), on: session))
            }
            intruder.poll()
        }
        world.run(until: world.now + .seconds(61))
    }

    // MARK: Files

    /// A message of the relay with an edge of arithmetic in one of its numbers; nil if it is not valid.
    private static func message(_ program: inout ByteProgram) -> RoomMessage? {
        let target = MessageReference(
            MessageID(sender: "eve", device: DeviceID(rawValue: 9), counter: UInt64(1 + program.below(4))),
            offset: UInt64(program.below(4)))
        let bodies: [MessageBody] = [
            .text("hi"), .edit(of: target, text: "new"), .delete(target), .reply(to: target, text: "so"),
            .reaction("!", to: target, isRemoved: program.bool()),
            .attachment(Attachment(location: Attachment.relayLocation, byteCount: 9, name: "a")),
        ]
        let number = UInt64(1 + program.below(8))
        let stamp = RelayStamp(
            offset: number, acceptedAt: 1000, sender: AccountName("eve"), device: DeviceID(rawValue: 9))
        guard let content = try? program.pick(bodies).content else { return nil }
        let body = edged(Message(counter: number, content: content, relay: stamp).encode(), &program)
        return (try? Message(parsing: body.rawBytes)).flatMap { RoomMessage($0, log: LogID(rawValue: 6)) }
    }

    /// The files of the process. Each run is one transaction, which is rolled back.
    private static let folder: URL = {
        atexit { try? FileManager.default.removeItem(at: NumbersTarget.folder) }
        return FileManager.default.temporaryDirectory.appending(path: "martlet-numbers-\(getpid())")
    }()

    nonisolated(unsafe) private static let tables: TimelineTables? = {
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = TimelineFile(path: folder.appending(path: "timeline").path)
        return try? file.open(AccountName("alice"))
    }()

    nonisolated(unsafe) private static let store: StoreFile? = {
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try? StoreFile(path: folder.appending(path: "store").path, retention: StoreRetention()) { 1000 }
    }()

    private static func runTimeline(_ program: inout ByteProgram) {
        guard let tables = unsafe tables, let reader = try? TimelineReader(tables.database, account: "alice") else {
            return hold(false, "no timeline")
        }
        try? tables.database.execute("BEGIN")
        for _ in 0..<maxSteps where !program.isAtEnd {
            let (lower, upper) = (program.number(), program.number())
            let offsets = max(min(lower, upper), 1)...max(lower, upper, 1)
            let cursor = RoomCursor(log: LogID(rawValue: program.number()), offset: lower)
            switch program.byte() % 8 {
            case 0: try? tables.apply([.gap(offsets)], in: "a") { _ in false }
            case 1:
                let part = HistoryPart(messages: [], offsets: offsets, log: LogID(rawValue: 6))
                _ = try? tables.apply(part, in: "a") { _ in false }
            case 2:
                let previous = RoomCursor(log: LogID(rawValue: 6), offset: upper)
                try? tables.apply([.logReplaced(previous: previous, current: cursor)], in: "a") { _ in false }
            case 3: _ = try? tables.markRead(upTo: cursor, in: "a")
            default:
                guard let message = message(&program) else { continue }
                try? tables.apply([.message(message)], in: "a") { _ in false }
            }
            _ = try? reader.list()
            _ = try? reader.page(of: "a", before: nil, limit: 9)
        }
        try? tables.database.execute("ROLLBACK")
    }

    private static func runStore(_ program: inout ByteProgram) {
        guard let store = unsafe store else { return hold(false, "no store") }
        struct Rollback: Error {}
        let (writer, reader) = (store.writer, store.writer.reader)
        _ = try? writer.transaction {
            for _ in 0..<maxSteps where !program.isAtEnd {
                let value = program.number()
                guard let last = try? writer.load("a", at: 1000).lastOffset else { continue }
                switch program.byte() % 8 {
                case 0: try? writer.saveProgress(["eve": AccountProgress(delivered: value, read: value)], of: "a")
                case 1:
                    let range = ReadRange(from: value, maxCount: 1 + program.below(9), maxByteCount: .max)
                    _ = try? reader.read(range, of: "a")
                case 2:
                    _ = try? writer.saveMemberships(
                        ["eve": MembershipRecord(isJoined: true, changedAt: value)], of: "a")
                case 3: _ = try? store.memberships(of: "eve", .page(after: nil, maxCount: 9))
                default:
                    guard let message = message(&program) else { continue }
                    let stamp = RelayStamp(
                        offset: last + 1, acceptedAt: message.acceptedAt, sender: message.sender,
                        device: message.id.device)
                    let body = Message(counter: message.id.counter, content: message.content, relay: stamp).encode()
                    let entry = LogEntry(
                        offset: last + 1, sender: message.sender, device: message.id.device,
                        counter: message.id.counter, acceptedAt: message.acceptedAt, body: EncodedBody(body))
                    let erasure = MessageErasure(offset: value, id: message.id)
                    _ = try? writer.append([entry], erasing: [erasure], to: "a")
                }
            }
            throw Rollback()
        }
    }
}
