import MartletSimulator
import MartletTestKit
import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink
@testable import MartletRelay

/// Uploads and downloads through both engines.
@Suite("Attachments through both engines") struct AttachmentTests {
    /// Two clients in the lobby, and their transfers.
    private struct Stage {
        let world = VirtualWorld()
        let alice: VirtualClient
        let bob: VirtualClient
        let lobby: RoomID
        let bobs: RoomID

        init(_ conditions: PathConditions = PathConditions(delay: .milliseconds(20)), bobName: String = "bob") throws {
            func attachments(_ configuration: inout ClientConfiguration) {
                configuration.link.features = .all
            }
            alice = world.addClient("alice", conditions: conditions, attachments)
            bob = world.addClient(bobName, conditions: conditions, attachments)
            lobby = try world.open(.lobby, for: alice)
            bobs = try world.open(.lobby, for: bob)
            world.run(for: .seconds(2))
        }

        func content(_ byteCount: Int, seed: UInt64 = 1) -> [UInt8] {
            var random = SeededRandom(seed: seed)
            return (0..<byteCount).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }

        func upload(_ content: [UInt8], from client: VirtualClient, in room: RoomID) throws -> TransferID {
            let kind = TransferKind.upload(
                VirtualAttachments.digest(of: content), byteCount: UInt64(content.count), mediaType: nil)
            return try begin(kind, content, from: client, in: room)
        }

        func begin(
            _ kind: TransferKind, _ content: [UInt8], from client: VirtualClient, in room: RoomID
        ) throws -> TransferID {
            try world.act(client) { engine, now in
                let id = try engine.transfer(kind, in: room, now: now)
                client.uploads[id] = content
                return id
            }
        }

        func download(_ digest: AttachmentDigest, _ byteCount: Int, range: Range<UInt64>? = nil) throws -> TransferID {
            let range = range ?? 0..<UInt64(byteCount)
            return try begin(.download(digest, range, byteCount: UInt64(byteCount)), [], from: bob, in: bobs)
        }

        func events(_ id: TransferID, of client: VirtualClient) -> [TransferEvent] {
            client.outputs.compactMap { entry in
                if case .transfer(id, let event) = entry.output { event } else { nil }
            }
        }

        /// The end of a transfer, after up to an hour.
        func end(_ id: TransferID, of client: VirtualClient) throws -> TransferEvent {
            func last() -> TransferEvent? {
                switch events(id, of: client).last {
                case .finished: .finished
                case .failed(let failure): .failed(failure)
                default: nil
                }
            }
            world.run(until: world.now + .seconds(3600)) { last() != nil }
            return try #require(last())
        }
    }

    //
    @Test func `an upload is stored whole and another account downloads the same bytes`() throws {
        let stage = try Stage()
        let content = stage.content(1_000_000)
        let digest = VirtualAttachments.digest(of: content)
        let upload = try stage.upload(content, from: stage.alice, in: stage.lobby)
        #expect(try stage.end(upload, of: stage.alice) == .finished)
        #expect(stage.world.relay.attachments.bytes(of: digest, in: .lobby) == content)
        #expect(stage.world.relay.attachments.writtenByteCount == content.count)
        let download = try stage.download(digest, content.count)
        #expect(try stage.end(download, of: stage.bob) == .finished)
        #expect(stage.bob.downloads[download] == content)
        stage.world.run(for: .seconds(120))
        #expect(stage.alice.engine.quiescence().faults == [])
        #expect(stage.world.relay.engine.quiescence().faults == [])
    }

    //
    @Test func `an attachment of 0 bytes is complete when it is begun, and is downloaded`() throws {
        let stage = try Stage()
        let digest = VirtualAttachments.digest(of: [])
        let upload = try stage.upload([], from: stage.alice, in: stage.lobby)
        #expect(try stage.end(upload, of: stage.alice) == .finished)
        #expect(stage.events(upload, of: stage.alice) == [.began(position: 0), .finished])
        #expect(stage.world.relay.attachments.bytes(of: digest, in: .lobby) == [])
        let download = try stage.download(digest, 0)
        #expect(try stage.end(download, of: stage.bob) == .finished)
    }

    //
    @Test func `a range gives the bytes of the range`() throws {
        let stage = try Stage()
        let content = stage.content(200_000)
        let upload = try stage.upload(content, from: stage.alice, in: stage.lobby)
        #expect(try stage.end(upload, of: stage.alice) == .finished)
        let id = try stage.download(VirtualAttachments.digest(of: content), content.count, range: 70_001..<120_000)
        #expect(try stage.end(id, of: stage.bob) == .finished)
        #expect(stage.bob.downloads[id] == Array(content[70_001..<120_000]))
    }

    //
    @Test func `an attachment that the room has is not sent again`() throws {
        let stage = try Stage()
        let content = stage.content(300_000)
        let first = try stage.upload(content, from: stage.alice, in: stage.lobby)
        #expect(try stage.end(first, of: stage.alice) == .finished)
        let second = try stage.upload(content, from: stage.bob, in: stage.bobs)
        #expect(try stage.end(second, of: stage.bob) == .finished)
        #expect(stage.events(second, of: stage.bob) == [.began(position: 300_000), .finished])
        #expect(stage.world.relay.attachments.writtenByteCount == 300_000)
    }

    //
    @Test func `an attachment of another room is unknown`() throws {
        let stage = try Stage()
        let content = stage.content(3000)
        let upload = try stage.upload(content, from: stage.alice, in: stage.lobby)
        #expect(try stage.end(upload, of: stage.alice) == .finished)
        let hall = try stage.world.open(.hall, for: stage.bob)
        let digest = VirtualAttachments.digest(of: content)
        let download = try stage.begin(.download(digest, 0..<3000, byteCount: 3000), [], from: stage.bob, in: hall)
        #expect(try stage.end(download, of: stage.bob) == .failed(.refused(.unknownAttachment)))
        let again = try stage.upload(content, from: stage.bob, in: hall)
        #expect(try stage.end(again, of: stage.bob) == .finished)
        #expect(stage.events(again, of: stage.bob).first == .began(position: 0))
    }

    //
    @Test func `an upload continues over lost connections and the deaths of the relay and of the client`() throws {
        let stage = try Stage(PathConditions(delay: .milliseconds(20), bytesPerSecond: 200_000))
        let content = stage.content(1_500_000)
        var upload = try stage.upload(content, from: stage.alice, in: stage.lobby)
        stage.world.run(for: .seconds(1))
        for round in 0..<6 {
            switch round % 3 {
            case 0: stage.world.cut(stage.alice)
            case 1: stage.world.restartRelay(downFor: .milliseconds(300))
            default:
                stage.world.crash(stage.alice)
                let room = try stage.world.open(.lobby, for: stage.alice)
                stage.world.act(stage.alice) { $0.handle(.start, now: $1) }
                upload = try stage.upload(content, from: stage.alice, in: room)
            }
            stage.world.run(for: .milliseconds(900))
        }
        #expect(try stage.end(upload, of: stage.alice) == .finished)
        let digest = VirtualAttachments.digest(of: content)
        #expect(stage.world.relay.attachments.bytes(of: digest, in: .lobby) == content)
        // Bytes that were stored are not stored again.
        #expect(stage.world.relay.attachments.writtenByteCount == content.count)
        #expect(stage.alice.engine.counters.bytesSent < 3_000_000)
    }

    //
    @Test func `a position that the relay has lost is sent again`() throws {
        let stage = try Stage(PathConditions(delay: .milliseconds(20), bytesPerSecond: 200_000))
        let content = stage.content(600_000)
        let upload = try stage.upload(content, from: stage.alice, in: stage.lobby)
        stage.world.run(for: .seconds(1))
        stage.world.restartRelay(downFor: .milliseconds(300))
        stage.world.relay.attachments.loseEnds(byteCount: 50_000)
        #expect(try stage.end(upload, of: stage.alice) == .finished)
        #expect(stage.world.relay.attachments.writtenByteCount == 650_000)
    }

    //
    @Test func `bytes that do not have the digest are refused and discarded`() throws {
        let stage = try Stage()
        let digest = VirtualAttachments.digest(of: stage.content(100_000, seed: 2))
        let kind = TransferKind.upload(digest, byteCount: 100_000, mediaType: nil)
        let upload = try stage.begin(kind, stage.content(100_000), from: stage.alice, in: stage.lobby)
        #expect(try stage.end(upload, of: stage.alice) == .failed(.refused(.digestMismatch)))
        #expect(stage.world.relay.attachments.bytes(of: digest, in: .lobby) == nil)
        // The account can upload the right bytes afterwards.
        let right = try stage.upload(stage.content(100_000, seed: 2), from: stage.alice, in: stage.lobby)
        #expect(try stage.end(right, of: stage.alice) == .finished)
    }

    // Specs/hostile.md row 73
    @Test func `wrong bytes of one account do not spoil the upload of another`() throws {
        let stage = try Stage(PathConditions(delay: .milliseconds(20), bytesPerSecond: 100_000))
        let content = stage.content(300_000, seed: 2)
        let digest = VirtualAttachments.digest(of: content)
        let kind = TransferKind.upload(digest, byteCount: 300_000, mediaType: nil)
        let wrong = try stage.begin(kind, stage.content(300_000), from: stage.bob, in: stage.bobs)
        let right = try stage.upload(content, from: stage.alice, in: stage.lobby)
        #expect(try stage.end(wrong, of: stage.bob) == .failed(.refused(.digestMismatch)))
        #expect(try stage.end(right, of: stage.alice) == .finished)
        #expect(stage.world.relay.attachments.bytes(of: digest, in: .lobby) == content)
    }

    //
    @Test(arguments: [RoomPermissions.publish, .readHistory])
    func `a session without a permission is refused`(missing: RoomPermissions) throws {
        var configuration = RelayConfiguration()
        configuration.asksRoomPolicy = true
        let world = VirtualWorld(relay: configuration)
        world.relay.policy = { _ in .granted(RoomPermissions.all.subtracting(missing)) }
        let alice = world.addClient("alice") { $0.link.features = .all }
        let lobby = try world.open(.lobby, for: alice)
        world.run(for: .seconds(2))
        let digest = VirtualAttachments.digest(of: [1])
        let kinds: [TransferKind] = [
            .upload(digest, byteCount: 1, mediaType: nil), .download(digest, 0..<1, byteCount: 1),
        ]
        for kind in kinds {
            let id = try world.act(alice) { engine, now in
                let id = try engine.transfer(kind, in: lobby, now: now)
                alice.uploads[id] = [1]
                return id
            }
            world.run(for: .seconds(5))
            let isForbidden = alice.outputs.contains { $0.output == .transfer(id, .failed(.refused(.forbidden))) }
            var isUpload = false
            if case .upload = kind { isUpload = true }
            #expect(isForbidden == (isUpload == (missing == .publish)))
        }
    }

    //
    @Test func `a relay without the feature is sent no session of the kind`() throws {
        var configuration = RelayConfiguration()
        configuration.link.features.remove(.attachments)
        let world = VirtualWorld(relay: configuration)
        let alice = world.addClient("alice") { $0.link.features = .all }
        let lobby = try world.open(.lobby, for: alice)
        world.run(for: .seconds(2))
        let digest = VirtualAttachments.digest(of: [1])
        let id = try world.act(alice) { engine, now in
            try engine.transfer(.upload(digest, byteCount: 1, mediaType: nil), in: lobby, now: now)
        }
        world.run(for: .seconds(2))
        #expect(alice.outputs.contains { $0.output == .transfer(id, .failed(.unsupported)) })
        #expect(alice.engine.status.reconnects == 0)
    }

    //
    @Test func `a session of kind attachment is no member`() throws {
        let stage = try Stage(PathConditions(delay: .milliseconds(20), bytesPerSecond: 50_000))
        let upload = try stage.upload(stage.content(200_000), from: stage.alice, in: stage.lobby)
        stage.world.run(for: .seconds(1))
        try stage.world.send("hello", from: stage.bob, in: stage.bobs)
        #expect(try stage.end(upload, of: stage.alice) == .finished)
        #expect(stage.alice.texts(in: stage.lobby) == ["hello"])
        // The end of the session is no presence.
        stage.world.run(for: .seconds(5))
        let presences = stage.bob.events(in: stage.bobs).filter {
            if case .presence = $0 { true } else { false }
        }
        #expect(presences.allSatisfy { $0 == .presence(.alice, .online) })
    }

    // S-60
    @Test(arguments: [10, 50, 150])
    func `transfers fill a line while a typed line takes less than 100 ms more than the path`(delay: Int) throws {
        let rate = 500_000
        let path = PathConditions(delay: .milliseconds(delay), bytesPerSecond: rate)
        let stage = try Stage(path)
        let content = stage.content(5_000_000)
        let began = stage.world.now
        let upload = try stage.upload(content, from: stage.alice, in: stage.lobby)
        var took: [Duration] = []
        while stage.events(upload, of: stage.alice).last != .finished {
            try #require(stage.world.now - began < .seconds(60))
            let sent = stage.world.now
            try stage.world.send("a typed line", from: stage.alice, in: stage.lobby)
            stage.world.run(until: sent + .seconds(5)) { stage.bob.texts(in: stage.bobs).count > took.count }
            took.append(stage.world.now - sent)
            stage.world.run(for: .milliseconds(230))
        }
        // Nine tenths of the line, after the round trips of the opening and of the growth of the window.
        let limit = Duration.milliseconds(content.count * 1_000 * 10 / 9 / rate + 5 * 2 * delay)
        #expect(stage.world.now - began < limit)
        #expect(try #require(took.max()) < .milliseconds(2 * delay + 100))
        let half = stage.world.now
        let download = try stage.download(VirtualAttachments.digest(of: content), content.count)
        #expect(try stage.end(download, of: stage.bob) == .finished)
        #expect(stage.world.now - half < limit)
    }

    // R-108, Specs/hostile.md row 85
    @Test func `a reader that reads nothing holds bounded memory at the relay`() throws {
        let stage = try Stage()
        let content = stage.content(4_000_000)
        let upload = try stage.upload(content, from: stage.alice, in: stage.lobby)
        #expect(try stage.end(upload, of: stage.alice) == .finished)
        let before = stage.world.relay.engine.memoryByteCount
        stage.world.stopReading(stage.bob)
        _ = try stage.download(VirtualAttachments.digest(of: content), content.count)
        var most = 0
        stage.world.run(until: stage.world.now + .seconds(5)) {
            most = max(most, stage.world.relay.engine.memoryByteCount - before)
            return false
        }
        #expect(most < AttachmentSession.flightByteCount + 100_000)
    }
}
