import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Receipts and cancels that are pending for members whose links have a backlog.
@Suite struct RoomReceiptsTests {
    //
    @Test func `changed progress is taken once, and loaded progress is bounded by the log and not taken`() {
        var receipts = RoomReceipts([.alice: AccountProgress(delivered: 9, read: 4)], lastOffset: 6)
        #expect(receipts[.alice] == AccountProgress(delivered: 6, read: 4) && !receipts.hasUnsaved)
        #expect(receipts.advance(.alice, .delivered, upTo: 5) == nil && !receipts.hasUnsaved)
        #expect(receipts.advance(.bob, .read, upTo: 3) == 0)
        #expect(receipts.takeUnsaved() == [.bob: AccountProgress(delivered: 3, read: 3)])
        #expect(!receipts.hasUnsaved && receipts.takeUnsaved().isEmpty)
    }

    private func ask(_ script: inout RoomScript, _ name: String, _ correlation: UInt64) {
        let now = script.now
        let request = Request(correlation: correlation, method: .locate, deadline: .seconds(10), recipient: .bob)
        script.with(name) { $0.receive(.request($1, request), now: now) }
    }

    private func cancelled(_ to: String, _ number: UInt64) -> RoomScript.Effect {
        .sent(to, .cancelRequest(CancelRequest(correlation: number)))
    }

    private func answers(_ effects: [RoomScript.Effect], to name: String) -> [ErrorCode] {
        effects.compactMap { if case .sent(name, .response(let response)) = $0 { response.status } else { nil } }
    }

    private func sendPending(_ script: inout RoomScript, _ name: String) -> [RoomScript.Effect] {
        script.behind.remove(name)
        script.with(name) { $0.receive(.sendPending($1)) }
        return script.drain().about(name)
    }

    //
    @Test func `receipts that rise while the author's link has a backlog are sent once, with the highest`() {
        var script = RoomScript("alice", "bob", "carol")
        script.fill("alice", 1...100)
        script.behind = ["alice"]
        for offset in UInt64(1)...100 {
            for reader in ["bob", "carol"] {
                script.with(reader) { $0.receive(.progressed($1, Receipt.Progress(.delivered, upTo: offset))) }
            }
            script.with("carol") { $0.receive(.progressed($1, Receipt.Progress(.read, upTo: offset))) }
            #expect(script.drain().isEmpty)
        }
        let told = [(Receipt.Mark.delivered, AccountName.bob), (.delivered, .carol), (.read, .carol)].map {
            Receipt.progress(Receipt.Progress($0, upTo: 100, sender: $1, device: DeviceID(rawValue: 1)))
        }
        #expect(sendPending(&script, "alice") == told.map { .sent("alice", .receipt($0)) })
        #expect(sendPending(&script, "alice").isEmpty)
    }

    //
    @Test func `pending receipts of 40 accounts are sent 16 at a time`() {
        var script = RoomScript("alice")
        script.fill("alice", 1...1)
        for number in 1...40 { script.join("reader\(number)") }
        _ = script.drain()
        script.behind = ["alice"]
        for number in 1...40 {
            script.with("reader\(number)") { $0.receive(.progressed($1, Receipt.Progress(.delivered, upTo: 1))) }
        }
        #expect(script.drain().isEmpty)
        for _ in 1...2 {
            script.with("alice") { $0.receive(.sendPending($1)) }
            #expect(script.drain().count == 16)
        }
        #expect(sendPending(&script, "alice").count == 8)
    }

    //
    @Test func `a member that leaves receives no pending receipts, and neither does the next one in its slot`() {
        var script = RoomScript("alice", "bob")
        script.fill("alice", 1...1)
        script.behind = ["alice"]
        script.with("bob") { $0.receive(.progressed($1, Receipt.Progress(.delivered, upTo: 1))) }
        script.with("alice") { $0.receive(.leave($1)) }
        #expect(script.drain().about("alice").isEmpty)
        script.join("alice/2", cursor: 1)
        let receipts = script.drain().about("alice/2").dropFirst()
        let mark = Receipt.Progress(.delivered, upTo: 1, sender: .bob)
        #expect(Array(receipts) == [.sent("alice/2", .receipt(.progress(mark)))])
    }

    // Specs/hostile.md row 46
    @Test func `64 requests with pending cancels stay open, and the 65th is refused with tooManyRequests`() {
        var script = RoomScript("alice", "bob", "carol")
        script.behind = ["bob"]
        for number in UInt64(1)...64 {
            ask(&script, "alice", number)
            script.with("alice") { $0.receive(.cancel($1, correlation: number)) }
        }
        #expect(script.drain().count == 64)
        ask(&script, "alice", 65)
        ask(&script, "carol", 1)
        let effects = script.drain()
        #expect(answers(effects, to: "alice") == [.tooManyRequests])
        #expect(effects.about("bob").count == 1)
        // Sent cancels make room for further requests.
        #expect(sendPending(&script, "bob") == (1...64).map { cancelled("bob", $0) })
        ask(&script, "alice", 66)
        #expect(script.drain().about("bob").count == 1)
    }

    // R-52, Specs/hostile.md row 46
    @Test func `a cancelled request that was not forwarded has no cancel and no response`() {
        var script = RoomScript("alice", "bob")
        script.behind = ["bob"]
        ask(&script, "alice", 7)
        script.with("alice") { $0.receive(.cancel($1, correlation: 7)) }
        _ = script.drain()
        script.with("bob") { $0.receive(.respond($1, Response(correlation: 1, status: .serverBusy))) }
        #expect(script.drain().isEmpty)
        #expect(sendPending(&script, "bob").isEmpty)
        #expect(script.rooms.deadline == nil)
    }

    // S-55, R-52
    @Test func `a pending cancel is dropped at the deadline of its request`() {
        var script = RoomScript("alice", "bob")
        script.behind = ["bob"]
        ask(&script, "alice", 7)
        script.with("alice") { $0.receive(.cancel($1, correlation: 7)) }
        _ = script.drain()
        script.rooms.deadlinePassed(now: script.now + .seconds(10))
        #expect(script.drain().isEmpty)
        #expect(sendPending(&script, "bob").isEmpty)
        #expect(script.rooms.deadline == nil)
    }

    // Specs/hostile.md row 46
    @Test func `with 256 pending cancels of former members, requests to their recipient are serverBusy`() {
        var script = RoomScript("alice", "bob")
        script.behind = ["bob"]
        for visit in 1...4 {
            script.join("guest/\(visit)")
            _ = script.drain()
            for number in UInt64(1)...64 { ask(&script, "guest/\(visit)", number) }
            script.with("guest/\(visit)") { $0.receive(.leave($1)) }
        }
        _ = script.drain()
        ask(&script, "alice", 1)
        #expect(answers(script.drain(), to: "alice") == [.serverBusy])
        #expect(sendPending(&script, "bob").count == 256)
        ask(&script, "alice", 2)
        #expect(script.drain().about("bob").count == 1)
    }
}
