import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

/// Members that fill the queues of others.
@Suite struct FullQueueTests {
    private func request(_ correlation: UInt64) -> Request {
        Request(correlation: correlation, method: .locate, deadline: .seconds(60), recipient: .bob)
    }

    private func isReset(_ peer: RawPeer) -> Bool {
        peer.closedAt != nil || peer.log.frames.contains { $0.type == .reset }
    }

    // Specs/hostile.md row 46
    @Test func `5,000 requests cancelled at once do not reset a recipient that acknowledges late`() throws {
        let stage = RelayStage()
        let mallory = stage.member("mallory", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        for first in stride(from: UInt64(1), to: 5000, by: 50) {
            var bytes: [UInt8] = []
            for correlation in first..<first + 50 {
                bytes += mallory.maker.frame(request(correlation), on: .first)
                bytes += mallory.maker.frame(CancelRequest(correlation: correlation), on: .first)
            }
            mallory.send(bytes)
            mallory.acknowledgeAll()
            stage.run(for: .milliseconds(30))
            let queued = try #require(stage.relayLink(of: bob, { $0.backlog }))
            #expect(queued.requests <= RelayLink.maxRequestByteCount)
            #expect(queued.others < RelayLink.maxOthersByteCount)
        }
        #expect(!isReset(bob))
        #expect(!isReset(mallory))
        let statuses = Set(mallory.log.all(Response.self).map(\.status))
        #expect(statuses.isSubset(of: [.tooManyRequests, .serverBusy]) && !statuses.isEmpty)
        let passed = Set(bob.log.all(Request.self).map(\.correlation))
        #expect(passed.isSuperset(of: bob.log.all(CancelRequest.self).map(\.correlation)))
        // When the recipient reads on, each forwarded request is cancelled, and others are forwarded.
        for _ in 0..<20 {
            bob.acknowledgeAll()
            stage.run(for: .milliseconds(30))
        }
        #expect(Set(bob.log.all(CancelRequest.self).map(\.correlation)) == passed)
        mallory.say(request(9999), on: .first)
        #expect(bob.log.all(Request.self).count == passed.count + 1)
        #expect(stage.relayLink(of: bob, { $0.hasPending }) == false)
    }

    // Specs/hostile.md row 47
    @Test func `6,000 receipts raised by one do not reset an author that reads late and receives the last`() throws {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        let readers = ["bob", "carol", "dave"].map { stage.member($0, of: .lobby) }
        for counter in UInt64(1)...1000 {
            alice.text("x", counter: counter)
            for peer in [alice] + readers where counter % 100 == 0 { peer.acknowledgeAll() }
        }
        stage.run(for: .seconds(1))
        alice.isReading = false
        for offset in UInt64(1)...1000 {
            for reader in readers {
                for mark in [Receipt.Mark.delivered, .read] {
                    reader.say(Receipt.progress(Receipt.Progress(mark, upTo: offset)), on: .first)
                }
            }
            let others = try #require(stage.relayLink(of: alice, { $0.backlog.others }))
            try #require(others < RelayLink.maxOthersByteCount)
        }
        #expect(!readers.contains(where: isReset))
        alice.isReading = true
        for _ in 0..<20 {
            alice.read()
            alice.acknowledgeAll()
            stage.run(for: .milliseconds(30))
        }
        #expect(!isReset(alice))
        var highest: [AccountName: [Receipt.Mark: UInt64]] = [:]
        for case .progress(let progress) in alice.log.all(Receipt.self) {
            let sender = try #require(progress.sender)
            highest[sender, default: [:]][progress.mark] = progress.upTo
        }
        for reader in [AccountName.bob, .carol, .named("dave")] {
            #expect(highest[reader] == [.delivered: 1000, .read: 1000])
        }
        #expect(alice.log.all(Receipt.self).count < 1000)
        // Its link has no backlog, so the next receipt is sent at once.
        alice.text("x", counter: 1001)
        readers[0].say(Receipt.progress(Receipt.Progress(.delivered, upTo: 1001)), on: .first)
        let last = Receipt.Progress(.delivered, upTo: 1001, sender: .bob, device: DeviceID(rawValue: 1))
        #expect(alice.log.last(Receipt.self) == .progress(last))
    }
}
