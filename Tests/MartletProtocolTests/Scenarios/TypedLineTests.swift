import MartletWire
import Testing

@testable import MartletProtocol

/// A typed line and a file on one link whose path takes 1 MB/s out of a buffer without a bound, as a stream's do.
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
    func `a typed line is there within 100 ms and the delay while a file is on its way`(run: Run) throws {
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
            // Lines fall anywhere between the ticks of acknowledgements.
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
        // The path is used, and not only left free: but for the first seconds or where a window a round trip is less.
        if run.delay <= .milliseconds(50) {
            #expect(took < .seconds(run.megabytes) * 11 / 10 + .seconds(2))
        }
    }
}
