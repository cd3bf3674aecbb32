import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Receipts, transient frames and requests between members.
@Suite struct RoomMembersTests {
    private func request(
        _ correlation: UInt64, to recipient: AccountName? = nil, deadline: Duration = .seconds(10),
        from sender: AccountName? = nil
    ) -> Request {
        Request(correlation: correlation, method: .locate, deadline: deadline, recipient: recipient, sender: sender)
    }

    private func answer(_ to: String, _ correlation: UInt64, _ status: ErrorCode = .none) -> RoomScript.Effect {
        .sent(to, .response(Response(correlation: correlation, status: status)))
    }

    private func receipt(
        _ to: String, _ mark: Receipt.Mark, _ upTo: UInt64, _ who: AccountName, device: UInt64? = 1
    ) -> RoomScript.Effect {
        let device = device.map { DeviceID(rawValue: $0) }
        return .sent(to, .receipt(.progress(Receipt.Progress(mark, upTo: upTo, sender: who, device: device))))
    }

    // MARK: Receipts

    //
    @Test func `a receipt is sent to all devices of the authors of the messages since the previous one only`() {
        var script = RoomScript("alice", "alice/2", "bob", "carol")
        script.fill("alice", 1...2)
        script.fill("bob", 1...1)
        script.fill("alice/2", 1...1)
        script.with("carol") { $0.receive(.progressed($1, Receipt.Progress(.delivered, upTo: 2))) }
        #expect(script.drain() == ["alice", "alice/2"].map { receipt($0, .delivered, 2, .carol) })
        script.with("carol") { $0.receive(.progressed($1, Receipt.Progress(.read, upTo: 4))) }
        #expect(
            script.drain()
                == ["alice", "alice/2", "bob"].map { receipt($0, .read, 4, .carol) })
        // A read message counts as delivered, and lower receipts are not sent.
        script.with("carol") { $0.receive(.progressed($1, Receipt.Progress(.delivered, upTo: 4))) }
        script.with("carol") { $0.receive(.progressed($1, Receipt.Progress(.read, upTo: 3))) }
        #expect(script.drain().isEmpty)
    }

    //
    @Test func `messages of several authors in three appends → a receipt for any range reaches the range's authors`() {
        let authors = ["alice", "alice", "bob", "alice", "dave", "dave", "alice"]
        for first in authors.indices {
            for last in first..<authors.count {
                var script = RoomScript("alice", "bob", "carol", "dave")
                for (index, author) in authors.enumerated() {
                    script.post(author, UInt64(index) + 1)
                    guard [3, 4, 6].contains(index) else { continue }
                    _ = script.drain()
                    script.store()
                    _ = script.drain()
                }
                for offset in [first, last + 1] where offset > 0 {
                    _ = script.drain()
                    script.with("carol") {
                        $0.receive(.progressed($1, Receipt.Progress(.delivered, upTo: UInt64(offset))))
                    }
                }
                let expected = Set(authors[first...last]).sorted()
                #expect(script.drain() == expected.map { receipt($0, .delivered, UInt64(last) + 1, .carol) })
            }
        }
    }

    //
    @Test func `progress → passed to the store with the next append, after 5 s, or before the room is evicted`() {
        var script = RoomScript("alice", "bob")
        script.fill("alice", 1...9)
        func saved(_ upTo: UInt64) -> RoomScript.Effect {
            .saveProgress(["bob": AccountProgress(delivered: upTo, read: 0)])
        }
        func progress(_ script: inout RoomScript, _ upTo: UInt64) -> [RoomScript.Effect] {
            script.with("bob") { $0.receive(.progressed($1, Receipt.Progress(.delivered, upTo: upTo))) }
            return script.drain()
        }
        #expect(progress(&script, 1) == [receipt("alice", .delivered, 1, .bob)])
        #expect(script.rooms.deadline == script.now + RoomReceipts.maxSaveDelay)
        script.post("alice", 10)
        #expect(script.drain() == [.append([10]), saved(1)])
        script.store()
        _ = script.drain()
        _ = progress(&script, 2)
        script.now = script.now + RoomReceipts.maxSaveDelay
        script.rooms.deadlinePassed(now: script.now)
        #expect(script.drain() == [saved(2)] && script.rooms.deadline == nil)
        _ = progress(&script, 3)
        script.with("alice") { $0.receive(.leave($1)) }
        script.with("bob") { $0.receive(.leave($1)) }
        #expect(script.drain().contains(saved(3)) && script.rooms.count == 0)
    }

    //
    @Test func `a room that is loaded with progress → the member that joins is notified of it`() {
        var script = RoomScript("alice", snapshot: nil)
        script.rooms.loaded(
            script.room, RoomSnapshot(lastOffset: 9, progress: [.bob: AccountProgress(delivered: 4, read: 4)]))
        #expect(script.drain().contains(receipt("alice", .read, 4, .bob, device: nil)))
    }

    //
    @Test func `receipts of the author's account → read only, receipts beyond the head → clamped`() {
        var script = RoomScript("alice", "alice/2", "bob")
        script.fill("alice", 1...2)
        script.with("alice/2") { $0.receive(.progressed($1, Receipt.Progress(.delivered, upTo: 2))) }
        #expect(script.drain().isEmpty)
        script.with("alice/2") { $0.receive(.progressed($1, Receipt.Progress(.read, upTo: 2))) }
        #expect(script.drain() == [receipt("alice", .read, 2, .alice, device: 2)])
        script.with("bob") { $0.receive(.progressed($1, Receipt.Progress(.read, upTo: .max))) }
        #expect(script.drain() == ["alice", "alice/2"].map { receipt($0, .read, 2, .bob) })
        script.with("bob") { $0.receive(.progressed($1, Receipt.Progress(.delivered, upTo: 0))) }
        #expect(script.drain().isEmpty)
    }

    //
    @Test func `receipts of messages no longer in memory are sent to a member that joins later`() {
        var script = RoomScript("alice", "bob", "carol", snapshot: RoomSnapshot(lastOffset: 50, firstOffset: 1))
        script.with("carol") { $0.receive(.progressed($1, Receipt.Progress(.delivered, upTo: 40))) }
        script.with("bob") { $0.receive(.progressed($1, Receipt.Progress(.read, upTo: 30))) }
        #expect(script.drain().isEmpty)
        script.join("dave", cursor: 50)
        #expect(
            script.drain().about("dave").dropFirst() == [
                receipt("dave", .delivered, 40, .carol, device: nil),
                receipt("dave", .delivered, 30, .bob, device: nil), receipt("dave", .read, 30, .bob, device: nil),
            ])
    }

    //
    @Test func `a member that joins later receives the highest receipts, up to the bound`() {
        var script = RoomScript("alice", snapshot: RoomSnapshot(lastOffset: 9000))
        for number in 1...300 {
            script.join("reader\(number)", cursor: 9000)
            _ = script.drain()
            script.with("reader\(number)") {
                $0.receive(.progressed($1, Receipt.Progress(.read, upTo: UInt64(number))))
            }
            script.with("reader\(number)") { $0.receive(.leave($1)) }
        }
        _ = script.drain()
        script.join("bob", cursor: 9000)
        let told = script.drain().about("bob").dropFirst()
        #expect(told.count == 2 * RoomMembers.maxPresenceCount)
        #expect(told.first == receipt("bob", .delivered, 300, .named("reader300"), device: nil))
    }

    // MARK: Transient frames

    //
    @Test func `typing is sent to members that are neither away nor suspended, with its sender`() {
        var script = RoomScript("alice", "bob", "carol", "dave")
        script.with("carol") { $0.receive(.setSuspended($1, true, cursor: nil)) }
        script.with("dave") { $0.receive(.disconnected($1)) }
        _ = script.drain()
        script.with("alice") { $0.receive(.broadcast($1, Transient(.typing(true), sender: .bob))) }
        #expect(script.drain() == [.sentTransient("bob", .transient(Transient(.typing(true), sender: .alice)))])
        script.with("alice") { $0.receive(.broadcast($1, Transient(.presence(.left)))) }
        #expect(script.drain().isEmpty)
        // Presence is sent to suspended members too.
        script.join("erin")
        let erin = Transient(.presence(.online), sender: .named("erin"))
        #expect(script.drain().about("carol") == [.sentTransient("carol", .transient(erin))])
    }

    //
    @Test func `a member that joins is sent the accounts that are away, each once`() {
        var script = RoomScript("alice", "bob", "bob/2", "carol", "carol/2")
        for who in ["bob", "bob/2", "carol"] { script.with(who) { $0.receive(.disconnected($1)) } }
        _ = script.drain()
        script.join("dave")
        let away = Transient(.presence(.away), sender: .bob)
        #expect(script.drain().about("dave").dropFirst() == [.sentTransient("dave", .transient(away))])
    }

    private func presence(_ to: String, _ who: AccountName, _ presence: Transient.Presence) -> RoomScript.Effect {
        .sentTransient(to, .transient(Transient(.presence(presence), sender: who)))
    }

    //
    @Test func `a member that joins is sent each of 40 accounts that are away, four at a time`() {
        var script = RoomScript("alice")
        let names = (1...40).map { "member\($0)" }
        for name in names { script.join(name) }
        _ = script.drain()
        for name in names { script.with(name) { $0.receive(.disconnected($1)) } }
        _ = script.drain()
        script.behind = ["dave"]
        script.join("dave")
        #expect(script.drain().about("dave").count == 1)
        var told: [RoomScript.Effect] = []
        for _ in 1...10 {
            script.with("dave") { $0.receive(.sendPending($1)) }
            let step = script.drain().about("dave")
            #expect(step.count == PendingChanges.maxPresenceStepCount)
            told += step
        }
        #expect(told == names.map { presence("dave", .named($0), .away) })
        script.with("dave") { $0.receive(.sendPending($1)) }
        #expect(script.drain().isEmpty)
    }

    //
    @Test func `a new member without a connection is sent the presence of the accounts when it has one`() {
        var script = RoomScript("alice", "bob", "carol")
        for who in ["bob", "carol"] { script.with(who) { $0.receive(.disconnected($1)) } }
        _ = script.drain()
        script.behind = ["dave"]
        script.join("dave")
        _ = script.drain()
        script.behind = []
        script.with("dave") { $0.receive(.disconnected($1)) }
        script.with("dave") { $0.receive(.sendPending($1)) }
        script.with("carol") { $0.reconnect($1) }
        #expect(script.drain().about("dave").isEmpty)
        script.with("dave") { $0.reconnect($1) }
        #expect(
            script.drain().about("dave") == [presence("dave", .bob, .away), presence("dave", .carol, .online)])
    }

    //
    @Test func `a member that has a connection again is sent the presence that was reported without one`() {
        var script = RoomScript("alice", "bob", "carol", "dave")
        script.now = script.now + .seconds(60)
        let lastReceived = script.now
        script.with("alice") { $0.receive(.disconnected($1)) }
        script.with("bob") { $0.receive(.disconnected($1)) }
        script.with("carol") { $0.receive(.leave($1)) }
        _ = script.drain()
        script.join("erin")
        _ = script.drain()
        script.with("bob") { $0.reconnect($1) }
        _ = script.drain()
        script.with("alice") { $0.receive(.reconnected($1, lastReceived: lastReceived)) }
        // The latest report first. Its own presence is not sent, nor that of dave, which has not changed.
        #expect(
            script.drain().about("alice") == [
                presence("alice", .bob, .online), presence("alice", .named("erin"), .online),
                presence("alice", .carol, .left),
            ])
        script.with("alice") { $0.receive(.sendPending($1)) }
        #expect(script.drain().isEmpty)
    }

    //
    @Test func `a member with a new connection is sent reports of the last ten seconds before the last bytes`() {
        var script = RoomScript("alice", "bob", "carol")
        for (name, after) in [("bob", 60), ("carol", 1)] as [(String, Int)] {
            script.now = script.now + .seconds(after)
            script.with(name) { $0.receive(.disconnected($1)) }
            #expect(script.drain().about("alice").count == 1)
        }
        let lastReceived = script.now + PresenceReports.overlap
        // Both connections of the link exist at once.
        script.with("alice") { $0.receive(.reconnected($1, lastReceived: lastReceived)) }
        #expect(script.drain() == [presence("alice", .carol, .away)])
    }

    // MARK: Requests

    // S-54, R-41
    @Test func `a request is forwarded to its recipient, and its response has the requester's correlation`() {
        var script = RoomScript("alice", "bob", "carol")
        let now = script.now
        script.with("alice") { $0.receive(.request($1, request(77, to: .bob, from: .carol)), now: now) }
        #expect(script.drain() == [.sent("bob", .request(request(1, to: .bob, from: .alice)))])
        // Only the recipient may respond, and once.
        script.with("carol") { $0.receive(.respond($1, Response(correlation: 1))) }
        script.with("bob") { $0.receive(.respond($1, Response(correlation: 2))) }
        script.with("bob") { $0.respond($1, Response(correlation: 1)) }
        #expect(script.drain().isEmpty)
        script.with("bob") { $0.receive(.respond($1, Response(correlation: 1, status: .refused, reason: "no"))) }
        script.with("bob") { $0.receive(.respond($1, Response(correlation: 1))) }
        #expect(
            script.drain() == [
                .sent("alice", .response(Response(correlation: 77, status: .refused, reason: "no")))
            ])
        #expect(script.rooms.deadline == nil)
    }

    @Test func `a request without a recipient is passed to the relay`() {
        var script = RoomScript("alice")
        let now = script.now
        script.with("alice") { $0.receive(.request($1, request(5)), now: now) }
        #expect(script.drain() == [.asked("alice", request(1, from: .alice))])
        script.with("alice") { $0.receive(.respond($1, Response(correlation: 1))) }
        #expect(script.drain().isEmpty)
        script.with("alice") { $0.respond($1, Response(correlation: 1)) }
        #expect(script.drain() == [answer("alice", 5)])
    }

    //
    @Test func `a request to an account is sent to its latest device that can respond`() {
        var script = RoomScript("alice", "bob", "bob/2", "bob/3", "bob/4")
        let now = script.now
        script.with("bob/3") { $0.receive(.setSuspended($1, true, cursor: nil)) }
        script.with("bob/4") { $0.receive(.disconnected($1)) }
        _ = script.drain()
        script.with("alice") { $0.receive(.request($1, request(1, to: .bob)), now: now) }
        #expect(script.drain().about("bob/2").count == 1)
        script.with("bob/2") { $0.receive(.leave($1)) }
        _ = script.drain()
        script.with("alice") { $0.receive(.request($1, request(2, to: .bob)), now: now) }
        #expect(script.drain().about("bob").count == 1)
        script.with("bob") { $0.receive(.request($1, request(3, to: .bob)), now: now) }
        script.with("alice") { $0.receive(.request($1, request(4, to: .named("nobody"))), now: now) }
        #expect(script.drain() == [answer("bob", 3, .noRecipient), answer("alice", 4, .noRecipient)])
    }

    //
    @Test func `requests expire in the order of their deadlines, after at most five minutes`() {
        var script = RoomScript("alice", "bob")
        let now = script.now
        script.with("alice") { $0.receive(.request($1, request(1, to: .bob, deadline: .seconds(1000))), now: now) }
        script.with("alice") { $0.receive(.request($1, request(2, to: .bob, deadline: .seconds(20))), now: now) }
        script.with("bob") { $0.receive(.request($1, request(3, to: .alice, deadline: .seconds(10))), now: now) }
        _ = script.drain()
        #expect(script.rooms.deadline == now + .seconds(10))
        script.rooms.deadlinePassed(now: now + .seconds(9))
        #expect(script.drain().isEmpty)
        script.rooms.deadlinePassed(now: now + .seconds(20))
        #expect(script.drain() == [answer("bob", 3, .deadlineExceeded), answer("alice", 2, .deadlineExceeded)])
        #expect(script.rooms.deadline == now + .seconds(300))
        script.rooms.deadlinePassed(now: now + .seconds(300))
        #expect(script.drain() == [answer("alice", 1, .deadlineExceeded)])
        #expect(script.rooms.deadline == nil)
        script.with("bob") { $0.receive(.respond($1, Response(correlation: 1))) }
        #expect(script.drain().isEmpty)
    }

    // S-56
    @Test func `a request can be cancelled by its requester only`() {
        var script = RoomScript("alice", "bob")
        let now = script.now
        script.with("alice") { $0.receive(.request($1, request(9, to: .bob)), now: now) }
        script.with("alice") { $0.receive(.request($1, request(9, to: .bob)), now: now) }
        script.with("alice") { $0.receive(.request($1, request(10)), now: now) }
        _ = script.drain()
        script.with("bob") { $0.receive(.cancel($1, correlation: 9)) }
        script.with("alice") { $0.receive(.cancel($1, correlation: 11)) }
        #expect(script.drain().isEmpty)
        // Of two requests with one correlation the older one is cancelled first.
        script.with("alice") { $0.receive(.cancel($1, correlation: 9)) }
        #expect(script.drain() == [.sent("bob", .cancelRequest(CancelRequest(correlation: 1)))])
        script.with("alice") { $0.receive(.cancel($1, correlation: 9)) }
        script.with("alice") { $0.receive(.cancel($1, correlation: 10)) }
        #expect(script.drain() == [.sent("bob", .cancelRequest(CancelRequest(correlation: 2)))])
        #expect(script.rooms.deadline == nil)
    }

    //
    @Test func `a member leaves → its requests are cancelled, those to it get noRecipient, in order`() {
        var script = RoomScript("alice", "bob", "carol")
        let now = script.now
        for number in 1...20 as ClosedRange<UInt64> {
            script.with("alice") { $0.receive(.request($1, request(number, to: .bob)), now: now) }
            script.with("carol") { $0.receive(.request($1, request(100 + number, to: .bob)), now: now) }
            script.with("bob") { $0.receive(.request($1, request(200 + number, to: .carol)), now: now) }
        }
        _ = script.drain()
        script.with("bob") { $0.receive(.leave($1)) }
        let effects = script.drain()
        let cancels = (1...20).map {
            RoomScript.Effect.sent("carol", .cancelRequest(CancelRequest(correlation: $0 * 3)))
        }
        #expect(effects.filter(cancels.contains) == cancels)
        #expect(
            effects.filter { if case .sent(_, .response) = $0 { true } else { false } }
                == (1...20).flatMap { [answer("alice", $0, .noRecipient), answer("carol", 100 + $0, .noRecipient)] })
        #expect(script.rooms.deadline == nil)
    }

    // S-7, S-58, R-147
    @Test func `a close behind a request to the relay -> the answer, then the close`() {
        var script = RoomScript("alice", "bob")
        let now = script.now
        script.with("alice") { $0.receive(.request($1, request(5)), now: now) }
        script.with("alice") { $0.receive(.request($1, request(6, to: .bob)), now: now) }
        let member = script.handles["alice"]
        script.with("alice") { $0.receive(.close($1)) }
        let closing = script.drain()
        #expect(!closing.contains(.closed("alice")))
        #expect(closing.contains(.sent("bob", .cancelRequest(CancelRequest(correlation: 2)))))
        if let member { script.rooms.respond(member, Response(correlation: 1)) }
        #expect(script.drain().about("alice") == [answer("alice", 5), .closed("alice")])
        #expect(script.rooms.deadline == nil)
    }

    // S-55, R-147
    @Test func `a close behind a request that the relay does not answer -> deadlineExceeded, then the close`() {
        var script = RoomScript("alice", "bob")
        let now = script.now
        script.with("alice") { $0.receive(.request($1, request(5)), now: now) }
        script.with("alice") { $0.receive(.close($1)) }
        #expect(!script.drain().contains(.closed("alice")))
        script.now = now + .seconds(10)
        script.rooms.deadlinePassed(now: script.now)
        #expect(script.drain().about("alice") == [answer("alice", 5, .deadlineExceeded), .closed("alice")])
    }

    //
    @Test func `requests beyond a member's bound → tooManyRequests until one ends`() {
        var script = RoomScript("alice", "bob")
        let now = script.now
        for number in 1...UInt64(RoomRequests.maxCountPerMember) {
            script.with("alice") { $0.receive(.request($1, request(number, to: .bob)), now: now) }
        }
        _ = script.drain()
        script.with("alice") { $0.receive(.request($1, request(999, to: .bob)), now: now) }
        #expect(script.drain() == [answer("alice", 999, .tooManyRequests)])
        script.with("bob") { $0.receive(.respond($1, Response(correlation: 3))) }
        script.with("alice") { $0.receive(.request($1, request(1000, to: .bob)), now: now) }
        #expect(script.drain().about("bob").count == 1)
    }

    //
    @Test func `a read receipt is sent to the other devices of its account`() {
        var script = RoomScript("alice", "alice/2", "bob")
        script.fill("bob", 1...2)
        script.with("alice") { $0.receive(.progressed($1, Receipt.Progress(.delivered, upTo: 2))) }
        #expect(script.drain().about("alice/2").isEmpty)
        script.with("alice") { $0.receive(.progressed($1, Receipt.Progress(.read, upTo: 2))) }
        let read = Receipt.progress(Receipt.Progress(.read, upTo: 2, sender: .alice, device: DeviceID(rawValue: 1)))
        let effects = script.drain()
        #expect(effects.about("alice/2") == [.sent("alice/2", .receipt(read))])
        #expect(effects.about("bob") == [.sent("bob", .receipt(read))])
        #expect(effects.about("alice").isEmpty)
    }

    @Test func `a member that joins held back receives messages after its link has released it`() {
        var script = RoomScript("alice")
        script.fill("alice", 1...3)
        script.join("bob", isBacklogged: true)
        #expect(script.drain().offsets(to: "bob").isEmpty)
        script.with("bob") { $0.receive(.setBacklogged($1, false)) }
        #expect(script.drain().offsets(to: "bob") == [1, 2, 3])
    }
}
