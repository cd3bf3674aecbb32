import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 23.
@Suite("An invalid resume token is refused")
struct InvalidResumeTokenTests {
    // C-37
    @Test("used twice: refused, and the connection may begin anew", arguments: Venue.allCases)
    func usedTwice(venue: Venue) async throws {
        try await venue.play { stage in
            let first = try await stage.connect()
            let point = try await first.hello().resumePoint([:])
            await first.cut()
            let second = try await stage.connect()
            #expect(try await second.hello(Speaker.hello(resume: point)).resumed != nil)
            await second.cut()
            let third = try await stage.connect()
            await third.send(Speaker.hello(resume: point))
            #expect(try await third.expect(Reject.self).notice.code == .resumeRejected)
            #expect(try await third.hello().resumed == nil)
            #expect(await stage.statistics.resumesRefused == 1)
        }
    }

    // C-31, C-35
    @Test("of another account, or of another device", arguments: Venue.allCases)
    func others(venue: Venue) async throws {
        try await venue.play { stage in
            let first = try await stage.connect()
            let point = try await first.hello().resumePoint([:])
            for hello in [Speaker.hello("mallory", resume: point), Speaker.hello("alice", device: 9, resume: point)] {
                let thief = try await stage.connect()
                await thief.send(hello)
                #expect(try await thief.expect(Reject.self).notice.code == .resumeRejected)
            }
            // The owner does not notice.
            try await first.open()
        }
    }

    // W-38, C-34
    @Test("five tries, then the connection ends", arguments: Venue.allCases)
    func tries(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            let forged = ResumePoint(link: LinkID(rawValue: 1), token: ResumeToken(1, 2, 3, 4), positions: [])
            for _ in 0..<4 {
                await peer.send(Speaker.hello(resume: forged))
                #expect(try await peer.expect(Reject.self).notice.code == .resumeRejected)
            }
            await peer.send(Speaker.hello(resume: forged))
            #expect(try await peer.farewell()?.code == .resumeRejected)
        }
    }

    @Test("expired")
    func expired() async throws {
        let hall = VirtualHall()
        let first = hall.connect()
        let point = try await first.hello().resumePoint([:])
        await first.cut()
        hall.run(for: .seconds(301))
        #expect(hall.engine.statistics.links == 0)
        let second = hall.connect()
        await second.send(Speaker.hello(resume: point))
        #expect(try await second.expect(Reject.self).notice.code == .resumeRejected)
    }

    // C-30
    @Test("positions that cannot be", arguments: Venue.allCases, [2, .max] as [UInt64])
    func positions(venue: Venue, received: UInt64) async throws {
        try await venue.play { stage in
            let first = try await stage.connect()
            let welcome = try await first.hello()
            try await first.open()
            let second = try await stage.connect()
            await second.send(Speaker.hello(resume: welcome.resumePoint([.first: received])))
            #expect(try await second.expect(Reject.self).notice.code == .resumeRejected)
        }
    }

    @Test("early frames behind a resume that is refused are passed over", arguments: Venue.allCases)
    func early(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            let forged = ResumePoint(link: LinkID(rawValue: 1), token: ResumeToken(1, 2, 3, 4), positions: [])
            await peer.say { $0.frame(Speaker.hello(resume: forged)) + $0.text("early", counter: 1, on: .first) }
            #expect(try await peer.expect(Reject.self).notice.code == .resumeRejected)
            #expect(try await peer.hello().resumed == nil)
            #expect(await stage.storedCount == 0)
        }
    }
}
