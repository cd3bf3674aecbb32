import MartletTransport
import MartletWire
import Testing

@testable import MartletProxy

@Suite("SOCKS 5")
struct SOCKS5HandshakeTests {
    private static let endpoint = try! Endpoint(parsing: "martlets://chat.example:443")
    private static let request: [UInt8] = [5, 1, 0, 3, 12] + "chat.example".utf8 + [1, 0xBB]

    private static func handshake(_ proxy: String = "socks5h://p", to endpoint: Endpoint = endpoint) throws
        -> ProxyHandshake
    {
        ProxyHandshake(through: try ProxyAddress(proxy), to: endpoint, nonce: [])
    }

    /// The steps other than `incomplete` of bytes that arrive one at a time.
    private static func steps(_ bytes: [UInt8], by handshake: inout ProxyHandshake) -> [ProxyHandshake.Step] {
        var steps: [ProxyHandshake.Step] = []
        for byte in bytes {
            let step = handshake.receive([byte].rawBytes)
            if step != .incomplete { steps.append(step) }
        }
        return steps
    }

    // C-129
    @Test func `no authentication → a request with the name, and the stream behind the reply`() throws {
        let replies: [[UInt8]] = [
            [5, 0, 0, 1, 1, 2, 3, 4, 9, 9], [5, 0, 0, 3, 2, 0x61, 0x62, 9, 9], [5, 0, 0, 3, 0, 9, 9],
            [5, 0, 0, 4] + [UInt8](repeating: 0, count: 18),
        ]
        for reply in replies {
            var handshake = try Self.handshake()
            #expect(handshake.start() == [5, 1, 0])
            #expect(Self.steps([5, 0], by: &handshake) == [.send(Self.request)])
            var whole = handshake
            #expect(Self.steps(reply, by: &handshake) == [.connected(byteCount: 1)])
            #expect(whole.receive((reply + [1, 2]).rawBytes) == .connected(byteCount: reply.count))
        }
    }

    // C-129
    @Test func `numeric addresses → their bytes in the request`() throws {
        for (text, address) in [
            ("martlets://192.0.2.1:443", [1, 192, 0, 2, 1] as [UInt8]),
            ("martlets://[2001:db8::1]:443", [4, 0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]),
        ] {
            var handshake = try Self.handshake(to: try Endpoint(parsing: text))
            #expect(handshake.receive(([5, 0] as [UInt8]).rawBytes) == .send([5, 1, 0] + address + [1, 0xBB]))
        }
    }

    // C-129
    @Test func `a user name and a password → they are sent when the proxy asks for them`() throws {
        var handshake = try Self.handshake("socks5://ann:secret@p")
        #expect(handshake.start() == [5, 2, 0, 2])
        let password: [UInt8] = [1, 3] + "ann".utf8 + [6] + "secret".utf8
        #expect(Self.steps([5, 2], by: &handshake) == [.send(password)])
        var other = handshake
        #expect(Self.steps([1, 0], by: &handshake) == [.send(Self.request)])
        #expect(Self.steps([1, 7], by: &other) == [.failed(.authenticationFailed)])
        var anonymous = try Self.handshake("socks5://ann:secret@p")
        #expect(Self.steps([5, 0], by: &anonymous) == [.send(Self.request)])
    }

    // C-129
    @Test func `no acceptable method → credentials are required, or not accepted`() throws {
        var anonymous = try Self.handshake()
        #expect(Self.steps([5, 0xFF], by: &anonymous) == [.failed(.authenticationRequired)])
        var known = try Self.handshake("socks5://ann:secret@p")
        #expect(Self.steps([5, 0xFF], by: &known) == [.failed(.authenticationFailed)])
    }

    // C-129
    @Test func `each number of a reply → its typed failure`() throws {
        let named: [SOCKSReply] = [
            .generalFailure, .notAllowed, .networkUnreachable, .hostUnreachable, .connectionRefused, .expired,
            .commandNotSupported, .addressTypeNotSupported,
        ]
        for number in 1...UInt8.max {
            var handshake = try Self.handshake()
            _ = handshake.receive(([5, 0] as [UInt8]).rawBytes)
            let reply = number <= 8 ? named[Int(number) - 1] : .unassigned(number)
            #expect(Self.steps([5, number], by: &handshake) == [.failed(.reply(reply))])
        }
    }

    // C-129
    @Test(arguments: [
        [4], [0], [5, 1], [5, 2], [5, 0, 4], [5, 0, 5, 0, 1], [5, 0, 5, 0, 0, 2, 0], [5, 0, 5, 0, 0, 0, 0],
        Array("HTTP/1.1 400 Bad Request\r\n".utf8),
    ])
    func `another version, an unoffered method, a reserved byte, another kind of address → a failure`(
        bytes: [UInt8]
    ) throws {
        var handshake = try Self.handshake()
        #expect(
            Self.steps(bytes, by: &handshake).first { if case .send = $0 { false } else { true } }
                == .failed(.invalidSOCKS))
    }

    // C-129
    @Test func `bytes before they are due, and the end of the connection → failures`() throws {
        var handshake = try Self.handshake()
        #expect(handshake.receive(([5, 0, 5] as [UInt8]).rawBytes) == .failed(.invalidSOCKS))
        #expect(try Self.handshake().ended() == .failed(.closed))
    }
}
