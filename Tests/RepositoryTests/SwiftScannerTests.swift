import Testing

@Suite("Separation of code and comments")
struct SwiftScannerTests {
    @Test(arguments: [
        ("let x = 1  // one", "let x = 1  ", " one"),
        ("/// import Foundation", "", "/ import Foundation"),
        ("a /* b /* c */ d */ e", "a  e", " b  c  d "),
        (#"let s = "try! // as!""#, #"let s = """#, ""),
        (#"f("\"", try! g())"#, #"f("", try! g())"#, ""),
        (#"f("\(try! g("x"))", y)"#, #"f("try! g("")", y)"#, ""),
        (##"let s = #"a " \( b"# + c"##, #"let s = "" + c"#, ""),
        (##"let s = #"a \#(b) c"#"##, #"let s = "b""#, ""),
        ("#if os(Linux)", "#if os(Linux)", ""),
    ])
    func `a line → its code and its comment`(text: String, code: String, comment: String) {
        #expect(SwiftScanner.scan([text[...]]) == [ScannedLine(code: code, comment: comment)])
    }

    @Test func `a multiline literal is not scanned as code`() {
        let file = SourceFile("A.swift", "let s = \"\"\"\n    import Foundation // no\n    \"\"\"\nimport Dispatch\n")
        #expect(file.scanned.map(\.code) == ["let s = \"", "", "\"", "import Dispatch"])
    }

    @Test func `a multiline comment is not scanned as code`() {
        let file = SourceFile("A.swift", "/*\nimport Foundation\n*/ import Dispatch\n")
        #expect(file.scanned.map(\.code) == ["", "", " import Dispatch"])
    }

    @Test func `an unpaired quotation mark affects its line only`() {
        let file = SourceFile("A.swift", "let r = /\"/\nimport Foundation\n")
        #expect(file.scanned[1].code == "import Foundation")
    }
}
