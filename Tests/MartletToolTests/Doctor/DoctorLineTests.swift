import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct DoctorLineTests {
    @Test func `a line without advice → mark, check and findings in columns; advice null in JSON`() {
        let line = DoctorLine(
            check: .ping, mark: .ok, found: "5 round trips", details: [.init("median", .decimal(0.25))])
        #expect(line.text == "ok    ping         5 round trips")
        #expect(line.json.text == #"{"check":"ping","mark":"ok","found":"5 round trips","advice":null,"median":0.250}"#)
    }

    @Test func `a failure and a warning → the advice behind the findings`() {
        var line = DoctorLine(check: .certificate, mark: .fail, found: "it expired", advice: "renew it")
        #expect(line.text == "FAIL  certificate  it expired; renew it")
        #expect(line.json.text == #"{"check":"certificate","mark":"fail","found":"it expired","advice":"renew it"}"#)
        line.mark = .warn
        #expect(line.text == "warn  certificate  it expired; renew it")
    }

    @Test func `control characters from the relay → shown as text`() {
        let line = DoctorLine(check: .welcome, mark: .fail, found: "\u{1B}[31m\n")
        #expect(line.text == "FAIL  welcome      \u{FFFD}[31m\u{23CE}")
    }
}
