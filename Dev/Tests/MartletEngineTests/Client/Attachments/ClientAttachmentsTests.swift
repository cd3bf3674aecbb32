import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// The sessions and requests of a client's transfers.
@Suite struct ClientAttachmentsTests {
    private let features = Features.supported.union([.compact, .attachments])
    private let digest = AttachmentDigest([UInt8](repeating: 7, count: 32))!

    /// Brings a client online, with a room.
    private func online(_ stage: ClientStage) throws -> RoomID {
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.log.allowPackets()
        stage.welcome(features: features)
        return try stage.act { engine, now in try engine.open(.lobby, now: now) }
    }

    private func begin(_ stage: ClientStage, in room: RoomID) throws -> TransferID {
        try stage.act { engine, now in
            try engine.transfer(.download(digest, 0..<1, byteCount: 1), in: room, now: now)
        }
    }

    private func owns(_ stage: ClientStage, _ session: SessionID) -> Bool {
        stage.engine.rooms.attachments.owns(session)
    }

    // S-4
    @Test func `a room and 255 transfers one after another → the last one waits for the rate of a server`() throws {
        let stage = ClientStage { [features] in $0.link.features = features }
        let room = try online(stage)
        for number in 1..<Link.ownOpenBurst {
            let session = SessionID(rawValue: UInt16(2 * number + 1))
            let transfer = try begin(stage, in: room)
            try #require(owns(stage, session))
            stage.act { $0.cancel(transfer, now: $1) }
            stage.say(Reset(session: session, code: .cancelled))
        }
        let last = SessionID(rawValue: UInt16(2 * Link.ownOpenBurst + 1))
        _ = try begin(stage, in: room)
        #expect(stage.engine.client.link.sessionCount == 1)
        stage.run(for: .milliseconds(100))
        #expect(owns(stage, last))
    }

    //
    @Test func `sessions that end for now, and a request that is refused for now → the room is delayed`() throws {
        let stage = ClientStage { [features] in $0.link.features = features }
        let room = try online(stage)
        _ = try begin(stage, in: room)
        let request = try #require(stage.log.all(Request.self).last)
        let session = SessionID(rawValue: 3)
        stage.say(Response(correlation: request.correlation, status: .storeUnavailable), on: session)
        #expect(stage.events(in: room) == [.delayed(.storeUnavailable)])
        stage.say(Reset(session: session, code: .serverBusy))
        stage.say(Reset(session: .first, code: .storeUnavailable))
        let delays: [RoomEvent] = [.delayed(.storeUnavailable), .delayed(.serverBusy), .delayed(.storeUnavailable)]
        #expect(stage.events(in: room) == delays)
    }

    // R-107, S-65
    @Test func `a request that is refused with retryAfter → begun again after this duration`() throws {
        let stage = ClientStage { [features] in $0.link.features = features }
        let room = try online(stage)
        _ = try stage.act { engine, now in
            try engine.transfer(.upload(digest, byteCount: 9, mediaType: nil), in: room, now: now)
        }
        let session = SessionID(rawValue: 3)
        let begin = try #require(stage.log.all(Request.self).last)
        let refusal = Response(correlation: begin.correlation, status: .tooManyRequests, retryAfter: .seconds(5))
        stage.say(refusal, on: session)
        func count() -> Int { Set(stage.log.all(Request.self).map(\.correlation)).count }
        stage.run(for: .milliseconds(4900))
        #expect(count() == 1)
        stage.run(for: .milliseconds(200))
        #expect(count() == 2)
    }

    // S-54
    @Test func `requests of a transfer and of a room that are open at once → different correlations`() throws {
        let stage = ClientStage { [features] in $0.link.features = features }
        let room = try online(stage)
        _ = try begin(stage, in: room)
        let number = try stage.act { engine, now in
            try engine.request(.locate, content: [], to: .bob, in: room, deadline: .seconds(10), now: now)
        }
        let correlations = stage.log.all(Request.self).map(\.correlation)
        #expect(correlations.count == 2 && Set(correlations).count == 2)
        #expect(correlations.contains(number))
    }
}
