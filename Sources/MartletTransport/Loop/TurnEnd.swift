/// An object that is called once at the end of a turn, before the connections are flushed.
package protocol TurnEndHandler: AnyObject {
    func loopTurnWillEnd()
}

final class TurnEndClosure: TurnEndHandler {
    private let work: () -> Void

    init(_ work: @escaping () -> Void) {
        self.work = work
    }

    func loopTurnWillEnd() {
        work()
    }
}

/// A list that is drained at the end of a turn. Two arrays alternate, so elements that are added during a drain wait
/// for the next one, and a drain allocates nothing.
final class TurnEndList<Element> {
    private var waiting: [Element] = []
    private var draining: [Element] = []

    var isEmpty: Bool { waiting.isEmpty }

    func append(_ element: Element) {
        waiting.append(element)
    }

    func drain(_ body: (Element) -> Void) {
        swap(&waiting, &draining)
        for index in draining.indices { body(draining[index]) }
        draining.removeAll(keepingCapacity: true)
    }
}
