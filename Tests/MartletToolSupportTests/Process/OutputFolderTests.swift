import Foundation
import Testing

@testable import MartletToolSupport

@Suite struct OutputFolderTests {
    private func fault(_ path: String, isCreated: Bool = false) -> String? {
        do throws(CommandError) {
            try OutputFolder.check(path, "the files", isCreated: isCreated)
            return nil
        } catch { return error.message }
    }

    @Test func `a folder → valid; a missing one → an error, unless it is created in a folder that exists`() throws {
        let folder = NSTemporaryDirectory() + "martlet-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(fault(folder) == nil && fault("/") == nil && fault(".") == nil)
        let missing = "\(folder)/new"
        #expect(fault(missing) == "cannot write the files in \(missing): No such file or directory")
        #expect(fault(missing, isCreated: true) == nil && fault("\(missing)//", isCreated: true) == nil)
        let parent = fault("\(missing)/er", isCreated: true)
        #expect(parent == "cannot write the files in \(missing): No such file or directory")
        #expect(fault("no-such-folder", isCreated: true) == nil && fault("/no-such-folder", isCreated: true) == nil)
        try Data().write(to: URL(filePath: missing))
        #expect(fault(missing, isCreated: true) == "cannot write the files in \(missing): it is not a folder")
    }
}
