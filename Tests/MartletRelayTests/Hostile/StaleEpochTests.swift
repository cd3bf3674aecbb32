import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 22.
@Suite("Frames of an older connection after a resume are refused")
struct StaleEpochTests {
    // W-47, C-38
    @Test("it is told, and nothing of it is taken", arguments: Venue.allCases)
    func fenced(venue: Venue) async throws {
        try await venue.play { stage in
            let old = try await stage.connect()
            let welcome = try await old.hello()
            try await old.open()
            let new = try await stage.connect()
            let resumed = try await new.hello(Speaker.hello(resume: welcome.resumePoint([.first: 1])))
            #expect(resumed.epoch == Epoch(rawValue: 2))
            #expect(resumed.link == welcome.link)
            await old.say { $0.text("a ghost speaks", counter: 1, on: .first) }
            #expect(try await old.farewell()?.code == .staleEpoch)
            #expect(await stage.storedCount == 0)
            #expect(await stage.statistics.links == 1)
        }
    }

    @Test("a device that begins a new link replaces the one it had", arguments: Venue.allCases)
    func replaced(venue: Venue) async throws {
        try await venue.play { stage in
            let old = try await stage.member()
            let new = try await stage.member()
            await old.say { $0.text("a ghost speaks", counter: 1, on: .first) }
            #expect(try await old.farewell()?.code == .replaced)
            #expect(try await new.post("the living", counter: 1) == 1)
            #expect(await stage.statistics.links == 1)
        }
    }
}
