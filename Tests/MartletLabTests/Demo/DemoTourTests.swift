import Foundation
import MartletDecode
import MartletToolSupport
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletLab

@Suite(.timeLimit(.minutes(10))) struct DemoTourTests {
    @Test func `the tour has a frame of every type, and decodes without a fault`() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).pcap").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try CaptureFile(path: path)
        try await DemoTour(capture: file).run()
        try file.finish()
        let heard = Heard()
        try CaptureDecoder { heard.hear($0) }.decode(CaptureReader(path: path))
        #expect(heard.faults == [])
        let types = Set(heard.frames.map(\.header.type))
        #expect(Set(FrameType.registered).subtracting(types) == [])
        #expect(!heard.frames.contains { if case .refused = $0.content { true } else { false } })
        #expect(heard.frames.contains { $0.fragmentCount > 1 })
        #expect(heard.frames.contains { $0.header.compression == .zlib })
        #expect(!heard.frames.contains { $0.missingCount > 0 })
        // A machine that is busy for seconds makes a peer look dead (C-47, S-29). Its connection is cut then, and what
        // was under way comes again on the next one, but on no link that kept its connection.
        let resumed = heard.resumedConnections
        #expect(!heard.frames.contains { $0.isRepeated && !resumed.contains($0.position.connection) })
        #expect(heard.notes { !resumed.contains($0.connection) } == [])
    }
}

extension Heard {
    /// The connections of links that had more than one.
    fileprivate var resumedConnections: Set<Int> {
        var links: Set<LinkID> = []
        var connections: [Int: LinkID] = [:]
        for frame in frames {
            switch frame.content {
            case .frame(.hello(let hello)): if let resume = hello.resume { links.insert(resume.link) }
            case .frame(.welcome(let welcome)): connections[frame.position.connection] = welcome.link
            default: break
            }
        }
        return Set(connections.filter { links.contains($0.value) }.keys)
    }

    fileprivate func notes(where isIncluded: (StreamPosition) -> Bool) -> [String] {
        events.compactMap { if case .note(let position, let text) = $0, isIncluded(position) { text } else { nil } }
    }
}
