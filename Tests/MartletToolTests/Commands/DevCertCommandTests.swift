import Foundation
import MartletToolTestSupport
import Testing

@testable import MartletTool
@testable import MartletToolSupport

@Suite struct DevCertCommandTests {
    private func run(_ words: String...) throws {
        var parser = ArgumentParser(for: DevCertCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        _ = try DevCertCommand.run(arguments)
    }

    @Test(arguments: ["x,email:root@bank", "x,IP:9.9.9.9", "a\nb", "a b", "\u{E9}", ""])
    func `a host that is none -> a usage error, and no files`(host: String) throws {
        try withTemporaryFolder { folder in
            #expect(throws: UsageError.self) { try run("--directory", "\(folder)/certs", "--host", host) }
            #expect(!FileManager.default.fileExists(atPath: "\(folder)/certs"))
        }
    }

    @Test func `a directory in others that do not exist -> all are made; a file in its place -> an error`() throws {
        try withTemporaryFolder { folder in
            try run("--directory", "\(folder)/a/b/")
            #expect(FileManager.default.fileExists(atPath: "\(folder)/a/b/ca.pem"))
            let text = "cannot make the folder \(folder)/a/b/ca.pem/c"
            #expect(throws: CommandError(.cannotCreate, text)) { try run("--directory", "\(folder)/a/b/ca.pem/c") }
        }
    }

    /// The DER form of a certificate.
    private func encoded(_ path: String) throws -> [UInt8] {
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let text = lines.filter { !$0.hasPrefix("-----") }.joined()
        return [UInt8](try #require(Data(base64Encoded: text)))
    }

    /// Whether the DER form of a certificate contains these bytes.
    private func contains(_ part: [UInt8], _ path: String) throws -> Bool {
        let bytes = try encoded(path)
        return bytes.indices.contains { bytes[$0...].starts(with: part) }
    }

    @Test func `host names, a wildcard and addresses -> all of them are in the certificate`() throws {
        try withTemporaryFolder { folder in
            try run("-d", folder, "--host", "a.example", "--host", "*.example.com", "--host", "192.0.2.1")
            // The tags of names and addresses (RFC 5280, section 4.2.1.6), and the length.
            for name in ["localhost", "a.example", "*.example.com"] {
                let start: [UInt8] = [0x82, UInt8(name.utf8.count)]
                #expect(try contains(start + Array(name.utf8), "\(folder)/server.pem"), "\(name)")
            }
            for address in [[127, 0, 0, 1], [192, 0, 2, 1]] as [[UInt8]] {
                #expect(try contains([0x87, 4] + address, "\(folder)/server.pem"), "\(address)")
            }
        }
    }

    @Test func `the certificates of the server and of the client -> each for its use only`() throws {
        try withTemporaryFolder { folder in
            try run("-d", folder)
            // The object identifiers of the two uses (RFC 5280, section 4.2.1.12).
            let start: [UInt8] = [0x06, 8, 0x2B, 6, 1, 5, 5, 7, 3]
            for (name, use, other) in [("server", 1, 2), ("client", 2, 1)] as [(String, UInt8, UInt8)] {
                #expect(try contains(start + [use], "\(folder)/\(name).pem"), "\(name)")
                #expect(try !contains(start + [other], "\(folder)/\(name).pem"), "\(name)")
            }
        }
    }

    @Test func `the keys -> files that only their owner can read`() throws {
        try withTemporaryFolder { folder in
            try run("-d", folder)
            for name in ["ca", "server", "client"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name).key")
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
            }
        }
    }

    /// The validity of a certificate in days: the first two UTCTime values of its DER form (RFC 5280, section 4.1.2.5).
    private func dayCount(_ path: String) throws -> Int {
        let bytes = try encoded(path)
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "yyyyMMddHHmmss"
        let times = bytes.indices.dropLast(15).compactMap { index -> Date? in
            guard bytes[index] == 0x17, bytes[index + 1] == 13, bytes[index + 14] == UInt8(ascii: "Z") else {
                return nil
            }
            return format.date(from: "20" + String(decoding: bytes[index + 2..<index + 14], as: UTF8.self))
        }
        try #require(times.count == 2)
        return Int(times[0].distance(to: times[1]) / 86_400)
    }

    @Test func `the authority, which later runs use -> valid for ten years, and the certificates for 398 days`() throws
    {
        try withTemporaryFolder { folder in
            try run("-d", folder)
            #expect(try dayCount("\(folder)/ca.pem") == 3650)
            #expect(try dayCount("\(folder)/server.pem") == 398)
            #expect(try dayCount("\(folder)/client.pem") == 398)
        }
    }

    @Test(arguments: [String(repeating: "x", count: 65), "a\nb", ""])
    func `a client that is no name of an account, or too long for a certificate -> a usage error`(name: String) throws {
        try withTemporaryFolder { folder -> Void in
            #expect(throws: UsageError.self) { try run("--directory", folder, "--client", name) }
        }
    }

    @Test func `the key of another authority -> an error that names the certificate`() throws {
        try withTemporaryFolder { folder in
            try run("-d", "\(folder)/one")
            try run("-d", "\(folder)/two")
            try FileManager.default.removeItem(atPath: "\(folder)/one/ca.key")
            try FileManager.default.copyItem(atPath: "\(folder)/two/ca.key", toPath: "\(folder)/one/ca.key")
            let text = "\(folder)/one/ca.pem: the key does not belong to the certificate"
            #expect(throws: CommandError(.cannotCreate, text)) { try run("-d", "\(folder)/one") }
        }
    }

    @Test func `a file in place of the directory -> an error that names it`() throws {
        try withTemporaryFolder { folder in
            let path = "\(folder)/file"
            try Data().write(to: URL(fileURLWithPath: path))
            #expect(throws: CommandError(.cannotCreate, "cannot make the folder \(path)")) { try run("-d", path) }
        }
    }
}
