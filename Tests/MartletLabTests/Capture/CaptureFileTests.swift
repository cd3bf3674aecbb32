import Foundation
import MartletDecode
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletLab
@testable import MartletToolSupport

@Suite struct CaptureFileTests {
    @Test func `what was written is there, and a file that was there is not`() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/a.pcap"
            try Data([9, 9, 9]).write(to: URL(fileURLWithPath: path))
            let file = try CaptureFile(path: path)
            file.write([1, 2])
            file.write([UInt8](repeating: 3, count: 100_000))
            try file.finish()
            file.write([4])
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            #expect(bytes == Data(PcapWriter.header + [1, 2] + [UInt8](repeating: 3, count: 100_000)))
        }
    }

    @Test func `a path that cannot be written`() throws {
        try withTemporaryFolder { folder in
            let error = #expect(throws: CommandError.self) { try CaptureFile(path: folder + "/none/a.pcap") }
            #expect(error?.code == .cannotCreate)
        }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func `a disc that is full ends the capture, and says so`() throws {
        let file = try CaptureFile(path: "/dev/full")
        file.write([UInt8](repeating: 3, count: 100_000))
        file.write([UInt8](repeating: 3, count: 100_000))
        let error = #expect(throws: CommandError.self) { try file.finish() }
        #expect(error?.code == .inputOutput)
    }
}
