/// The parsing and formatting of quantities.
package enum Quantity {
    /// The unit of a duration without a suffix.
    package enum TimeUnit: Sendable {
        case milliseconds, seconds
    }

    /// Returns the duration in a text: a number in `unit`, or with the suffix `ms`, `s` or `m`. Returns nil for other
    /// text, for negative durations, and for those of more than a year.
    package static func duration(parsing text: String, unit: TimeUnit) -> Duration? {
        let scales: [(suffix: String, seconds: Double)] = [("ms", 0.001), ("s", 1), ("m", 60)]
        var digits = text[...]
        var scale = unit == .seconds ? 1 : 0.001
        if let match = scales.first(where: { text.hasSuffix($0.suffix) }) {
            digits = text.dropLast(match.suffix.count)
            scale = match.seconds
        }
        guard let amount = decimal(digits) else { return nil }
        let seconds = amount * scale
        return seconds <= 31_536_000 ? .nanoseconds(Int64((seconds * 1e9).rounded())) : nil
    }

    /// Returns the number of bytes in a text: `4096`, `64K`, `1.5M`, `1G`, in powers of 1,024. The suffixes `B`, `iB`
    /// and `/s` are ignored.
    package static func byteCount(parsing text: String) -> Int? {
        var digits = text[...]
        for suffix in ["/s", "iB", "B"] where digits.hasSuffix(suffix) { digits = digits.dropLast(suffix.count) }
        var scale = 1.0
        let scales: [Character: Double] = ["K": 1024, "k": 1024, "M": 1_048_576, "G": 1_073_741_824]
        if let last = digits.last, let match = scales[last] {
            digits = digits.dropLast()
            scale = match
        }
        guard let amount = decimal(digits), amount * scale < 9e15 else { return nil }
        return Int((amount * scale).rounded())
    }

    /// Returns the number in a text of digits and at most one decimal point, without sign or exponent.
    private static func decimal(_ text: Substring) -> Double? {
        let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
        return isPlain && text.utf8.contains { $0 != 0x2E } ? Double(text) : nil
    }

    /// Returns a number of bytes with three digits and a unit: `812 B`, `64.0 KiB`, `1.25 GiB`.
    package static func text(byteCount: some BinaryInteger) -> String {
        var amount = Double(byteCount)
        if amount < 1024 { return "\(byteCount) B" }
        for unit in ["KiB", "MiB", "GiB"] {
            amount /= 1024
            if amount < 1024 || unit == "GiB" { return "\(significant(amount)) \(unit)" }
        }
        return ""
    }

    /// Returns a duration with about three digits: `0.3 ms`, `212 ms`, `4.21 s`, `3:07 min`.
    package static func text(_ duration: Duration) -> String {
        let seconds = seconds(duration)
        if seconds < 1 { return "\(significant(seconds * 1000)) ms" }
        if seconds < 60 { return "\(significant(seconds)) s" }
        return clock(duration) + " min"
    }

    /// Returns a duration as minutes and seconds, `0:07`, or with hours, `1:02:03`.
    package static func clock(_ duration: Duration) -> String {
        let total = max(duration.components.seconds, 0)
        let minutes = total / 60 % 60
        let seconds = pad(total % 60)
        return total < 3600 ? "\(minutes):\(seconds)" : "\(total / 3600):\(pad(minutes)):\(seconds)"
    }

    /// Returns an integer with commas between groups of three digits.
    package static func grouped(_ number: some BinaryInteger) -> String {
        var text = ""
        for (index, digit) in String(number.magnitude).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return (number < 0 ? "-" : "") + String(text.reversed())
    }

    /// Returns a duration in seconds.
    package static func seconds(_ duration: Duration) -> Double { duration / .seconds(1) }

    /// Returns `value` with `digits` decimal places.
    package static func fixed(_ value: Double, digits: Int) -> String {
        guard value.isFinite else { return "-" }
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let scaled = Int64((value.magnitude * scale).rounded())
        let sign = value < 0 && scaled > 0 ? "-" : ""
        let whole = "\(sign)\(scaled / Int64(scale))"
        if digits == 0 { return whole }
        let fraction = String(scaled % Int64(scale))
        return whole + "." + String(repeating: "0", count: digits - fraction.count) + fraction
    }

    private static func significant(_ value: Double) -> String {
        fixed(value, digits: value < 10 ? 2 : value < 100 ? 1 : 0)
    }

    private static func pad(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
