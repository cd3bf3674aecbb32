import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct RelayLinkRestTests {
    private func link() throws -> RelayLink {
        let stage = RelayStage()
        let peer = stage.member("somebody with a long name", device: .max, of: .lobby)
        peer.open(.hall, on: .second)
        peer.say(Suspend(), on: .second)
        for session in [SessionID.first, .second] { peer.acknowledgeAll(on: session) }
        stage.run(for: .seconds(2))
        return try #require(stage.link(of: peer))
    }

    @Test func `a link with its places in rooms comes back as it was`() throws {
        var link = try link()
        link.wasTouched = false
        let mayRest = link.mayRest()
        #expect(mayRest)
        let before = parts(of: link)
        let (back, byteCount) = Packer.copy(&link)
        // Who has just been unpacked is not packed at once.
        #expect(parts(of: back) == before.replacing("wasTouched: false", with: "wasTouched: true"))
        #expect(back.token == link.token && byteCount < 220)
    }

    @Test func `a link remembers on which loop it is, and what its rooms on others are called`() throws {
        var link = try link()
        link.key.loop = 3
        for place in link.sessions.values.indices {
            link.sessions.values[place].room = .hall
            link.sessions.values[place].handle?.loop = 2
        }
        let (back, _) = Packer.copy(&link)
        #expect(back.key.loop == 3)
        #expect(back.sessions.values.allSatisfy { $0.room == .hall && $0.handle?.loop == 2 })
    }

    /// Whoever adds a member decides what becomes of it at rest: `pass`, or a condition of `mayRest`.
    @Test func `every member is passed or keeps a link from rest`() throws {
        let link = try link()
        #expect(Mirror(reflecting: link).children.count == 22)
        #expect(link.sessions.values.first.map { Mirror(reflecting: $0).children.count } == 9)
    }

    @Test func `a link that was touched is left as it is until it is looked at again`() throws {
        var link = try link()
        link.wasTouched = true
        var answers = [link.mayRest(), link.mayRest()]
        link.isTouched = true
        answers.append(link.mayRest())
        #expect(answers == [false, true, false])
    }
}
