import Foundation
import MartletDecode
import MartletToolSupport
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletLab

@Suite(.timeLimit(.minutes(10))) struct DemoTourTests {
    @Test func `the tour contains a frame of every type and is decoded without a fault`() async throws {
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
        // On a machine that is busy for seconds a peer counts as dead (C-47, S-29). Its connection is then cut, and
        // frames in flight are retransmitted on the next one. A link that kept its connection has no retransmissions.
        let resumed = heard.resumedConnections
        #expect(!heard.frames.contains { $0.isRepeated && !resumed.contains($0.position.connection) })
        #expect(heard.notes { !resumed.contains($0.connection) } == [])
    }
}

extension Heard {
    /// The connections of links with more than one connection.
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
