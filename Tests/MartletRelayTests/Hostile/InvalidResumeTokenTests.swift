import MartletLink
import MartletRelay
import MartletWire
import Testing

/// Specs/hostile.md row 23.
@Suite("An invalid resume token is refused")
struct InvalidResumeTokenTests {
    // C-37
    @Test("used token is rejected, and a new hello succeeds", arguments: RelayBackend.allCases)
    func usedTwice(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let first = try await fixture.connect()
            let point = try await first.hello().resumePoint([:])
            await first.cut()
            let second = try await fixture.connect()
            #expect(try await second.hello(FrameWriter.hello(resume: point)).resumed != nil)
            await second.cut()
            let third = try await fixture.connect()
            await third.send(FrameWriter.hello(resume: point))
            #expect(try await third.expect(Reject.self).notice.code == .resumeRejected)
            #expect(try await third.hello().resumed == nil)
            #expect(await fixture.statistics.resumesRefused == 1)
        }
    }

    // C-31, C-35
    @Test("token of another account or device is rejected", arguments: RelayBackend.allCases)
    func others(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let first = try await fixture.connect()
            let point = try await first.hello().resumePoint([:])
            for hello in [
                FrameWriter.hello("mallory", resume: point), FrameWriter.hello("alice", device: 9, resume: point),
            ] {
                let other = try await fixture.connect()
                await other.send(hello)
                #expect(try await other.expect(Reject.self).notice.code == .resumeRejected)
            }
            // The connection of the owner remains open.
            try await first.open()
        }
    }

    // W-38, C-34
    @Test("fifth rejected resume closes the connection", arguments: RelayBackend.allCases)
    func attempts(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            let forged = ResumePoint(link: LinkID(rawValue: 1), token: ResumeToken(1, 2, 3, 4), positions: [])
            for _ in 0..<4 {
                await peer.send(FrameWriter.hello(resume: forged))
                #expect(try await peer.expect(Reject.self).notice.code == .resumeRejected)
            }
            await peer.send(FrameWriter.hello(resume: forged))
            #expect(try await peer.finalNotice()?.code == .resumeRejected)
        }
    }

    @Test("token of an expired link is rejected")
    func expired() async throws {
        let fixture = EngineFixture()
        let first = fixture.connect()
        let point = try await first.hello().resumePoint([:])
        await first.cut()
        fixture.run(for: .seconds(301))
        #expect(fixture.engine.statistics.links == 0)
        let second = fixture.connect()
        await second.send(FrameWriter.hello(resume: point))
        #expect(try await second.expect(Reject.self).notice.code == .resumeRejected)
    }

    // C-30
    @Test("resume with impossible positions is rejected", arguments: RelayBackend.allCases, [2, .max] as [UInt64])
    func positions(backend: RelayBackend, received: UInt64) async throws {
        try await backend.run { fixture in
            let first = try await fixture.connect()
            let welcome = try await first.hello()
            try await first.open()
            let second = try await fixture.connect()
            await second.send(FrameWriter.hello(resume: welcome.resumePoint([.first: received])))
            #expect(try await second.expect(Reject.self).notice.code == .resumeRejected)
        }
    }

    @Test("early frames behind a rejected resume are ignored", arguments: RelayBackend.allCases)
    func early(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            let forged = ResumePoint(link: LinkID(rawValue: 1), token: ResumeToken(1, 2, 3, 4), positions: [])
            await peer.write { $0.frame(FrameWriter.hello(resume: forged)) + $0.text("early", counter: 1, on: .first) }
            #expect(try await peer.expect(Reject.self).notice.code == .resumeRejected)
            #expect(try await peer.hello().resumed == nil)
            #expect(await fixture.storedCount == 0)
        }
    }
}
