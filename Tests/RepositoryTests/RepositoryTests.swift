import Testing

/// The rules, applied to this repository. RuleTests and TreeRuleTests test that each rule can fail.
@Suite("Rules of the repository")
struct RepositoryTests {
    private let tree = SourceTree.martlet

    @Test func `the tree contains the files of the package and no generated ones`() {
        #expect(
            tree.paths.isSuperset(of: ["Package.swift", "Makefile", ".ci/run", "Sources/MartletWire", "README.md"]))
        #expect(tree.swiftFiles.contains { $0.path == "Tests/RepositoryTests/RepositoryTests.swift" })
        #expect(!tree.paths.contains { $0.hasPrefix(".build") || $0.hasPrefix(".git/") })
    }

    @Test func `modules import permitted modules only`() {
        expectNone(tree.files.flatMap(ImportRule(tree).findings(in:)))
    }

    @Test func `the wire and the protocol read no clock and no random source`() {
        expectNone(tree.files.flatMap(PurityRule.findings(in:)))
    }

    @Test func `the protocol holds no state of another owner`() {
        expectNone(tree.files.flatMap(PurityRule.findingsOfReferences(in:)))
    }

    @Test func `targets that applications build have the prefix Martlet or CMartlet`() {
        expectNone(TargetNameRule.findings(in: tree))
    }

    @Test func `symbols of C and variables of the environment have the prefix of the project`() {
        expectNone(tree.files.flatMap(GlobalNameRule.findings(in:)))
    }

    @Test func `names are not keys or properties of the type String`() {
        expectNone(tree.files.flatMap(NameKeyRule.findings(in:)))
        expectNone(NameKeyRule.findings(ofPermissionsIn: tree))
    }

    @Test func `arithmetic on numbers of peers and files does not trap`() {
        expectNone(NumberRule.findings(in: tree))
    }

    @Test func `no accessor yields a value that a debug build releases twice`() {
        expectNone(tree.files.flatMap(YieldRule.findings(in:)))
    }

    @Test func `other modules of the package can inline what is inlinable`() {
        expectNone(tree.files.flatMap(InlinableRule.findings(in:)))
    }

    @Test func `no file contains a mark of unfinished work`() {
        expectNone(tree.files.flatMap(MarkRule.findings(in:)))
    }

    @Test func `no file contains a phrase of a translation`() {
        expectNone(tree.files.flatMap(MarkRule.findingsOfTranslation(in:)))
    }

    @Test func `no child is started by Foundation`() {
        expectNone(tree.files.flatMap(MarkRule.findingsOfChildren(in:)))
    }

    @Test func `no test waits beyond its time limit`() {
        expectNone(tree.files.flatMap(MarkRule.findingsOfEndlessWaits(in:)))
    }

    @Test func `no code asks for the name of a Unicode scalar`() {
        expectNone(tree.files.flatMap(MarkRule.findingsOfScalarNames(in:)))
    }

    @Test func `no test waits for the wall clock`() {
        expectNone(tree.files.flatMap(MarkRule.findingsOfWaiting(in:)))
    }

    @Test func `lines are within their limit, and names are specific`() {
        expectNone(tree.files.flatMap(ShapeRule.findings(in:)))
    }

    @Test func `each disabled check of the compiler has its reason`() {
        expectNone(tree.files.flatMap(EscapeRule.findings(in:)))
    }

    @Test func `each test file has its source file`() {
        expectNone(MirrorRule.findings(in: tree))
    }

    @Test func `links, targets and citations exist`() {
        expectNone(LinkRule.findingsOfLinks(in: tree))
        expectNone(LinkRule.findingsOfTargets(in: tree))
        expectNone(CitationRule.findings(in: tree))
    }

    @Test func `each requirement is cited by code and by a test`() {
        expectNone(RequirementRule.findings(in: tree))
    }

    @Test func `each security case has a test`() {
        expectNone(MatrixRule.findings(in: tree))
    }

    @Test func `each planted fault has exactly one place in the code`() {
        expectNone(PlantedBugRule.findings(in: tree))
    }

    @Test func `the table of folders names each folder`() {
        expectNone(FolderRule.findings(in: tree))
    }

    @Test func `each bound is on the page of bounds and declared in the code`() {
        expectNone(BoundRule.findings(in: tree))
    }

    @Test func `the fuzz targets have at most 318 inputs`() {
        expectNone(CorpusRule.findings(in: tree))
    }

    @Test func `the tests compile the Swift code of the README`() {
        expectNone(SnippetRule.findings(in: tree))
    }
}
