import Foundation

/// The time of day on this machine, for people.
enum ClockText {
    /// Now, to the second.
    static func now() -> String { text(Date().timeIntervalSince1970, hasSeconds: true) }

    /// Hours and minutes of a time in milliseconds since 1970.
    static func minutes(_ milliseconds: UInt64) -> String { text(Double(milliseconds) / 1000, hasSeconds: false) }

    private static func text(_ seconds: Double, hasSeconds: Bool) -> String {
        var time = time_t(min(max(seconds, 0), 1e11))
        var parts = tm()
        unsafe localtime_r(&time, &parts)
        let fields = hasSeconds ? [parts.tm_hour, parts.tm_min, parts.tm_sec] : [parts.tm_hour, parts.tm_min]
        return fields.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}
