import Foundation
import MartletDecode
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletLab
@testable import MartletToolSupport

@Suite struct CaptureFileTests {
    @Test func `a capture file replaces an earlier one`() throws {
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

    @Test func `an invalid path → an error`() throws {
        try withTemporaryFolder { folder in
            let error = #expect(throws: CommandError.self) { try CaptureFile(path: folder + "/none/a.pcap") }
            #expect(error?.code == .cannotCreate)
        }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func `a full disk ends the capture with an error`() throws {
        let file = try CaptureFile(path: "/dev/full")
        file.write([UInt8](repeating: 3, count: 100_000))
        file.write([UInt8](repeating: 3, count: 100_000))
        let error = #expect(throws: CommandError.self) { try file.finish() }
        #expect(error?.code == .inputOutput)
    }
}
