import Foundation
import Testing

@testable import MartletTool

@Suite struct CommandTableTests {
    /// The root of the package.
    private static let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardized

    @Test func `the version is the one at the head of the changelog`() throws {
        let changelog = try String(contentsOf: Self.root.appendingPathComponent("CHANGELOG.md"), encoding: .utf8)
        let heading = try #require(changelog.split(separator: "\n").first { $0.hasPrefix("## ") })
        #expect(heading.split { " []".contains($0) }.contains(CommandTable.version[...]))
        #expect(CommandTable.program == "martlet \(CommandTable.version)")
    }

    @Test func `the version is the one in the README`() throws {
        let readme = try String(contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8)
        #expect(readme.contains("Version \(CommandTable.version) "))
    }
}
