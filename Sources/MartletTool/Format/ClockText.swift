import CMartletSystem
import MartletTransport

/// Times as text.
enum ClockText {
    /// Returns the current local time of day with seconds.
    static func now() -> String { text(Int64(EventLoop.wallClock / 1000), "%H:%M:%S", isLocal: true) }

    /// Returns hours and minutes of the local time of day of a time in milliseconds since 1970.
    static func minutes(_ milliseconds: UInt64) -> String { text(Int64(milliseconds / 1000), "%H:%M", isLocal: true) }

    /// Returns the date and the time of day in UTC of a time in seconds since 1970, `2023-11-14T22:13:20`.
    static func utc(_ seconds: Int64) -> String { text(seconds, "%Y-%m-%dT%H:%M:%S", isLocal: false) }

    private static func text(_ seconds: Int64, _ format: String, isLocal: Bool) -> String {
        var text = [CChar](repeating: 0, count: 64)
        let count = unsafe martlet_time_text(seconds, isLocal ? 1 : 0, format, &text, text.count)
        return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
