/// Who wants to be called once when a turn of a loop ends, before its connections are flushed.
public protocol TurnEndHandler: AnyObject {
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

/// Two arrays that change places, so that what is added while draining waits for the next drain,
/// and no drain allocates.
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
