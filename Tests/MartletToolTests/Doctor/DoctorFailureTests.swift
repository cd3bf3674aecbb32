import MartletToolSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct DoctorFailureTests {
    private func explanation(_ notice: Notice) -> DoctorExplanation { DoctorFailure.refused(notice).explanation }

    @Test func `the code of a reject → exit code and advice`() {
        let codes: [(ErrorCode, ExitCode)] = [
            (.unauthenticated, .noPermission), (.forbidden, .noPermission), (.revoked, .noPermission),
            (.unsupportedVersion, .protocolError), (.serverBusy, .unavailable), (.draining, .unavailable),
            (.tooManyLinks, .unavailable), (.invalidHello, .protocolError),
        ]
        for (code, exitCode) in codes {
            let explanation = explanation(Notice(code: code))
            #expect(explanation.code == exitCode && explanation.name == code.name)
            #expect(explanation.found == "the relay refuses: \(code)")
        }
    }

    @Test func `reason, delay, redirect and versions of a reject → in the findings`() {
        let busy = explanation(Notice(code: .serverBusy, reason: "full", retryAfter: .seconds(5)))
        #expect(busy.found == "the relay refuses: \(ErrorCode.serverBusy) (full), try again after 5.00 s")
        let redirected = explanation(Notice(code: .redirected, redirect: "martlets://b.example"))
        #expect(redirected.found.hasSuffix(", redirected to martlets://b.example"))
        #expect(redirected.code == .unavailable)
        let version = WireVersion(major: 2, minor: 0)
        let unsupported = explanation(Notice(code: .unsupportedVersion, spokenVersions: [version]))
        #expect(unsupported.found.hasSuffix(", it supports 2.0"))
    }

    // C-67
    @Test func `a refusal after failed sign-ins → its reason, and the advice to correct the credential`() {
        let reason = "too many sign-ins of this account from this address have failed"
        let refused = explanation(Notice(code: .serverBusy, reason: reason, retryAfter: .seconds(5)))
        #expect(refused.found.contains(reason))
        #expect(refused.advice.contains("correct the credential"))
    }

    @Test func `bytes of a TLS alert, of another protocol, of a damaged frame → three explanations`() {
        #expect(DoctorFailure.malformed(.badMagic(0x1503_0300)).explanation.name == "isTLS")
        #expect(DoctorFailure.malformed(.badMagic(0x4854_5450)).explanation.name == "badMagic")
        #expect(DoctorFailure.malformed(.missingChecksum).explanation.name == ErrorCode.badChecksum.name)
    }

    @Test func `errors of the network → refused, unreachable and timeout are distinguished`() {
        let errors: [(TransportError, String, ExitCode)] = [
            (.refused, "refused", .unavailable), (.unreachable, "unreachable", .unavailable),
            (.timedOut, "timedOut", .unavailable), (.reset, "reset", .unavailable),
            (.permissionDenied, "permissionDenied", .unavailable), (.noAddresses, "noAddresses", .noHost),
            (.resolutionFailed(code: -2, text: "unknown"), "resolutionFailed", .noHost),
            (.tooManyDescriptors, "system", .unavailable), (.tls(.notTLS), "notTLS", .protocolError),
        ]
        for (error, name, code) in errors {
            let explanation = DoctorFailure.transport(error).explanation
            #expect(explanation.name == name && explanation.code == code)
        }
    }

    @Test func `a TLS error → its description, the name of the check, and advice`() {
        let error = TLSError.unknownIssuer(subject: "CN=server", issuer: "CN=Test")
        let explanation = DoctorExplanation(error)
        #expect(explanation.found == "the certificate of CN=server has the unknown issuer CN=Test")
        let nameless = DoctorExplanation(TLSError.expired(subject: "", on: "2026-01-01"))
        #expect(nameless.found == "the certificate without a subject expired on 2026-01-01")
        #expect(explanation.name == "unknownIssuer" && explanation.advice.contains("--trust"))
        #expect(DoctorExplanation(TLSError.alert("certificate required")).advice.contains("--certificate"))
    }

    @Test func `the end of a connection → its reason`() {
        #expect(DoctorFailure(.endOfStream) == .ended)
        #expect(DoctorFailure(.reset) == .transport(.reset))
        #expect(DoctorFailure(.error(.tls(.notTLS))) == .transport(.tls(.notTLS)))
    }
}
