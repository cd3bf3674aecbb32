import BenchHarness
import CBaselines
import MartletLink
import MartletWire

/// Compression of large bodies, compared with libdeflate called from C.
enum DeflateBenches {
    private static let bodyByteCounts = [4 << 10, 16 << 10, 64 << 10]
    private static let level = 6

    static func cases(_ texts: [String]) -> [Case] {
        let corpus = Array(texts.joined(separator: "\n").utf8)
        return bodyByteCounts.map { count in
            let body = Array(corpus.prefix(count))
            let ours = BulkDeflater(level)
            let baseline = BaselineDeflater(level, room: count)
            return Case(
                "deflate/\(count >> 10) KiB", per: "body",
                [
                    sized(Subject("martlet", operations: 1) { measure_keep(UInt64(ours.run(body))) }, ours.run(body)),
                    sized(
                        Subject("libdeflate", operations: 1) { measure_keep(UInt64(baseline.run(body))) },
                        baseline.run(body)),
                ])
        }
    }

    private static func sized(_ subject: Subject, _ byteCount: Int) -> Subject {
        Subject(subject.name) { try subject.trial().merging(["bytes": Double(byteCount)]) { $1 } }
    }
}

private final class BulkDeflater {
    private let deflater: Deflater

    init(_ level: Int) {
        deflater = Deflater(level: level)
    }

    func run(_ body: [UInt8]) -> Int {
        deflater.compress(body.rawBytes)?.count ?? body.count
    }
}

// One object owns the compressor exclusively.
@safe
private final class BaselineDeflater {
    private let deflater: OpaquePointer
    private var output: [UInt8]

    init(_ level: Int, room: Int) {
        unsafe deflater = baseline_deflater_create(Int32(level))
        output = [UInt8](repeating: 0, count: room)
    }

    deinit {
        unsafe baseline_deflater_destroy(deflater)
    }

    func run(_ body: [UInt8]) -> Int {
        unsafe body.withUnsafeBufferPointer { body in
            unsafe output.withUnsafeMutableBufferPointer { output in
                unsafe baseline_deflate(deflater, body.baseAddress!, body.count, output.baseAddress!, output.count)
            }
        }
    }
}

/// Timers set, moved and popped. A connection's deadline moves with every frame.
enum TimerBenches {
    static func cases() -> [Case] {
        [100, 10_000].map { count in
            let wheel = TimerLoad(count)
            return Case(
                "timers/move one of \(count)", per: "move",
                [Subject("martlet", operations: TimerLoad.moves) { wheel.move() }])
        }
    }
}

private final class TimerLoad {
    static let moves = 10_000
    private var queue = TimerQueue<Int>()
    private let count: Int
    private var now = Instant.zero
    private var next = 0

    init(_ count: Int) {
        self.count = count
        for key in 0..<count { queue.set(key, at: now + .seconds(30)) }
    }

    func move() {
        for _ in 0..<Self.moves {
            now = now + .microseconds(1)
            next = (next + 7919) % count
            queue.set(next, at: now + .seconds(30))
            while let key = queue.popExpired(now: now) { queue.set(key, at: now + .seconds(30)) }
        }
    }
}
