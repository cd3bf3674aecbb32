import Foundation
import MartletToolSupport
import MartletToolTestSupport
import Testing

@testable import MartletTool

@Suite struct ProgramTests {
    /// The root of the package.
    private static let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardized

    @Test func `every command → complete help without duplicate options`() {
        expectCompleteHelp(of: MartletTool.program)
    }

    @Test func `version → the heading of the changelog`() throws {
        let changelog = try String(contentsOf: Self.root.appendingPathComponent("CHANGELOG.md"), encoding: .utf8)
        let heading = try #require(changelog.split(separator: "\n").first { $0.hasPrefix("## ") })
        #expect(heading.split { " []".contains($0) }.contains(CommandLineProgram.version[...]))
        #expect(MartletTool.program.title == "martlet \(CommandLineProgram.version)")
    }

    @Test func `version → the version in the README`() throws {
        let readme = try String(contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8)
        #expect(readme.contains("Version \(CommandLineProgram.version) "))
    }
}
