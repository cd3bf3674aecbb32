import MartletTransport

/// A block of lines at the end of standard output that is redrawn in place.
package final class LiveBlock: Sendable {
    private let shownCount = Guarded(0)
    private let showsColors = Terminal.showsColors

    package init() {}

    /// Replaces the lines.
    package func show(_ lines: [StyledLine]) {
        shownCount.withLock { count in
            let text =
                Self.erase(count) + lines.map { "\($0.sequences(showsColors: showsColors))\u{1B}[K\n" }.joined()
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
