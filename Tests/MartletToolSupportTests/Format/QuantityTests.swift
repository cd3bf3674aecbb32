import Testing

@testable import MartletToolSupport

@Suite struct QuantityTests {
    @Test(arguments: [
        ("200", Duration.milliseconds(200)), ("1.5s", .milliseconds(1500)), ("2m", .seconds(120)), ("0", .zero),
        ("20ms", .milliseconds(20)), (".5", .microseconds(500)),
    ])
    func `a text → its duration`(text: String, duration: Duration) {
        #expect(Quantity.duration(parsing: text, unit: .milliseconds) == duration)
    }

    @Test func `a number without a suffix has the given unit`() {
        #expect(Quantity.duration(parsing: "2", unit: .seconds) == .seconds(2))
    }

    @Test(arguments: ["", "-1", "s", "ms", "1e3", "nan", "1.2.3", ".", "99999999999", "1 s", "0x10"])
    func `an invalid text → no duration`(text: String) {
        #expect(Quantity.duration(parsing: text, unit: .seconds) == nil)
    }

    @Test(arguments: [
        ("4096", 4096), ("64K", 65536), ("1.5M", 1_572_864), ("1G", 1 << 30), ("64KiB", 65536), ("8K/s", 8192),
    ])
    func `a text → its number of bytes`(text: String, byteCount: Int) {
        #expect(Quantity.byteCount(parsing: text) == byteCount)
    }

    @Test(arguments: ["", "K", "-1", "1T", "infinity", "99999999999G", "/s"])
    func `an invalid text → no number of bytes`(text: String) {
        #expect(Quantity.byteCount(parsing: text) == nil)
    }

    @Test func `quantities → their texts`() {
        #expect(Quantity.text(byteCount: 812) == "812 B")
        #expect(Quantity.text(byteCount: 1536) == "1.50 KiB")
        #expect(Quantity.text(byteCount: 300 << 20) == "300 MiB")
        #expect(Quantity.text(byteCount: 5000 << 30) == "5000 GiB")
        #expect(Quantity.text(.microseconds(320)) == "0.32 ms")
        #expect(Quantity.text(.milliseconds(212)) == "212 ms")
        #expect(Quantity.text(.milliseconds(4210)) == "4.21 s")
        #expect(Quantity.text(.seconds(187)) == "3:07 min")
        #expect(Quantity.clock(.seconds(3723)) == "1:02:03")
        #expect(Quantity.grouped(1_234_567) == "1,234,567")
        #expect(Quantity.grouped(-1234) == "-1,234")
        #expect(Quantity.grouped(999) == "999")
    }

    @Test func `a number → a text with a given number of decimal places`() {
        #expect(Quantity.fixed(1.005, digits: 1) == "1.0")
        #expect(Quantity.fixed(0.0605, digits: 2) == "0.06")
        #expect(Quantity.fixed(-2.5, digits: 1) == "-2.5")
        #expect(Quantity.fixed(-0.001, digits: 1) == "0.0")
        #expect(Quantity.fixed(.infinity, digits: 1) == "-")
    }
}
