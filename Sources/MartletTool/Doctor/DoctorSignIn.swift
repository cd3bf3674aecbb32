import MartletAuthentication
import MartletWire

/// The sign-in of `martlet doctor`: a hello without an exchange, or one that begins SCRAM-SHA-256-PLUS (C-68).
enum DoctorSignIn {
    /// No credential, or a token.
    case token(Credential?)
    case password(String)

    /// The number of random bytes of the nonce.
    private static let nonceByteCount = 24

    /// The kind of the secret; nil without a credential.
    var secret: DoctorReport.Secret? {
        switch self {
        case .token(nil): nil
        case .token: .token
        case .password: .password
        }
    }

    /// Signs in, and returns the welcome and the duration from the hello to it.
    func run(
        _ hello: Hello, on probe: RelayProbe, timeout: Duration
    ) async throws(DoctorFailure) -> (welcome: Welcome, duration: Duration) {
        switch self {
        case .token(let credential):
            let reply = await probe.send(hello.with(credential), within: timeout)
            return (try reply.answer.welcome(), reply.duration)
        case .password(let password):
            return try await run(hello, password, on: probe, timeout: timeout)
        }
    }

    private func run(
        _ hello: Hello, _ password: String, on probe: RelayProbe, timeout: Duration
    ) async throws(DoctorFailure) -> (welcome: Welcome, duration: Duration) {
        guard let binding = await probe.channelBinding() else { throw .serverUnverified }
        var random = SystemRandomNumberGenerator()
        let nonce = (0..<Self.nonceByteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        do {
            var machine = try SCRAMClient(
                userName: hello.account.text, password: password, nonce: nonce, channelBinding: binding)
            let mechanism = MechanismName(binding == .none ? "SCRAM-SHA-256" : "SCRAM-SHA-256-PLUS")
            let first = await probe.send(hello.with(Credential(machine.start()), mechanism), within: timeout)
            let message = try first.answer.challenge()
            let proof = Credential(try machine.receive(serverFirst: message.bytes))
            let second = await probe.send(Auth(credential: proof), within: timeout)
            let welcome = try second.answer.welcome()
            try machine.receive(serverFinal: welcome.credential?.bytes ?? [])
            return (welcome, first.duration + second.duration)
        } catch let failure as DoctorFailure {
            throw failure
        } catch SCRAMError.invalidPassword, SCRAMError.invalidUserName {
            throw .invalidPassword
        } catch {
            throw .serverUnverified
        }
    }
}

extension Hello {
    fileprivate func with(_ credential: Credential?, _ mechanism: MechanismName? = nil) -> Hello {
        Hello(
            spokenVersions: spokenVersions, features: features, limits: limits, device: device, account: account,
            mechanism: mechanism, credential: credential, agent: agent)
    }
}

extension RelayProbe.Answer {
    fileprivate func welcome() throws(DoctorFailure) -> Welcome {
        if case .welcome(let welcome) = self { return welcome }
        throw unexpected
    }

    fileprivate func challenge() throws(DoctorFailure) -> Credential {
        if case .challenge(let message) = self { return message }
        throw unexpected
    }

    /// The failure for an unexpected answer.
    private var unexpected: DoctorFailure {
        switch self {
        case .failed(let failure): failure
        case .challenge: .unexpected(.auth)
        case .welcome: .unexpected(.welcome)
        case .open, .pong, .response: .unexpected(.pong)
        }
    }
}
