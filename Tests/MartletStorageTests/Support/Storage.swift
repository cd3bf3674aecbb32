import Foundation
import Martlet
import MartletDatabase
import MartletLink
import MartletRelay
import MartletRelaySQLite
import MartletTransport
import MartletWire

/// What has happened to the files of a storage since it was closed.
enum FileDamage {
    /// Nothing: a storage has exactly what it has acknowledged, and what a failed operation may have left.
    case none
    /// The power was cut.
    case lossOfPower
    /// Bits were flipped; with 0 bits, a part of the files is that of an earlier time.
    case damaged(bitCount: Int)

    var isDamaged: Bool { if case .damaged = self { true } else { false } }
}

/// Contradictions between a storage and its promises.
final class Problems {
    private(set) var texts: [String] = []
    /// What precedes each text.
    var place = ""
    /// Whether the power is cut in the current life.
    var isPowerCut = false

    func add(_ text: String) { texts.append("\(place): \(text)") }

    /// Reports an error that no storage may throw.
    func check(_ error: any Error, _ operation: String) {
        switch error {
        case is DatabaseError, is StoreError, is FileError, is AttachmentFailure, is AttachmentStoreError,
            is MartletError, is RoomStoreError:
            break
        default: add("\(operation) has thrown \(error)")
        }
    }
}

/// A storage with a ledger of what it has acknowledged.
///
/// The ledger has the states that the storage may have: that of all acknowledged operations, and, from the next
/// opening on, those with a failed operation. All operations are chosen by random numbers.
protocol Storage: AnyObject {
    associatedtype Ledger

    /// The name in reports.
    static var name: String { get }
    var ledger: Ledger { get set }

    /// - Parameter folder: The folder with the files. It is empty.
    init(folder: String, clocks: SteppedClocks)

    /// Opens the storage, performs operations, and closes it. The disk may have faults.
    func use(_ random: inout SeededRandom, _ problems: Problems) async

    /// Opens the storage on a disk without faults, and compares it with the ledger. The storage is used, and closed.
    ///
    /// - Returns: Whether the storage can be used. Damage can prevent this, and the reason is an error.
    func check(after damage: FileDamage, _ problems: Problems) async -> Bool
}

/// A wall clock that is stepped, and a steady clock, in milliseconds.
final class SteppedClocks: Sendable {
    private let times: Guarded<(wall: UInt64, steady: UInt64)>
    private let start = ContinuousClock.now
    private let correctStart = EventLoop.wallClock

    init() {
        times = Guarded((wall: correctStart, steady: 0))
    }

    var wall: UInt64 { times.withLock { $0.wall } }
    var steady: ContinuousClock.Instant {
        start.advanced(by: .milliseconds(Int64(times.withLock { $0.steady })))
    }

    /// The time of a wall clock that was never stepped.
    var correctTime: UInt64 { times.withLock { correctStart + $0.steady } }

    /// Time passes.
    func advance(_ milliseconds: UInt64) {
        times.withLock {
            $0.wall += milliseconds
            $0.steady += milliseconds
        }
    }

    /// Sets the wall clock by 1 ms to 40 years, forward or back.
    func step(_ random: inout SeededRandom) {
        let scale = [1, 1000, 60_000, 3_600_000, 86_400_000, 2_600_000_000, 31_600_000_000].randomElement(
            using: &random)
        let step = UInt64(scale ?? 1) * UInt64.random(in: 1...40, using: &random)
        let isForward = Bool.random(using: &random)
        times.withLock { $0.wall = isForward ? $0.wall + step : $0.wall - min($0.wall, step) }
    }

    /// Sets the wall clock to the correct time.
    func correct() {
        times.withLock { $0.wall = correctStart + $0.steady }
    }
}
