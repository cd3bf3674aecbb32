import Testing

@Suite("Code and comments are told apart")
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
    func `one line`(text: String, code: String, comment: String) {
        #expect(SwiftScanner.scan([text[...]]) == [ScannedLine(code: code, comment: comment)])
    }

    @Test func `a literal over several lines hides what it holds`() {
        let file = SourceFile("A.swift", "let s = \"\"\"\n    import Foundation // no\n    \"\"\"\nimport Dispatch\n")
        #expect(file.scanned.map(\.code) == ["let s = \"", "", "\"", "import Dispatch"])
    }

    @Test func `a comment over several lines hides what it holds`() {
        let file = SourceFile("A.swift", "/*\nimport Foundation\n*/ import Dispatch\n")
        #expect(file.scanned.map(\.code) == ["", "", " import Dispatch"])
    }

    @Test func `a quotation mark without its other costs one line`() {
        let file = SourceFile("A.swift", "let r = /\"/\nimport Foundation\n")
        #expect(file.scanned[1].code == "import Foundation")
    }
}
