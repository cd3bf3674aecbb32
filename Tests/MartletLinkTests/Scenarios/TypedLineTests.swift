import MartletWire
import Testing

@testable import MartletLink

/// A typed line and a file on one link, whose path carries 1 MB/s from an unbounded buffer.
@Suite struct TypedLineTests {
    struct Run: CustomTestStringConvertible, Sendable {
        var delay: Duration
        var megabytes = 5
        var carrier = Carrier.reliable
        var testDescription: String { "\(megabytes) MB, \(delay), \(carrier)" }
    }

    static let bytesPerSecond = 1_000_000
    static let runs =
        [Run(delay: .milliseconds(20), megabytes: 50)] + [1, 50, 200].map { Run(delay: .milliseconds($0)) }
        + [Run(delay: .milliseconds(20), carrier: .unreliable)]

    @Test(arguments: runs)
    func `during a file transfer a typed line arrives within the delay and 100 ms`(run: Run) throws {
        let pair = LinkPair(
            run.carrier, path: LinkPath(delay: run.delay, bytesPerSecond: TypedLineTests.bytesPerSecond))
        let chat = try pair.open("lobby")
        let file = try pair.open("files", kind: .file)
        let began = pair.now
        let pieceByteCount = 65_536
        var unsent = run.megabytes * 1_000_000 / pieceByteCount
        var typed: [Instant] = []
        while unsent > 0 || pair.client.link.queuedByteCount(on: file) > 0 {
            while unsent > 0, pair.client.link.queuedByteCount(on: file) < 1 << 20 {
                pair.send(unsent, byteCount: pieceByteCount, on: file)
                unsent -= 1
            }
            // Lines are sent at varying times between acknowledgements.
            if pair.now >= began + .milliseconds(50 + 173 * Int64(typed.count)) {
                pair.send(typed.count, byteCount: 120, on: chat)
                typed.append(pair.now)
            }
            pair.run(for: .milliseconds(1))
            pair.forgetFrames()
        }
        let took = pair.now - began
        pair.run(for: .seconds(1))
        let lines = pair.relay.deliveries.filter { $0.session == chat }
        #expect(lines.count == typed.count)
        let slowest = zip(typed, lines).map { $1.at - $0 }.max()
        #expect(try #require(slowest) < .milliseconds(100) + run.delay)
        // The path is used, except in the first seconds and where a window for each round trip is less.
        if run.delay <= .milliseconds(50) {
            #expect(took < .seconds(run.megabytes) * 11 / 10 + .seconds(2))
        }
    }
}
