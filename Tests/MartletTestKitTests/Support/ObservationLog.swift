import MartletTestKit
import Synchronization

/// Observations with their virtual times.
final class ObservationLog: Sendable {
    private let world: TestWorld
    private let state = Mutex<[String]>([])

    init(_ world: TestWorld) {
        self.world = world
    }

    var lines: [String] { state.withLock { $0 } }

    func note(_ text: String) {
        state.withLock { $0.append("\(world.time): \(text)") }
    }
}
