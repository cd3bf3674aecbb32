import MartletLink
import MartletTransport

/// The free space of the file system of a relay's store, and the part of it that is reserved.
///
/// Attachments do not use the reserve, which remains for rooms. The last quarter of it remains for the removal of
/// messages, so that a store with a retention always has room to work (Specs/hostile.md row 97).
public final class DiskSpace: Sendable {
    /// The state of the free space.
    public enum Level: String, Sendable, Comparable, CaseIterable {
        /// The reserve is used up to its last quarter. Messages are refused with `storeUnavailable`.
        case exhausted
        /// The reserve is in use. Attachments are refused with `attachmentsFull`.
        case reserved
        /// Less than twice the reserve is free.
        case low
        /// More is free.
        case ample

        /// Returns whether there is less free space.
        public static func < (left: Self, right: Self) -> Bool {
            left != right && allCases.first { $0 == left || $0 == right } == left
        }
    }

    /// The maximum reserve by default, which attachments leave free, in bytes. The default is an eighth of the file
    /// system.
    public static let maxDefaultReserveByteCount: UInt64 = 1 << 30
    /// The interval at which a relay measures the free space.
    static let interval: Duration = .seconds(1)

    private let reserve: UInt64?
    private let measure: @Sendable () -> (free: UInt64, total: UInt64)?
    private let state = Guarded((level: Level.ample, free: UInt64.max))

    /// The free space of the file system of a folder. While it cannot be measured, it counts as ample.
    ///
    /// - Parameters:
    ///   - path: The path of the folder.
    ///   - reserve: The reserve in bytes; 0 for none, nil for the default.
    public convenience init(of path: String, reserve: UInt64? = nil) {
        self.init(reserve: reserve) { try? Folder.space(of: path) }
    }

    package init(reserve: UInt64?, _ measure: @escaping @Sendable () -> (free: UInt64, total: UInt64)?) {
        self.reserve = reserve
        self.measure = measure
    }

    /// The state when the space was measured last.
    var level: Level { state.withLock { $0.level } }
    /// The free bytes when the space was measured last.
    var freeByteCount: UInt64 { state.withLock { $0.free } }

    /// Measures the space, and returns the free bytes outside the reserve. The call blocks.
    @discardableResult
    func update() -> UInt64 {
        guard let (free, total) = measure() else { return .max }
        let reserve = reserve ?? min(Self.maxDefaultReserveByteCount, total / 8)
        state.withLock { state in
            state.free = free
            let level = Self.level(free, reserve)
            // A level that has been left returns when a quarter more than its bound is free.
            state.level = max(min(level, state.level), Self.level(free / 5 * 4, reserve))
        }
        return free - min(free, reserve)
    }

    private static func level(_ free: UInt64, _ reserve: UInt64) -> Level {
        if free < reserve / 4 { return .exhausted }
        if free < reserve { return .reserved }
        return free / 2 < reserve ? .low : .ample
    }

    /// Checks that bytes of attachments can be stored. The call blocks.
    func admit(_ byteCount: UInt64) throws(AttachmentFailure) {
        guard update() >= byteCount else { throw .full }
    }
}
