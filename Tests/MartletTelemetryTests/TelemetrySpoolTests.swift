import Foundation
import MartletTransport
import Testing

@testable import MartletTelemetry

@Suite struct TelemetrySpoolTests {
    /// A folder that is removed at the end.
    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "spool-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    private func lines(_ range: Range<Int>) -> [[UInt8]] { range.map { Array("m f=\($0)i \($0)\n".utf8) } }

    private func files(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != "lock" }.sorted()
    }

    /// Takes all lines.
    private func drain(_ spool: TelemetrySpool, byteCount: Int = 1 << 18) async throws -> [[UInt8]] {
        var found: [[UInt8]] = []
        while let batch = try await spool.next(byteCount: byteCount).batch {
            found += batch.lines
            try await spool.taken(batch)
        }
        return found
    }

    //
    @Test func `appended lines → read in order, in parts, and again until they are taken`() async throws {
        try await withFolder { folder in
            let spool = try TelemetrySpool(folder, maxByteCount: 1 << 20)
            #expect(try await spool.next(byteCount: 100).batch == nil)
            try await spool.append(lines(0..<100))
            try await spool.append(lines(100..<200))
            let first = try #require(try await spool.next(byteCount: 100).batch)
            #expect(first.lines == Array(lines(0..<200).prefix(first.lines.count)) && first.lines.count < 10)
            #expect(try await spool.next(byteCount: 100).batch?.lines == first.lines)
            #expect(try await drain(spool, byteCount: 100) == lines(0..<200))
            #expect(spool.byteCount == 0)
            try await spool.append(lines(200..<201))
            #expect(try files(folder).count == 1)
            #expect(try await drain(spool) == lines(200..<201))
        }
    }

    //
    @Test func `a spool that is opened again → the lines that were not taken, from its start on`() async throws {
        try await withFolder { folder in
            var spool: TelemetrySpool? = try TelemetrySpool(folder, maxByteCount: 1 << 20)
            // More than one segment.
            for number in 0..<40 { try await spool?.append(lines(number * 200..<number * 200 + 200)) }
            let count = try files(folder).count
            #expect(count > 1)
            spool = nil
            let again = try TelemetrySpool(folder, maxByteCount: 1 << 20)
            #expect(again.byteCount > 0)
            try await again.append(lines(8000..<8001))
            #expect(try files(folder).count == count + 1)
            #expect(try await drain(again) == lines(0..<8001))
            #expect(again.byteCount == 0)
            #expect(try files(folder).count == 1)
        }
    }

    //
    @Test func `a folder that is in use → refused until its user ends`() async throws {
        try await withFolder { folder in
            var spool: TelemetrySpool? = try TelemetrySpool(folder, maxByteCount: 1 << 20)
            #expect(throws: FileError.inUse) { try TelemetrySpool(folder, maxByteCount: 1 << 20) }
            #expect(spool != nil)
            spool = nil
            _ = try TelemetrySpool(folder, maxByteCount: 1 << 20)
        }
    }

    //
    @Test func `a full spool → further lines are refused, and none that were taken are lost`() async throws {
        try await withFolder { folder in
            let spool = try TelemetrySpool(folder, maxByteCount: 2000)
            var kept = 0
            do throws(TelemetrySpool.Failure) {
                while true {
                    try await spool.append(lines(kept..<kept + 10))
                    kept += 10
                }
            } catch { #expect(error == .full) }
            #expect(spool.byteCount <= 2000 && kept > 50)
            #expect(try await drain(spool) == lines(0..<kept))
            try await spool.append(lines(0..<10))
        }
    }

    //
    @Test func `concurrent appends → all are durable`() async throws {
        try await withFolder { folder in
            let spool = try TelemetrySpool(folder, maxByteCount: 1 << 20)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 { group.addTask { try await spool.append(self.lines(number..<number + 1)) } }
                try await group.waitForAll()
            }
            #expect(Set(try await drain(spool)) == Set(lines(0..<200)))
        }
    }

    //
    @Test func `foreign, damaged and shortened files → the undamaged lines; foreign files remain`() async throws {
        try await withFolder { folder in
            var spool: TelemetrySpool? = try TelemetrySpool(folder, maxByteCount: 1 << 24)
            try await spool?.append(lines(0..<3))
            spool = nil
            let manager = FileManager.default
            let name = try #require(try files(folder).first)
            let bytes = try #require(manager.contents(atPath: "\(folder)/\(name)"))
            // A damaged copy with a later number, a folder, a link, an impossible number and other names.
            var damaged = bytes
            damaged[10] ^= 1
            let foreign = ["0000000000000007.spool", "ffffffffffffffff.spool", "0000000000000008.SPOOL", "x.spool"]
            #expect(manager.createFile(atPath: "\(folder)/0000000000000005.spool", contents: damaged))
            try manager.createDirectory(atPath: "\(folder)/\(foreign[0])", withIntermediateDirectories: false)
            for other in foreign.dropFirst() {
                #expect(manager.createFile(atPath: "\(folder)/\(other)", contents: bytes))
            }
            try manager.createSymbolicLink(
                atPath: "\(folder)/0000000000000006.spool", withDestinationPath: "/etc/passwd")
            let again = try TelemetrySpool(folder, maxByteCount: 1 << 24)
            try Data(bytes.dropLast(5)).write(to: URL(filePath: "\(folder)/\(name)"))
            let (batch, _) = try await again.next(byteCount: 1 << 18)
            #expect(batch?.lines == lines(0..<2))
            try await again.taken(try #require(batch))
            let second = try await again.next(byteCount: 1 << 18)
            #expect(second.batch?.lines == lines(1..<3) && second.damagedByteCount > 0)
            try await again.append(lines(9..<10))
            #expect(try await drain(again) == lines(1..<3) + lines(9..<10))
            #expect(Set(try files(folder)).isSuperset(of: foreign))
        }
    }

    //
    @Test func `a segment that is removed by others → reported, and the next one is read`() async throws {
        try await withFolder { folder in
            var spool: TelemetrySpool? = try TelemetrySpool(folder, maxByteCount: 1 << 20)
            try await spool?.append(lines(0..<3))
            spool = nil
            let again = try TelemetrySpool(folder, maxByteCount: 1 << 20)
            try await again.append(lines(3..<4))
            for name in try files(folder) { try FileManager.default.removeItem(atPath: "\(folder)/\(name)") }
            let (batch, damagedByteCount) = try await again.next(byteCount: 1 << 18)
            #expect(batch?.lines == lines(3..<4) && damagedByteCount > 0)
            try await again.taken(try #require(batch))
            #expect(again.byteCount == 0)
        }
    }

    //
    @Test func `a folder that cannot be written → an error, and lines later`() async throws {
        try await withFolder { folder in
            let spool = try TelemetrySpool(folder, maxByteCount: 1 << 20)
            // The name of the next segment is taken by a folder.
            let next = "\(folder)/0000000000000001.spool"
            try FileManager.default.createDirectory(atPath: next, withIntermediateDirectories: false)
            await #expect(throws: TelemetrySpool.Failure.self) { try await spool.append(lines(0..<1)) }
            try await spool.append(lines(1..<2))
            #expect(try await drain(spool) == lines(1..<2))
        }
    }
}
