import MartletLink

/// The calls of the public API in progress, and their limits.
final class LifeCalls: @unchecked Sendable {  // used by the thread that runs the world
    /// A call in progress.
    private struct Call {
        let name: StaticString
        let device: Int
        let begun: Instant
        /// The maximum duration; nil if the call may wait for the relay.
        let limit: Duration?
        var isReported = false
    }

    private let ledger: Ledger
    private var calls: [Int: Call] = [:]
    /// The number of calls so far.
    private(set) var count = 0

    init(_ ledger: Ledger) {
        self.ledger = ledger
    }

    func begin(_ name: StaticString, of device: Int, within limit: Duration?) -> Int {
        count += 1
        calls[count] = Call(name: name, device: device, begun: ledger.now, limit: limit)
        ledger.note(device, name)
        return count
    }

    func end(_ number: Int) {
        guard let call = calls.removeValue(forKey: number) else { return }
        ledger.note(call.device, "the call ends")
        checkLimit(of: call)
    }

    /// Reports the calls in progress that exceed their limits.
    func checkLimits() {
        for number in calls.keys.sorted() {
            guard let call = calls[number], !call.isReported else { continue }
            calls[number]!.isReported = checkLimit(of: call)
        }
    }

    /// Reports the calls that are in progress although all clients have ended.
    func checkThatAllEnded() {
        for number in calls.keys.sorted() {
            guard let call = calls[number] else { continue }
            let age = ledger.now - call.begun
            ledger.fail(.everyCallEnds, "device \(call.device): \(call.name), begun \(age) before")
        }
    }

    @discardableResult
    private func checkLimit(of call: Call) -> Bool {
        let age = ledger.now - call.begun
        guard !call.isReported, let limit = call.limit, age > limit else { return false }
        ledger.fail(.everyCallEnds, "device \(call.device): \(call.name) takes \(age), more than \(limit)")
        return true
    }
}
