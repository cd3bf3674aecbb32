/// The bodies of a session's queued frames, in the batches in which they were queued.
///
/// Messages to all members of a room are one array, and each member's queue refers to a part of it. A batch is removed
/// with the last of its frames.
package struct SendBatches: Sendable {
    struct Batch: Sendable {
        /// The sequence of the first frame.
        let first: UInt64
        let bodies: Bodies

        /// The bodies of the frames from a sequence on.
        func bodies(from sequence: UInt64) -> Bodies {
            guard case .messages(let messages) = bodies, sequence > first else { return bodies }
            return .messages(messages.dropFirst(Int(sequence - first)))
        }
    }

    package enum Bodies: Sendable {
        case fragments(EncodedBody)
        /// Messages of one frame each.
        case messages(ArraySlice<LogEntry>)
    }

    private var batches = Deque<Batch>()

    var isEmpty: Bool { batches.isEmpty }
    var count: Int { batches.count }

    subscript(index: Int) -> Batch { batches[index] }

    /// Adds a batch behind all others; `first` is the sequence of its first frame.
    mutating func append(_ bodies: Bodies, first: UInt64) {
        batches.append(Batch(first: first, bodies: bodies))
    }

    /// The index of the batch that contains a queued frame.
    func index(of sequence: UInt64) -> Int {
        var low = 0
        var high = batches.count
        // Most requests are for the newest batch.
        if high > 0, batches[high - 1].first <= sequence { low = high - 1 }
        while high - low > 1 {
            let middle = (low + high) / 2
            if batches[middle].first <= sequence { low = middle } else { high = middle }
        }
        return low
    }

    /// The body of a frame, and the index of its fragment.
    func body(of sequence: UInt64) -> (body: EncodedBody, fragment: Int) {
        let batch = batches[index(of: sequence)]
        let index = Int(sequence - batch.first)
        return switch batch.bodies {
        case .fragments(let body): (body, index)
        case .messages(let messages): (messages[messages.startIndex + index].body, 0)
        }
    }

    /// Removes the batches whose frames all come before `base`; `end` is one past the last queued frame.
    mutating func drop(before base: UInt64, end: UInt64) {
        while !batches.isEmpty, (batches.count > 1 ? batches[1].first : end) <= base { batches.removeFirst(1) }
    }
}
