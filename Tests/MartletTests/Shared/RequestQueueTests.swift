import MartletLink
import MartletWire
import Synchronization
import Testing

@testable import Martlet

@Suite("Queue of incoming requests")
struct RequestQueueTests {
    private let now = ContinuousClock.now

    private func request(_ correlation: UInt64, deadline: Duration = .seconds(10)) -> RoomRequest {
        let room = RoomCore(
            id: RoomID(rawValue: 1), name: RoomName("lobby"), account: AccountName("alice"),
            device: DeviceID(rawValue: 1), configuration: Client.Configuration(),
            source: CounterSource(first: 1), outbox: nil, mailbox: Mailbox(loop: .shared))
        return RoomRequest(
            .init(session: 1, correlation: correlation), MethodName("roll")!, from: AccountName("bob"), nil,
            deadline: now + deadline, in: room)
    }

    @Test func `requests are taken in order, without those past their deadlines`() {
        var queue = RequestQueue()
        for waiting in [request(1, deadline: .seconds(1)), request(2), request(3)] {
            let surplus = queue.append(waiting, now: now)
            #expect(surplus?.id == nil)
        }
        queue.cancel(.init(session: 2, correlation: 2))
        queue.cancel(.init(session: 1, correlation: 3))
        let taken = (1...2).map { _ in queue.popFirst(now: now + .seconds(2))?.id.correlation }
        #expect(taken == [2, nil])
        #expect(queue.isEmpty)
    }

    @Test func `a request beyond the bound is returned, unless a queued one is past its deadline`() {
        var queue = RequestQueue()
        for number in 1...UInt64(RequestQueue.maxWaitingRequests) {
            _ = queue.append(request(number, deadline: .seconds(number == 1 ? 1 : 10)), now: now)
        }
        let surplus = queue.append(request(1000), now: now)
        #expect(surplus?.id.correlation == 1000)
        let later = queue.append(request(1001), now: now + .seconds(2))
        #expect(later?.id == nil)
    }
}
