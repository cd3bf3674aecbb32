import Testing

@Suite("Rules of several files")
struct TreeRuleTests {
    @Test func `an import of a module that the target does not name → a finding`() {
        let manifest = """
            targets: [
            .target(name: "MartletX", dependencies: ["MartletY"], swiftSettings: settings),
            .target(
                name: "MartletY", dependencies: ["MartletZ", .target(name: "CMartletA", condition: .when([.iOS]))]),
            .target(name: "MartletZ", path: "Sources/Last", swiftSettings: settings), "MartletOther"
            """
        func count(_ path: String, _ module: String) -> Int {
            let rule = ImportRule(SourceTree([SourceFile("Package.swift", manifest)]))
            return rule.findings(in: SourceFile(path, "import \(module)")).count
        }
        #expect(count("Sources/MartletX/A.swift", "MartletY") == 0)
        #expect(count("Sources/MartletX/A.swift", "MartletZ") == 1)
        #expect(count("Tests/MartletX/A.swift", "MartletZ") == 0)
        #expect(count("Sources/MartletY/A.swift", "MartletX") == 1)
        #expect(count("Sources/Last/A.swift", "MartletOther") == 1)
        #expect(count("Sources/New/A.swift", "MartletX") == 1)
    }

    @Test func `a target without the prefix → a finding`() {
        func findings(_ targets: String) -> [Finding] {
            TargetNameRule.findings(in: SourceTree([SourceFile("Package.swift", targets)]))
        }
        #expect(
            findings(#".target(name: "MartletX"), .systemLibrary(name: "CMartletY"), .testTarget(name: "Z")"#) == [])
        #expect(findings(#".systemLibrary(name: "CSQLite")"#).count == 1)
        #expect(findings(".target(\n    name: \"Fault\", path: \"Tests/Fault\")").count == 1)
    }

    @Test func `a permitted file without a key or a property of the type String → a finding`() {
        func count(_ text: String) -> Int {
            let file = SourceFile("Sources/Martlet/Credentials.swift", text)
            return NameKeyRule.findings(ofPermissionsIn: SourceTree([file])).count
        }
        #expect(count("") - count("let account: String") == 1)
    }

    @Test func `a number of the registry in arithmetic that can trap → a finding`() {
        let registry = SourceFile(
            "Specs/registry.json",
            #"{"tags": [{"name": "counter", "type": "u64"}, {"name": "tail", "type": "u32"},"#
                + #" {"name": "run", "parts": "u64 offset, u32 count, u64 mutedUntil"}]}"#)
        func findings(_ code: String, _ path: String = "Sources/MartletLink/A.swift") -> Int {
            let file = SourceFile(path, code)
            return NumberRule.findings(in: file, NumberRule.names(in: SourceTree([registry]))).count
                + NumberRule.findingsOfElements(in: file).count
        }
        for code in [
            "let a = entry.counter + 1", "a += message.offset", "end - first.offset", "x.offset! * 2",
            "Int(run.offset)",
            "UInt32(counter)", "range.upperBound - other.lowerBound", "run.counters.suffix(64)", "offsets.count == 2",
        ] { #expect(findings(code) == 1, "\(code)") }
        for code in [
            "let a = entry.counter &+ 1", "a.counter.addingSaturating(1)", "Int(clamping: run.offset)", "tail + 1",
            "offset - min(offset, 1)", "range.upperBound - range.lowerBound", "counters.contains(3)",
            "counts.count + 1",
            "offset(of: counter) + 1", "// counter + 1", "Int(exactly: counter)", "head(counter: 3) + 1",
        ] { #expect(findings(code) == 0, "\(code)") }
        #expect(findings("offset + 1", "Sources/MartletWire/A.swift") == 0)
        #expect(findings("counter + 1", "Dev/Sources/MartletLab/A.swift") == 0)
        #expect(NumberRule.findings(in: SourceTree([])).count == 1)
        let tree = SourceTree([registry, SourceFile("Sources/MartletLink/A.swift", "counter + 1")])
        let found = NumberRule.findings(in: tree)
        #expect(found.count { $0.line == 1 } == 1 && found.count == 2 + NumberRule.permitted.count)
    }

    @Test func `a test without its source file → a finding`() {
        let source = SourceFile("Sources/MartletX/A/B.swift", "")
        func findings(_ test: String, _ text: String = "import Testing") -> [Finding] {
            MirrorRule.findings(in: SourceTree([source, SourceFile(test, text)]))
        }
        #expect(findings("Tests/MartletXTests/A/BTests.swift") == [])
        #expect(findings("Dev/Tests/MartletXTests/A/BTests.swift") == [])
        #expect(findings("Tests/MartletXTests/BTests.swift").count == 1)
        #expect(findings("Tests/MartletXTests/A/CTests.swift").count == 1)
        #expect(findings("Tests/MartletXTests/A/B.swift").count == 1)
        #expect(findings("Tests/MartletXTests/Scenarios/C.swift") == [])
        #expect(findings("Tests/MartletXTests/Module.swift", "// MartletXTests\n") == [])
    }

    @Test func `a link to a missing file or heading → a finding`() {
        func findings(_ link: String) -> [Finding] {
            let text = SourceFile("Specs/a.md", "# The title, 1.0\nSee [this](\(link)).")
            return LinkRule.findingsOfLinks(in: SourceTree([text, SourceFile("LICENSE", "")]))
        }
        #expect(findings("../LICENSE") == [])
        #expect(findings("a.md#the-title-10") == [])
        #expect(findings("#the-title-10") == [])
        #expect(findings("#the-title-11").count == 1)
        #expect(findings("https://example.com/nowhere.md") == [])
        #expect(findings("b.md") == [Finding("Specs/a.md", line: 2, "link to Specs/b.md, which does not exist")])
        #expect(findings("LICENSE").count == 1)
    }

    @Test func `a command with a target that the Makefile lacks → a finding`() {
        func findings(_ text: String) -> [Finding] {
            let makefile = SourceFile("Makefile", "test: deps ## run\n\t@true\n")
            return LinkRule.findingsOfTargets(in: SourceTree([makefile, SourceFile("README.md", text)]))
        }
        #expect(findings("Run `make test` to make sure.") == [])
        #expect(findings("Run `make tests`.").count == 1)
        #expect(findings("```\n$ make install\n```").count == 1)
    }

    @Test func `a citation of a missing clause, section or row → a finding`() {
        func findings(_ comment: String) -> [Finding] {
            let wire = SourceFile("Specs/wire.md", "## 3 Frames\n### 3.2 Header\n**W-7** All is well.\n")
            let hostile = SourceFile("Specs/hostile.md", "| 7 | a bit is flipped | close |\n")
            let code = SourceFile("Sources/MartletWire/A.swift", "/// \(comment)")
            return CitationRule.findings(in: SourceTree([wire, hostile, code]))
        }
        #expect(findings("Specs/wire.md §3.2, W-7") == [])
        #expect(findings("Specs/wire.md §3.") == [])
        #expect(findings("Specs/wire.md §3.3").count == 1)
        #expect(findings("Specs/wires.md §3.2").count == 1)
        #expect(findings("as W-8 has it").count == 1)
        #expect(findings("(S-1, W-7)").count == 1)
        #expect(findings("CRC-32 and UTF-8 and RFC-7") == [])
        #expect(findings("Specs/hostile.md row 7") == [])
        #expect(findings("Specs/hostile.md row 8").count == 1)
    }

    @Test func `a requirement that is not cited, or that is defined twice → a finding`() {
        func findings(_ session: String = "", _ source: String, _ test: String) -> [String] {
            let letters = RequirementRule.documents.map { letter, path in
                SourceFile(path, "**\(letter)-1** *Informative.* Words.\n" + (letter == "S" ? session : ""))
            }
            let rows = SourceFile(RequirementRule.hostile, "| row | what |\n|---|---|\n| 3 | a length |\n")
            let code = SourceFile("Sources/MartletX/A.swift", source)
            let tests = SourceFile("Tests/MartletXTests/ATests.swift", test)
            let rules = SourceFile("Tests/RepositoryTests/A.swift", "// S-36, Specs/hostile.md row 3")
            return RequirementRule.findings(in: SourceTree(letters + [rows, code, tests, rules])).map(\.message)
        }
        let credit = "**S-36** Each side counts.\n"
        let source = "/// Counts (S-36, Specs/hostile.md\n/// row 3).\nlet a = 1"
        let test = "// S-36, Specs/hostile.md row 3\n@Test func a() {}"
        #expect(findings(credit, source, test) == [])
        #expect(findings(credit, "let name = \"S-36\"  // Specs/hostile.md row 3", test).count == 1)
        #expect(findings(credit, source, "@Test func a() {}").count == 2)
        #expect(findings(credit + credit, source, test) == ["S-36 is defined twice"])
        #expect(findings(credit + "**W-9** A letter of another's.\n", source, test) == [])
        #expect(RequirementRule.findings(in: SourceTree([])).count == 6)
    }

    @Test func `a folder that the table does not name, or that has no files → a finding`() {
        func findings(_ cell: String) -> Int {
            let files = ["A/X", "A/Y/Z", "A", "B"].map { SourceFile("Sources/Martlet\($0)/C.swift", "struct C {}\n") }
            return FolderRule.findings(in: SourceTree([SourceFile(FolderRule.page, "| \(cell) | |\n")] + files)).count
        }
        #expect(findings("`MartletA/X`, `Y/Z`") == 0)
        #expect(findings("`MartletA/X`") == 1)
        #expect(findings("`MartletA/X`, `Y/Z`, `X`") == 1)
        #expect(findings("`MartletA/X`, `MartletB/Y`, `Y/Z`") == 2 + 1)
        #expect(findings("`MartletA`") == 2)
        #expect(FolderRule.findings(in: SourceTree([])).count == 1)
    }

    @Test func `a bound that the code does not declare, or that the page does not list → a finding`() {
        func findings(_ name: String, _ path: String = "Sources/MartletWire/A.swift") -> [Finding] {
            let text = SourceFile(BoundRule.page, "| bound | file |\n|---|---|\n| `\(name)` | [A](../\(path)) |\n")
            let code = SourceFile("Sources/MartletWire/A.swift", "struct A {\n    static let maxCount = 1\n}\n")
            let test = SourceFile("Dev/Sources/MartletLab/B.swift", "struct B {\n    static let maxCount = 1\n}\n")
            return BoundRule.findings(in: SourceTree([text, code, test]))
        }
        #expect(findings("A.maxCount") == [])
        // One finding for the row, one for the constant that has none.
        #expect(findings("A.maxCounts").count == 2)
        #expect(findings("A.max").count == 2)
        #expect(findings("A.maxCount", "Sources/MartletWire/B.swift").count == 2)
        #expect(findings("a.b").count == 2)
        #expect(BoundRule.findings(in: SourceTree([])).count == 1)
    }

    @Test func `a snippet that differs from the compiled code → a finding`() {
        func findings(_ readme: String, _ code: String) -> [Finding] {
            SnippetRule.findings(in: SourceTree([SourceFile("README.md", readme), SourceFile("Tests/A.swift", code)]))
        }
        let marker = "<!-- snippet: Tests/A.swift -->\n"
        let block = "```swift\nif a {\n    b()\n}\n```\n"
        let region = "func f() {\n    // snippet:begin\n    if a {\n        b()\n    }\n    // snippet:end\n}\n"
        #expect(findings(marker + block, region) == [])
        #expect(findings("No code at all.\n", region) == [])
        #expect(findings(block, region).count == 1)
        #expect(findings(marker + "Text.\n", region).count == 1)
        #expect(findings(marker, region).count == 1)
        #expect(findings(marker + block, region.replacing("b()", with: "c()")).count == 1)
        #expect(findings(marker + block, "func f() {}\n").count == 1)
        #expect(findings(marker.replacing("A.swift", with: "B.swift") + block, region).count == 1)
    }

    @Test func `a security case without a test → a finding`() {
        let tests = SourceFile(
            "Tests/MartletXTests/ATests.swift", "@Test func `b -> c`() {}\n@Test(\"d\")\nfunc d() {}\n")
        func findings(_ test: String, count: Int = MatrixRule.minCount) -> [Finding] {
            let rows = (1...count).map { "| \($0) | input | result | \(test) |\n" }.joined()
            return MatrixRule.findings(in: SourceTree([SourceFile(MatrixRule.path, rows), tests]))
        }
        #expect(findings("`ATests/b -> c`") == [] && findings("`ATests/d`") == [])
        #expect(findings("`ATests/b -> c`", count: MatrixRule.minCount - 1).count == 1)
        for test in ["`ATests/b`", "`BTests/b -> c`", "ATests/b -> c", ""] {
            #expect(findings(test).count == MatrixRule.minCount)
        }
    }

    @Test func `a corpus with too many or malformed inputs, or other files → a finding`() {
        func findings(_ path: String, _ text: String) -> [Finding] {
            CorpusRule.findings(in: SourceTree([SourceFile(CorpusRule.folder + path, text)]))
        }
        let most = String(repeating: "00ff\n", count: CorpusRule.maxCount)
        #expect(findings("tlv.hex", most) == [])
        #expect(findings("tlv.hex", most + "00\n").count == 1)
        #expect(findings("tlv.hex", "00f\n").count == 1)
        #expect(findings("tlv.hex", "\n").count == 1)
        #expect(findings("tlv/0a1b", "00").count >= 1)
    }

    @Test func `a planted fault without its invariant or test, or with the name of a different one → a finding`() {
        let ledger = SourceFile(PlantedBugRule.invariants, "case order = \"in order\"")
        let bugs = (1...PlantedBugRule.minCount).map { "## bug-\($0): it\nbreaks: in order\n" }.joined()
        func findings(_ list: String) -> [Finding] {
            PlantedBugRule.findings(
                in: SourceTree([ledger, SourceFile(PlantedBugRule.folder + "list.txt", list)]))
        }
        #expect(findings(bugs).isEmpty)
        #expect(findings(bugs + "## bug-1: again\n").count == 1)
        #expect(findings(bugs + "breaks: at random\n").count == 1)
        #expect(findings(bugs + "test: ATests/b is found\n").count == 1)
        #expect(findings("").count == 1)
    }
}
