import Foundation
import MartletWire
import Testing

@testable import MartletTool

@Suite(.timeLimit(.minutes(1))) struct DemoTourTests {
    @Test func `the tour has a frame of every type, and decodes without a fault`() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).pcap").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try CaptureFile(path: path)
        try await DemoTour(capture: file).run()
        try file.finish()
        let heard = Heard()
        let decoder = Decoder { heard.hear($0) }
        try decoder.feed(Array(try Data(contentsOf: URL(fileURLWithPath: path))))
        try decoder.finish()
        #expect(heard.faults == [])
        #expect(heard.notes == [])
        let types = Set(heard.frames.map(\.header.type))
        #expect(Set(FrameType.registered).subtracting(types) == [])
        #expect(!heard.frames.contains { if case .refused = $0.content { true } else { false } })
        #expect(heard.frames.contains { $0.fragmentCount > 1 })
        #expect(heard.frames.contains { $0.header.compression == .zlib })
        #expect(!heard.frames.contains { $0.isRepeated || $0.missingCount > 0 })
    }
}
