import Foundation
import MartletWire
import Testing

@testable import Martlet

@Suite struct RecordingFileTests {
    @Test func `later recording replaces the file, which only its owner can read`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = RecordingFile(folder: folder.path, device: DeviceID(rawValue: 255), number: 3)
        #expect(file.path == "\(folder.path)/martlet-ff-3.flight")
        #expect(file.write([1, 2, 3]) == nil)
        #expect(file.write([4, 5]) == nil)
        #expect(try Array(Data(contentsOf: URL(filePath: file.path))) == [4, 5])
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func `folder that does not exist -> a failure`() {
        let file = RecordingFile(folder: "/nonexistent", device: DeviceID(rawValue: 1), number: 0)
        #expect(file.write([1]) != nil)
    }
}
