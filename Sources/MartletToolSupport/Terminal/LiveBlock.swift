import Foundation
import MartletTransport

/// A few lines on standard output that are drawn over again and again, below what was printed before.
package final class LiveBlock: Sendable {
    private let shownCount = Guarded(0)
    private let showsColours = Terminal.showsColours

    package init() {}

    /// Shows these lines in place of the last ones.
    package func show(_ lines: [StyledLine]) {
        shownCount.withLock { count in
            let text =
                Self.erase(count) + lines.map { "\($0.sequences(showsColours: showsColours))\u{1B}[K\n" }.joined()
            try? Output.write(Array(text.utf8), to: STDOUT_FILENO)
            count = lines.count
        }
    }

    /// Removes the lines.
    package func clear() {
        shownCount.withLock { count in
            if count > 0 { try? Output.write(Array(Self.erase(count).utf8), to: STDOUT_FILENO) }
            count = 0
        }
    }

    private static func erase(_ count: Int) -> String { count > 0 ? "\u{1B}[\(count)F\u{1B}[J" : "" }
}
