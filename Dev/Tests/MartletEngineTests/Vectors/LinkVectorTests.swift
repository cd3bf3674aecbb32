import MartletTestSupport
import MartletWire
import Testing

@testable import MartletDifferential
@testable import MartletLink

/// Replays the vectors of `Specs/vectors` about a server's side of a link against the relay: frames that are valid
/// separately and invalid together (Specs/session.md §12).
@Suite("Vectors of a link")
struct LinkVectorTests {
    private static let files = (try? VectorFile.all()) ?? []

    private static func limits(_ given: JSONValue?) -> Limits {
        var limits = Limits(maxSessions: 255)
        if let window = given?["linkWindow"]?.number { limits = Limits(linkWindow: window, maxSessions: 255) }
        if let window = given?["sessionWindow"]?.number { limits = Limits(sessionWindow: window, maxSessions: 255) }
        if let count = given?["maxSessions"]?.number { limits = Limits(maxSessions: count) }
        return limits
    }

    @Test(arguments: ["links", "floods", "floods-beyond"])
    func `a relay gives the error and the resets of each vector`(file: String) throws {
        let vectors = Self.files.first { $0.name == file }?.vectors ?? []
        #expect(vectors.count >= 3)
        for vector in vectors {
            let name = "\(vector["name"]?.text ?? "")"
            let stage = RelayStage()
            let peer = try #require(stage.connect())
            peer.greet(limits: Self.limits(vector["limits"]))
            peer.send(vector["bytes"]?.bytes ?? [])
            stage.run(for: .milliseconds(100))
            #expect(peer.farewell?.name == vector["error"]?.text, "\(name)")
            #expect((peer.closedAt == nil) == (vector["error"] == nil), "\(name)")
            let resets = peer.log.all(Reset.self).map { reset in
                JSONValue.object(["session": .number(Int(reset.session.rawValue)), "code": .code(reset.code)])
            }
            #expect(resets == vector["resets"]?.list ?? [], "\(name)")
        }
    }
}
