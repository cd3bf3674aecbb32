import Foundation
import Testing

@testable import MartletAuthentication

/// Replays `Specs/vectors/scram.json`: the exchange of RFC 7677, the same with the channel binding of RFC 9266, and
/// exchanges that one side refuses (C-68, C-69, C-70).
@Suite struct SCRAMVectorTests {
    struct Vector: Decodable, CustomTestStringConvertible {
        enum Refused: String, Decodable {
            case challenge, proof, signature
        }

        var name: String
        var user: String
        var password: String
        var clientNonce: String
        var serverNonce: String
        var exporter: String?
        var messages: [[String]]
        var refusedMessage: Refused?

        var testDescription: String { name }

        func message(_ index: Int) -> [UInt8] { Array(messages[index].joined().utf8) }

        /// The bytes of the exporter.
        var exporterBytes: [UInt8]? {
            exporter.map { digits in
                stride(from: 0, to: digits.utf8.count, by: 2).compactMap {
                    UInt8(digits.dropFirst($0).prefix(2), radix: 16)
                }
            }
        }

        var client: SCRAMClient {
            get throws {
                let hasFlag = messages[0].joined().hasPrefix("y")
                let binding = exporterBytes.map(ChannelBinding.tlsExporter) ?? (hasFlag ? .unsupportedByServer : .none)
                return try SCRAMClient(
                    userName: user, password: password, nonceText: clientNonce, channelBinding: binding)
            }
        }

        /// A server that has sent its challenge.
        var server: SCRAMServer {
            get throws {
                var server = try SCRAMServer(
                    nonceText: serverNonce, binding: exporterBytes.map { .required(exporter: $0) } ?? .none,
                    unknownUsers: .sample)
                #expect(try server.receive(clientFirst: message(0)) == user)
                let record = try SCRAMRecord(password: password, salt: SCRAMRecord.sample.salt, iterations: 4096)
                let challenge = try server.challenge(with: record)
                if refusedMessage != .challenge { #expect(challenge == message(1)) }
                return server
            }
        }
    }

    private struct File: Decodable {
        var vectors: [Vector]
    }

    private static let vectors: [Vector] = {
        let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let data = try? Data(contentsOf: root.appending(path: "Specs/vectors/scram.json"))
        return data.flatMap { try? JSONDecoder().decode(File.self, from: $0) }?.vectors ?? []
    }()

    @Test func `the file has exchanges with and without channel bindings, and each refusal`() {
        #expect(Self.vectors.count { $0.refusedMessage == nil && $0.exporter != nil } >= 1)
        #expect(Set(Self.vectors.map(\.refusedMessage)).count == 4)
    }

    @Test(arguments: vectors) func `the client sends its messages, and refuses as stated`(vector: Vector) throws {
        var client = try vector.client
        #expect(client.start() == vector.message(0))
        guard vector.refusedMessage != .challenge else {
            #expect(throws: SCRAMError.self) { try client.receive(serverFirst: vector.message(1)) }
            return
        }
        let proof = try client.receive(serverFirst: vector.message(1))
        guard vector.refusedMessage != .proof else { return }
        #expect(proof == vector.message(2))
        guard vector.refusedMessage == nil else {
            #expect(throws: SCRAMError.invalidServerSignature) { try client.receive(serverFinal: vector.message(3)) }
            return
        }
        try client.receive(serverFinal: vector.message(3))
        #expect(client.isFinished)
    }

    @Test(arguments: vectors) func `the server sends its messages, and refuses as stated`(vector: Vector) throws {
        var server = try vector.server
        guard vector.refusedMessage != .challenge else { return }
        guard vector.refusedMessage != .proof else {
            #expect(throws: SCRAMError.self) { try server.receive(clientFinal: vector.message(2)) }
            return
        }
        let final = try server.receive(clientFinal: vector.message(2))
        #expect((final == vector.message(3)) == (vector.refusedMessage == nil))
        #expect(server.authenticatedName != nil)
    }
}
