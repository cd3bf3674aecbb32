import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// A room that is closed and opened again on one link.
@Suite struct ClientRoomsTests {
    @Test func `a content fits when it and 512 bytes of other fields are within the message limit`() {
        let limits = Limits(maxMessageByteCount: 100_000)
        #expect(ClientRooms.fits(99_488, limits) && !ClientRooms.fits(99_489, limits))
    }

    //
    @Test func `a closed room is opened again after the relay's close`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        stage.act { $0.close(room, now: $1) }
        _ = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        stage.run(for: .seconds(1))
        #expect(stage.log.all(Open.self).count == 1)
        stage.say(Close(), on: .first)
        #expect(stage.log.all(Open.self).count == 2)
    }

    //
    @Test func `a reset with alreadyOpen → the room is opened again`() throws {
        let stage = ClientStage()
        _ = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome()
        stage.say(Reset(session: .first, code: .alreadyOpen))
        stage.run(for: .seconds(3))
        #expect(stage.log.all(Open.self).count == 2)
    }

    // S-4
    @Test func `a list, a request and an upload beyond the server's limit of sessions → tooManySessions`() throws {
        let features = Features.supported.union([.compact, .accountSession, .attachments])
        let stage = ClientStage { $0.link.features = features }
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome(limits: Limits(maxSessions: 1), features: features)
        let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        stage.act { $0.useAccount(list: true, now: $1) }
        #expect(stage.outputs.last == .account(.unavailable(.tooManySessions)))
        let number = try stage.act { engine, now in
            try engine.accountRequest(MethodName("m")!, content: nil, deadline: .seconds(10), now: now)
        }
        #expect(stage.outputs.contains(.response(request: number, .failed(.tooManySessions))))
        let digest = AttachmentDigest([UInt8](repeating: 1, count: 32))!
        let upload = try stage.act { engine, now in
            try engine.transfer(.upload(digest, byteCount: 1, mediaType: nil), in: room, now: now)
        }
        #expect(stage.outputs.contains(.transfer(upload, .failed(.refused(.tooManySessions)))))
    }
}
