import Testing

/// Each rule reports an example that violates it, and none of the similar examples that do not.
@Suite("Rules of one file")
struct RuleTests {
    @Test(arguments: [
        ("Sources/MartletWire/A.swift", "import Foundation"),
        ("Sources/MartletWire/A.swift", "public import MartletLink"),
        ("Sources/MartletLink/A.swift", "@preconcurrency internal import Glibc"),
        ("Sources/MartletLink/A/B.swift", "import struct Synchronization.Atomic"),
        ("Sources/MartletTransport/A.swift", "import MartletLink"),
        ("Sources/Martlet/Engine/A.swift", "import MartletTransport"),
        ("Sources/MartletRelay/Engine/A/B.swift", "import Synchronization"),
        ("Sources/MartletSQLite/A.swift", "import MartletRelay"),
        ("Sources/MartletTransport/Path/A.swift", "import Foundation"),
        ("Sources/MartletTransport/Network/A.swift", "import MartletLink"),
        ("Sources/Martlet/A.swift", "import MartletRelay"),
        ("Sources/Martlet/A.swift", "import FoundationEssentials"),
        ("Sources/MartletRelay/A.swift", "import Foundation"),
        ("Sources/MartletTool/A.swift", "import Foundation"),
        ("Sources/MartletTool/A.swift", "import FoundationEssentials"),
        ("Sources/MartletToolSupport/A.swift", "import struct Foundation.Data"),
        ("Sources/MartletWebhook/A.swift", "import Foundation"),
        ("Sources/MartletTestKit/A.swift", "import MartletSQLite"),
        ("Sources/Unheard/A.swift", "import MartletWire"),
        ("Tests/MartletWireTests/ATests.swift", "@testable import MartletLink"),
        ("Sources/MartletRelay/A.swift", "import MartletSimulator"),
        ("Dev/Sources/MartletSimulator/A.swift", "import Foundation"),
        ("Dev/Tests/MartletSimulatorTests/ATests.swift", "import MartletDecode"),
        ("Sources/MartletLink/Driver/A.swift", "import MartletRelay"),
        ("Sources/MartletLink/Link/A.swift", "import MartletTransport"),
    ])
    func `an import of a module that is not permitted → a finding`(path: String, code: String) {
        #expect(ImportRule(.martlet).findings(in: SourceFile(path, code)).count == 1)
    }

    @Test(arguments: [
        ("Sources/MartletWire/A.swift", "internal import CMartletCodec"),
        ("Sources/MartletLink/A.swift", "public import MartletWire"),
        ("Sources/MartletLink/A.swift", "let s = \"import Foundation\"  // import Foundation"),
        ("Sources/MartletTransport/A.swift", "#if canImport(Glibc)\nimport Glibc\n#endif"),
        ("Sources/MartletTransport/Network/A.swift", "import Foundation"),
        ("Sources/MartletLink/Driver/A.swift", "import MartletTransport"),
        ("Sources/Martlet/Foundation/A.swift", "public import FoundationEssentials"),
        ("Tests/MartletWireTests/ATests.swift", "import Testing\n@testable import MartletWire"),
        ("Tests/MartletTests/Scenarios/A.swift", "import MartletRelay"),
        ("Dev/Sources/MartletSimulator/A.swift", "import MartletTestKit"),
        ("Dev/Tests/MartletSimulatorTests/ATests.swift", "@testable import MartletSimulator"),
    ])
    func `an import of a permitted module → no finding`(path: String, code: String) {
        #expect(ImportRule(.martlet).findings(in: SourceFile(path, code)) == [])
    }

    @Test(arguments: PurityRule.sources)
    func `a clock or a random source in an engine → a finding`(source: String) {
        let code = "let x = \(source)"
        #expect(PurityRule.findings(in: SourceFile("Sources/MartletLink/A.swift", code)).count == 1)
        #expect(PurityRule.findings(in: SourceFile("Sources/Martlet/Engine/A.swift", code)).count == 1)
        #expect(PurityRule.findings(in: SourceFile("Sources/Martlet/A.swift", code)) == [])
        #expect(PurityRule.findings(in: SourceFile("Sources/MartletWire/A.swift", "// " + code)) == [])
    }

    @Test(arguments: ["let owner: any Owner", "protocol Owner: AnyObject {}", "unowned let owner: Owner"])
    func `a reference of an engine to an object of another owner → a finding`(code: String) {
        #expect(PurityRule.findingsOfReferences(in: SourceFile("Sources/MartletRelay/Engine/A.swift", code)).count == 1)
        #expect(PurityRule.findingsOfReferences(in: SourceFile("Sources/MartletLink/Link/A.swift", code)).count == 1)
        #expect(PurityRule.findingsOfReferences(in: SourceFile("Sources/MartletLink/Driver/A.swift", code)) == [])
        #expect(PurityRule.findingsOfReferences(in: SourceFile("Sources/Martlet/Shared/A.swift", code)) == [])
    }

    @Test(arguments: [
        ("Sources/CMartletX/include/A.h", "int run(void);", 1),
        ("Sources/CMartletX/include/A.h", "int martlet_run(void);", 0),
        ("Sources/CMartletX/include/A.h", "    int run(void);", 0), ("Sources/Martlet/A.swift", "@objc class A {}", 1),
        ("Sources/Martlet/A.swift", "let home = environment[\"APP_HOME\"]", 1),
        ("Sources/Martlet/A.swift", "let home = environment[\"MARTLET_HOME\"] ?? environment[\"USER\"]", 0),
    ])
    func `a global name without the prefix of the project → a finding`(path: String, code: String, count: Int) {
        #expect(GlobalNameRule.findings(in: SourceFile(path, code)).count == count)
    }

    @Test(arguments: [
        "var rooms: [String: Room] = [:]", "let names: Set<String>", "public let room: String", "var sender: String?",
        "let roomName: String",
    ])
    func `a key or a property of the type String for a name → a finding`(code: String) {
        #expect(NameKeyRule.findings(in: SourceFile("Sources/Martlet/A.swift", code)).count == 1)
        #expect(NameKeyRule.findings(in: SourceFile("Dev/Sources/MartletLab/A.swift", code)) == [])
        #expect(NameKeyRule.findings(in: SourceFile("Sources/Martlet/A.swift", "// " + code)) == [])
        #expect(NameKeyRule.findings(in: SourceFile("Sources/MartletTransport/TLS/TLSClient.swift", code)) == [])
    }

    @Test(arguments: ["var rooms: [RoomName: Room] = [:]", "public let room: RoomName", "func open(room: String)"])
    func `a key or a property of a type of name, and an argument → no finding`(code: String) {
        #expect(NameKeyRule.findings(in: SourceFile("Sources/Martlet/A.swift", code)) == [])
    }

    @Test func `a longer word that contains a forbidden one → no finding`() {
        #expect(PurityRule.findings(in: SourceFile("Sources/MartletWire/A.swift", "let d = CandiDate(1)")) == [])
        #expect(MarkRule.findings(in: SourceFile("A.swift", "let HACK_COUNT = shack")) == [])
    }

    @Test(arguments: MarkRule.unfinished)
    func `a mark of unfinished work → a finding with its line`(mark: String) {
        #expect(
            MarkRule.findings(in: SourceFile("Specs/a.md", "one\n\(mark): two")) == [
                Finding("Specs/a.md", line: 2, "contains \(mark)")
            ])
    }

    @Test(arguments: MarkRule.translated)
    func `a phrase of a translation → a finding with its line, except in the changelog`(phrase: String) {
        #expect(
            MarkRule.findingsOfTranslation(in: SourceFile("Guides/a.md", "one\n\(phrase) two")) == [
                Finding("Guides/a.md", line: 2, "contains \(phrase)")
            ])
        #expect(MarkRule.findingsOfTranslation(in: SourceFile("CHANGELOG.md", phrase)) == [])
    }

    @Test func `an accessor _read → a finding, except in a generic collection`() {
        let code = "@inline(__always) _read { yield parts[0] }"
        #expect(YieldRule.findings(in: SourceFile("Sources/Martlet/A.swift", code)).count == 1)
        #expect(YieldRule.findings(in: SourceFile("Sources/Martlet/A.swift", "get { is_read }")) == [])
        #expect(YieldRule.findings(in: SourceFile("Sources/Martlet/Collections/SortedMap.swift", code)) == [])
    }

    @Test func `an inlinable member of a package type without usableFromInline → a finding`() {
        func findings(_ code: String) -> Int {
            InlinableRule.findings(in: SourceFile("Sources/MartletLink/A.swift", code)).count
        }
        let member = "    @inlinable\n    package func b() {}\n}"
        #expect(findings("package struct A {\n" + member) == 1)
        #expect(findings("@usableFromInline\npackage struct A {\n" + member) == 0)
        #expect(findings("public struct A {\n" + member) == 0)
        #expect(findings("package struct A {\n}\nextension Int {\n" + member) == 0)
    }

    @Test(arguments: MarkRule.waits)
    func `a call that waits in a test → a finding`(wait: String) {
        let code = wait + (wait.hasSuffix("(") ? "1)" : "(1)")
        #expect(MarkRule.findingsOfWaiting(in: SourceFile("Tests/MartletTests/ATests.swift", code)).count == 1)
        #expect(MarkRule.findingsOfWaiting(in: SourceFile("Sources/Martlet/A.swift", code)) == [])
    }

    @Test func `a child of Foundation → a finding, except in benchmarks`() {
        let code = "let child = Process" + "()"
        #expect(MarkRule.findingsOfChildren(in: SourceFile("Tests/MartletTests/ATests.swift", code)).count == 1)
        #expect(MarkRule.findingsOfChildren(in: SourceFile("Sources/Martlet/A.swift", "let a = Subprocess()")) == [])
        #expect(MarkRule.findingsOfChildren(in: SourceFile("Benchmarks/Sources/bench/A.swift", code)) == [])
    }

    @Test func `a loop that waits and ignores a cancellation → a finding`() {
        let wait = "!isReady { await Task.yie" + "ld() }"
        func findings(_ code: String) -> [Finding] {
            MarkRule.findingsOfEndlessWaits(in: SourceFile("Tests/MartletTests/ATests.swift", code))
        }
        #expect(findings("while \(wait)").count == 1)
        #expect(findings("while !Task.isCancelled, \(wait)") == [])
        #expect(MarkRule.findingsOfEndlessWaits(in: SourceFile("Sources/Martlet/A.swift", "while \(wait)")) == [])
    }

    @Test func `the name of a Unicode scalar → a finding`() {
        let code = "let name = scalar.properties." + "name"
        #expect(MarkRule.findingsOfScalarNames(in: SourceFile("Sources/Martlet/A.swift", code)).count == 1)
        #expect(MarkRule.findingsOfScalarNames(in: SourceFile("Sources/Martlet/A.swift", code + "s")) == [])
    }

    @Test func `a line beyond the maximum width in characters → a finding, except for tables`() {
        let widest = String(repeating: "é", count: ShapeRule.maxColumnCount)
        #expect(ShapeRule.findings(in: SourceFile("A.swift", widest)) == [])
        #expect(ShapeRule.findings(in: SourceFile("A.swift", widest + "é")).count == 1)
        #expect(ShapeRule.findings(in: SourceFile("A.md", "| " + widest)) == [])
        #expect(ShapeRule.findings(in: SourceFile("A.swift", "    /// | " + widest)) == [])
        #expect(ShapeRule.findings(in: SourceFile("A.json", "    {" + widest)) == [])
        #expect(ShapeRule.findings(in: SourceFile("A.swift", "    {" + widest)).count == 1)
        #expect(ShapeRule.findings(in: SourceFile("A.swift", "a ")).count == 1)
    }

    @Test(arguments: [
        "Sources/Martlet/StringUtils.swift", "Sources/Martlet/LinkHelper.swift", "Sources/Martlet/LinkManager.swift",
        "Tests/MartletTests/LinkManagerTests.swift", "Sources/Martlet/New/Link.swift", "Sources/Martlet/My Link.swift",
    ])
    func `an unspecific name or a blank in a path → a finding`(path: String) {
        #expect(ShapeRule.findings(in: SourceFile(path, "")).count == 1)
    }

    @Test(arguments: EscapeRule.escapes)
    func `a disabled check without a reason → a finding`(escape: String) {
        func findings(_ code: String) -> [Finding] {
            EscapeRule.findings(in: SourceFile("Sources/Martlet/A.swift", code))
        }
        #expect(findings("let a = 1\nlet x: \(escape) X").count == 1)
        #expect(findings("// The lock guards it.\nlet x: \(escape) X") == [])
        #expect(findings("/// The lock guards it.\n@usableFromInline\nlet x: \(escape) X") == [])
        #expect(findings("let x: \(escape) X  // The lock guards it.") == [])
    }
}
