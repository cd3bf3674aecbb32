import Testing

@testable import MartletWebhook

@Suite
struct RetryAfterTests {
    private let now = UInt64(1_700_000_000_000)

    //
    @Test(
        "seconds and dates are read, with a maximum of a day",
        arguments: [
            ("0", 0), (" 120 ", 120), ("99999999999999999999", 86_400), ("Tue, 14 Nov 2023 22:13:50 GMT", 30),
            ("Tue, 14 Nov 2023 22:13:10 GMT", 0), ("Tue, 14 Nov 2034 22:13:10 GMT", 86_400),
        ])
    func valid(text: String, seconds: Int) {
        #expect(RetryAfter.parse(text, now: now) == .seconds(seconds))
    }

    //
    @Test("other text requests nothing", arguments: ["", "-1", "1.5", "soon", "14 Nov 2023"])
    func invalid(text: String) {
        #expect(RetryAfter.parse(text, now: now) == nil)
    }
}
