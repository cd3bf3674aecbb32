/// A NumericDate (RFC 7519 §2): seconds since 1970, in which leap seconds do not count.
enum NumericDate {
    /// The largest accepted date in seconds, the last of the year 9999. Sums with a leeway therefore do not overflow.
    static let max: Int64 = 253_402_300_799

    /// Reads a claim of 0 to ``max``; nil if it is absent. A fraction is rounded up, so that a comparison with an
    /// integral time has the same result.
    static func read(_ name: String, _ payload: [JSONMember]) throws(TokenError) -> Int64? {
        let seconds: Int64?
        switch payload[name] {
        case nil: return nil
        case .integer(let integer): seconds = integer
        case .double(let double): seconds = Int64(exactly: double.rounded(.up))
        default: seconds = nil
        }
        guard let seconds, (0...max).contains(seconds) else { throw .invalidClaim(name) }
        return seconds
    }
}
