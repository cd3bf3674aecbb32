import Testing

@testable import Martlet

@Suite("A room's outgoing queue")
struct OutgoingQueueTests {
    private func queue(maxMessages: Int = 2, maxBytes: Int = 1000) -> OutgoingQueue {
        OutgoingQueue(
            maxPendingMessages: maxMessages, maxPendingByteCount: maxBytes, source: CounterSource(first: 1))
    }

    private func message(_ text: String) throws -> OutgoingMessage { try OutgoingMessage(text: text) }

    private func kind(_ withdrawal: OutgoingQueue.Withdrawal) -> String {
        switch withdrawal {
        case .waiting: "waiting"
        case .arriving(let counter): "arriving \(counter)"
        case .tooLate: "too late"
        }
    }

    @Test func `messages get ascending counters and count until they are released`() throws {
        var queue = queue()
        let hello = try message("hello")
        #expect(queue.hasRoom(for: hello))
        let counters = [queue.append(hello, nil), queue.append(hello, nil)]
        #expect(counters == [1, 2])
        #expect(!queue.hasRoom(for: hello))
        let arrived = queue.takeArriving().map(\.counter)
        #expect(arrived == counters)
        #expect(!queue.hasRoom(for: hello))
        queue.release(byteCount: hello.content.byteCount)
        #expect(queue.hasRoom(for: hello))
        #expect(queue.pendingCount == 1)
        #expect(queue.pendingByteCount == hello.content.byteCount)
    }

    @Test(arguments: [0, -1])
    func `a bound of less than one message counts as one`(bound: Int) throws {
        var queue = queue(maxMessages: bound)
        let hello = try message("hello")
        #expect(queue.hasRoom(for: hello))
        _ = queue.append(hello, nil)
        #expect(!queue.hasRoom(for: hello))
    }

    @Test func `nobody passes those who wait, though it would fit`() throws {
        var queue = queue(maxMessages: 10, maxBytes: 100)
        let large = try message(String(repeating: "x", count: 80))
        let small = try message("x")
        _ = queue.append(large, nil)
        _ = queue.wait(large, OneShot())
        #expect(!queue.hasRoom(for: small))
        let tooEarly = queue.popAdmissible()
        #expect(tooEarly?.message == nil)
        queue.release(byteCount: large.content.byteCount)
        let admitted = queue.popAdmissible()
        #expect(admitted?.message == large)
    }

    @Test func `a message can be taken back while it waits or arrives, not after`() throws {
        var queue = queue(maxMessages: 1)
        let shots = [OneShot<Sending>(), OneShot<Sending>(), OneShot<Sending>()]
        let hello = try message("hello")
        _ = queue.append(hello, shots[0])
        let ticket = queue.wait(hello, shots[1])
        _ = queue.wait(hello, shots[2])
        let waited = kind(queue.withdraw(shots[1], ticket: ticket))
        #expect(waited == "waiting")
        #expect(queue.waiting.count == 1)
        #expect(queue.waiting.first?.shot === shots[2])
        let arrived = kind(queue.withdraw(shots[0], ticket: nil))
        #expect(arrived == "arriving 1")
        #expect(queue.pendingCount == 0)
        #expect(queue.pendingByteCount == 0)
        let again = kind(queue.withdraw(shots[0], ticket: nil))
        #expect(again == "too late")
    }

    // W-60
    @Test func `rooms share the device's counters without ever sharing one`() throws {
        let source = CounterSource(first: 10)
        var queues = [0, 1].map { _ in
            OutgoingQueue(maxPendingMessages: 1000, maxPendingByteCount: 100_000, source: source)
        }
        var counters: [UInt64] = []
        for number in 0..<300 { counters.append(queues[number % 2].append(try message("\(number)"), nil)) }
        #expect(Set(counters).count == 300)
        #expect(counters.min() == 10)
        for queue in queues {
            let own = queue.arriving.map(\.counter)
            #expect(own == own.sorted())
        }
    }
}
