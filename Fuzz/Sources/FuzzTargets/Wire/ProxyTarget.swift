@testable import MartletTransport

/// The header of a proxy: nothing traps, any split gives the same step, and no more than the bound is read.
enum ProxyTarget {
    static func run(_ input: RawSpan) {
        var whole = ProxyHeader()
        let step = whole.receive(input)
        var parts = ProxyHeader()
        for index in 0..<input.byteCount {
            let part = parts.receive(input.extracting(index..<index + 1))
            switch (part, step) {
            case (.incomplete, _): continue
            case (.invalid, .invalid): return
            case (.complete(let address, let last), .complete(let other, let count)):
                hold(address == other && last == 1 && count == index + 1, "a split header gives another address")
                hold(index < ProxyHeader.maxByteCount, "a header is longer than its bound")
                return
            default: hold(false, "a split header gives another step")
            }
        }
        hold(step == .incomplete, "a split header is not complete")
        hold(input.byteCount < ProxyHeader.maxByteCount, "a header without an end")
    }
}
