import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct PackerTests {
    /// Packs what `pass` passes and unpacks it into what `pass` then writes to.
    private func byteCount(_ pack: (inout Packer) -> Void, _ unpack: (inout Packer) -> Void) -> Int {
        var packer = Packer()
        var bytes: [UInt8] = []
        packer.beginPacking()
        pack(&packer)
        packer.finishPacking(into: &bytes)
        packer.beginUnpacking(bytes.rawBytes)
        unpack(&packer)
        return bytes.count
    }

    @Test(arguments: [0, 1, 127, 128, 300, UInt64(UInt32.max), 1 << 63, .max])
    func `a number comes back`(number: UInt64) {
        var (a, b, raw) = (number, number, number)
        var (backA, backB, backRaw): (UInt64, UInt64, UInt64) = (5, 5, 5)
        _ = byteCount {
            $0.pass(&a)
            $0.pass(&b, near: 1000)
            $0.passRaw(&raw)
        } _: {
            $0.pass(&backA)
            $0.pass(&backB, near: 1000)
            $0.passRaw(&backRaw)
        }
        #expect(backA == number && backB == number && backRaw == number)
        #expect(a == number && b == number && raw == number)
    }

    @Test func `numbers below zero, instants, durations, flags, texts and lists come back`() {
        var number = Int64.min
        var place = Int32(-7)
        var instants = [Instant.zero, Instant(nanoseconds: 5_000_000_000), .distantFuture, Instant(nanoseconds: 1)]
        var duration = Duration.milliseconds(-1500)
        var never: Instant?
        var some: Duration? = .seconds(3)
        var flag = true
        var text = "Grüße 🐦"
        var bytes: [UInt8] = [0, 0xFF, 1]
        var queue: Deque<Int> = [3, 2, 1]
        func pass(_ packer: inout Packer) {
            packer.pass(&number)
            packer.pass(&place, near: 100)
            packer.pass(&instants, .zero) { $0.pass(&$1) }
            packer.pass(&duration)
            packer.pass(&never)
            packer.pass(&some)
            packer.pass(&flag)
            packer.pass(&text)
            packer.pass(&bytes)
            packer.pass(&queue, 0) { $0.pass(&$1) }
        }
        _ = byteCount {
            pass(&$0)
        } _: {
            (number, place, instants, duration) = (1, 1, [], .zero)
            (never, some, flag, text, bytes, queue) = (.zero, nil, false, "", [], [9])
            pass(&$0)
        }
        #expect(number == .min && place == -7 && duration == .milliseconds(-1500))
        #expect(
            instants == [.zero, Instant(nanoseconds: 5_000_000_000), .distantFuture, Instant(nanoseconds: 1)])
        #expect(bytes == [0, 0xFF, 1])
        #expect(never == nil && some == .seconds(3) && flag && text == "Grüße 🐦" && queue == [3, 2, 1])
    }

    @Test func `what is zero or as usual takes a bit`() {
        var words = [UInt64](repeating: 0, count: 40)
        var usual: UInt64 = 1 << 20
        let byteCount = byteCount {
            for index in words.indices { $0.pass(&words[index]) }
            $0.pass(&usual, near: 1 << 20)
        } _: {
            for index in words.indices { $0.pass(&words[index]) }
            $0.pass(&usual, near: 1 << 20)
        }
        #expect(byteCount == 1 + 6)
        #expect(usual == 1 << 20 && words.allSatisfy { $0 == 0 })
    }
}
