import Martlet
import MartletLink
import MartletRelay
import Testing

@Suite("Flight recordings of clients", .timeLimit(.minutes(10)))
struct FlightRecordingTests {
    @Test func `recording of a connection that was cut replays and has no name, text or token`() async throws {
        let markers = ["MARKERALICE", "MARKERROOM", "MARKERTEXT", "MARKERTOKEN", "127.0.0.1", "localhost"]
        try await withRelay { relay in
            try await withProxy(to: relay) { proxy in
                let credentials = Credentials.token(account: markers[0], markers[3])
                let client = try Client(to: proxy.endpoint, as: credentials, configuration: .hasty)
                #expect(await client.flightRecording == [])
                try await client.start()
                let room = try await client.open(room: markers[1])
                #expect(try await room.send(markers[2]).accepted() == 1)
                await proxy.cut()
                try await client.status.first(until: { $0.isOnline && $0.reconnects == 1 })
                let file = await client.flightRecording
                for marker in markers { #expect(!file.contains(Array(marker.utf8)), "\(marker)") }
                let recording = try FlightRecording(parsing: file)
                for line in recording.lines { #expect(!markers.contains { line.contains($0) }) }
                let replay = try FlightReplay(recording)
                #expect(replay.difference == nil)
                #expect(replay.status.reconnects == 1)
                await client.stop()
                #expect(await client.flightRecording == [])
            }
        }
    }

    @Test func `client with size 0 has no recording, and one below 32 KiB is not created`() async throws {
        var configuration = Client.Configuration()
        configuration.recordingByteCount = 1000
        #expect(throws: MartletError.self) {
            _ = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("ada"), configuration: configuration)
        }
        configuration.recordingByteCount = 0
        let client = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("ada"), configuration: configuration)
        try await client.start()
        #expect(await client.flightRecording == [])
        await client.stop()
    }
}
