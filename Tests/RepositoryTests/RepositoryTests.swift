import Testing

/// The rules, applied to this repository. RuleTests and TreeRuleTests test that each rule can fail.
@Suite("The repository keeps its rules")
struct RepositoryTests {
    private let tree = SourceTree.martlet

    @Test func `the tree was found`() {
        #expect(
            tree.paths.isSuperset(of: ["Package.swift", "Makefile", ".ci/run", "Sources/MartletWire", "README.md"]))
        #expect(tree.swiftFiles.contains { $0.path == "Tests/RepositoryTests/RepositoryTests.swift" })
        #expect(!tree.paths.contains { $0.hasPrefix(".build") || $0.hasPrefix(".git/") })
    }

    @Test func `imports point the right way`() {
        expectNone(tree.files.flatMap(ImportRule.findings(in:)))
        expectNone(ImportRule.findings(forFoldersOf: tree))
    }

    @Test func `the wire and the protocol read no clock and no random source`() {
        expectNone(tree.files.flatMap(PurityRule.findings(in:)))
    }

    @Test func `nothing is left unfinished`() {
        expectNone(tree.files.flatMap(MarkRule.findings(in:)))
    }

    @Test func `no test waits for the wall clock`() {
        expectNone(tree.files.flatMap(MarkRule.findingsOfWaiting(in:)))
    }

    @Test func `files are small, lines fit, and names say what is inside`() {
        expectNone(tree.files.flatMap(ShapeRule.findings(in:)))
    }

    @Test func `whatever sets a check of the compiler aside says why`() {
        expectNone(tree.files.flatMap(EscapeRule.findings(in:)))
    }

    @Test func `tests mirror the sources`() {
        expectNone(MirrorRule.findings(in: tree))
    }

    @Test func `links, targets and citations lead somewhere`() {
        expectNone(LinkRule.findingsOfLinks(in: tree))
        expectNone(LinkRule.findingsOfTargets(in: tree))
        expectNone(CitationRule.findings(in: tree))
    }

    @Test func `every requirement is cited by the code that keeps it and by a test`() {
        expectNone(RequirementRule.findings(in: tree))
    }

    @Test func `every planted fault still has its one place in the code`() {
        expectNone(PlantedBugRule.findings(in: tree))
    }

    @Test func `every bound of the architecture is declared in the code`() {
        expectNone(BoundRule.findings(in: tree))
    }

    @Test func `the fuzz targets have at most 300 inputs`() {
        expectNone(CorpusRule.findings(in: tree))
    }

    @Test func `the README shows what the tests compile`() {
        expectNone(SnippetRule.findings(in: tree))
    }
}
