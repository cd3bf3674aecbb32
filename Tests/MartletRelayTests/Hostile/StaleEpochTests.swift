import MartletLink
import MartletRelay
import MartletWire
import Testing

/// Specs/hostile.md row 22.
@Suite("Frames of an older connection after a resume are refused")
struct StaleEpochTests {
    // W-47, C-38
    @Test("old connection closes as staleEpoch, and its frames are ignored", arguments: RelayBackend.allCases)
    func staleEpoch(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let old = try await fixture.connect()
            let welcome = try await old.hello()
            try await old.open()
            let new = try await fixture.connect()
            let resumed = try await new.hello(FrameWriter.hello(resume: welcome.resumePoint([.first: 1])))
            #expect(resumed.epoch == Epoch(rawValue: 2))
            #expect(resumed.link == welcome.link)
            await old.write { $0.text("from the old connection", counter: 1, on: .first) }
            #expect(try await old.finalNotice()?.code == .staleEpoch)
            #expect(await fixture.storedCount == 0)
            #expect(await fixture.statistics.links == 1)
        }
    }

    @Test("new link of a device closes its former connection as replaced", arguments: RelayBackend.allCases)
    func replaced(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let old = try await fixture.member()
            let new = try await fixture.member()
            await old.write { $0.text("from the old connection", counter: 1, on: .first) }
            #expect(try await old.finalNotice()?.code == .replaced)
            #expect(try await new.publish("from the new connection", counter: 1) == 1)
            #expect(await fixture.statistics.links == 1)
        }
    }
}
