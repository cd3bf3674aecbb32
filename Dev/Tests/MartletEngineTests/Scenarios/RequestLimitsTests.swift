import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletSimulator

/// Requests and responses beyond the limits of a member, and within those of the relay.
@Suite struct RequestLimitsTests {
    private static let bobTakes = 16 * 1024

    /// A content beyond Bob's limit and within the relay's.
    private static var content: [UInt8] {
        var writer = TLVWriter()
        writer.append(.text, bytes: [UInt8](repeating: 120, count: 100_000).rawBytes)
        return writer.bytes
    }

    private func company(_ stage: RelayStage) throws -> (mallory: RawPeer, bob: RawPeer) {
        let mallory = stage.member("mallory", of: .lobby)
        let bob = try #require(stage.connect())
        bob.greet("bob", limits: Limits(maxMessageByteCount: Self.bobTakes))
        bob.open(.lobby, on: .first)
        return (mallory, bob)
    }

    private func say(_ type: FrameType, _ body: [UInt8], _ peer: RawPeer, _ stage: RelayStage) {
        for start in stride(from: 0, to: body.count, by: 16_000) {
            let end = min(start + 16_000, body.count)
            peer.say(type, Array(body[start..<end]), on: .first, flags: end < body.count ? [.moreFragments] : [])
            // The relay announces credit.
            stage.run(for: .milliseconds(30))
        }
    }

    // S-44, R-41, Specs/hostile.md row 39
    @Test func `a request beyond its recipient's limit → messageTooLarge, and it is not forwarded`() throws {
        let stage = RelayStage()
        let (mallory, bob) = try company(stage)
        let request = Request(
            correlation: 5, method: .locate, deadline: .seconds(60), recipient: .bob, content: Self.content)
        say(.request, request.encode(), mallory, stage)
        stage.run(for: .seconds(1))
        #expect(mallory.log.all(Response.self) == [Response(correlation: 5, status: .messageTooLarge)])
        #expect(!bob.log.frames.contains { $0.type == .request || $0.type == .reset })
        // It leaves no state: a short request is forwarded.
        mallory.say(
            Request(correlation: 6, method: .locate, deadline: .seconds(60), recipient: .bob, content: nil), on: .first)
        #expect(bob.log.all(Request.self).count == 1)
    }

    // S-44, R-41, Specs/hostile.md row 39
    @Test func `a response beyond its requester's limit is replaced by messageTooLarge`() throws {
        let stage = RelayStage()
        let (mallory, bob) = try company(stage)
        bob.say(
            Request(
                correlation: 5, method: .locate, deadline: .seconds(60), recipient: .named("mallory"), content: nil),
            on: .first)
        let asked = try #require(mallory.log.last(Request.self))
        let response = Response(correlation: asked.correlation, status: .none, reason: nil, content: Self.content)
        say(.response, response.encode(), mallory, stage)
        stage.run(for: .seconds(1))
        #expect(bob.log.all(Response.self) == [Response(correlation: 5, status: .messageTooLarge)])
        #expect(!bob.log.frames.contains { $0.type == .reset })
    }

    // Specs/hostile.md row 39
    @Test func `requests faster than their recipient reads → serverBusy, and its session remains open`() throws {
        let stage = RelayStage()
        let mallory = stage.member("mallory", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        for correlation in [5, 6, 7] as [UInt64] {
            let request = Request(
                correlation: correlation, method: .locate, deadline: .seconds(60), recipient: .bob,
                content: Self.content)
            say(.request, request.encode(), mallory, stage)
        }
        #expect(mallory.log.all(Response.self).map(\.status) == [.serverBusy, .serverBusy])
        bob.text("still here", counter: 1)
        stage.run(for: .seconds(1))
        #expect(bob.log.all(Accepted.self).count == 1)
        #expect(!bob.log.frames.contains { $0.type == .reset })
    }
}
