import MartletTransport
import MartletWire

/// The client's side of SOCKS 5 (RFC 1928), with a user name and a password (RFC 1929), by which the proxy connects to
/// a server and resolves its name (C-129).
///
/// | state | owns | ends |
/// |---|---|---|
/// | greeting | the bytes of the chosen method so far | two bytes, a fault, the timeout of the attempt |
/// | authenticating | the bytes of the status so far | two bytes, a fault, the timeout of the attempt |
/// | connecting | the bytes of the reply so far, at most `maxReplyByteCount` | the reply, a fault, the timeout of the attempt |
struct SOCKS5Handshake: Sendable {
    /// The number of bytes of a reply with the longest name.
    static let maxReplyByteCount = 4 + 1 + 255 + 2  // bound

    private enum State: Sendable {
        case greeting
        case authenticating
        case connecting
    }

    private enum Method {
        static let none: UInt8 = 0
        static let password: UInt8 = 2
    }

    private static let version: UInt8 = 5
    private static let passwordVersion: UInt8 = 1

    private let endpoint: Endpoint
    private let credentials: ProxyCredentials?
    private var state = State.greeting
    private var answer: [UInt8] = []

    init(to endpoint: Endpoint, credentials: ProxyCredentials?) {
        (self.endpoint, self.credentials) = (endpoint, credentials)
    }

    /// The first bytes: the methods of authentication.
    var greeting: [UInt8] {
        let methods = credentials == nil ? [Method.none] : [Method.none, Method.password]
        return [Self.version, UInt8(methods.count)] + methods
    }

    /// Takes received bytes, up to the end of the reply.
    mutating func receive(_ bytes: RawSpan) -> ProxyHandshake.Step {
        for index in 0..<bytes.byteCount {
            answer.append(bytes.loadUInt8(at: index))
            let step = next()
            if step == .incomplete { continue }
            if case .connected = step { return .connected(byteCount: index + 1) }
            // The proxy speaks only when it is asked.
            if case .send = step, index + 1 < bytes.byteCount { return .failed(.invalidSOCKS) }
            return step
        }
        return .incomplete
    }

    private mutating func next() -> ProxyHandshake.Step {
        let version = state == .authenticating ? Self.passwordVersion : Self.version
        guard answer[0] == version else { return .failed(.invalidSOCKS) }
        guard answer.count >= 2 else { return .incomplete }
        switch state {
        case .greeting: return chosen(method: answer[1])
        case .authenticating: return answer[1] == 0 ? connect() : .failed(.authenticationFailed)
        case .connecting: return replied()
        }
    }

    private mutating func chosen(method: UInt8) -> ProxyHandshake.Step {
        switch (method, credentials) {
        case (Method.none, _): return connect()
        case (Method.password, let credentials?):
            (state, answer) = (.authenticating, [])
            let (user, password) = (credentials.user, credentials.password)
            return .send(
                [Self.passwordVersion, UInt8(user.count)] + user + [UInt8(password.count)] + password)
        // No method is acceptable.
        case (0xFF, _): return .failed(credentials == nil ? .authenticationRequired : .authenticationFailed)
        default: return .failed(.invalidSOCKS)
        }
    }

    private mutating func connect() -> ProxyHandshake.Step {
        (state, answer) = (.connecting, [])
        var request: [UInt8] = [Self.version, 1, 0]
        if let address = IPAddress(endpoint.host) {
            request.append(address.isIPv6 ? 4 : 1)
            request += address.bytes
        } else {
            request += [3, UInt8(endpoint.host.utf8.count)] + endpoint.host.utf8
        }
        request.append(bigEndian: endpoint.port)
        return .send(request)
    }

    private func replied() -> ProxyHandshake.Step {
        if answer[1] != 0 { return .failed(.reply(SOCKSReply(answer[1]))) }
        guard answer.count >= 3 else { return .incomplete }
        guard answer[2] == 0 else { return .failed(.invalidSOCKS) }
        guard answer.count >= 5 else { return .incomplete }
        let addressByteCount: Int
        switch answer[3] {
        case 1: addressByteCount = 4
        case 3: addressByteCount = 1 + Int(answer[4])
        case 4: addressByteCount = 16
        default: return .failed(.invalidSOCKS)
        }
        return answer.count < 4 + addressByteCount + 2 ? .incomplete : .connected(byteCount: 0)
    }
}
