import MartletAdmin
import MartletRelay
import MartletS3
import MartletToolSupport
import MartletTransport
import MartletWebhook

/// The reload of a running relay: reads the configuration file and all files of the options again, and applies all of
/// them, or none if one has a fault.
final class RelayReload: Sendable {
    private let relay: Relay
    private let access: RelayAccess
    private let audit: AuditLog?
    private let webhook: Webhook?
    private let webFolder: WebFolder?
    private let admin: AdminServer?
    private let alerts: AlertMonitor
    private let bucket: S3AttachmentStore?
    private let effective: Guarded<ParsedArguments>

    /// The options in effect.
    var arguments: ParsedArguments { effective.withLock { $0 } }

    init(
        _ relay: Relay, _ access: RelayAccess, _ audit: AuditLog?, _ webhook: Webhook?, _ webFolder: WebFolder?,
        _ admin: AdminServer?, _ alerts: AlertMonitor, _ bucket: S3AttachmentStore?, _ arguments: ParsedArguments
    ) {
        self.relay = relay
        self.access = access
        self.audit = audit
        self.webhook = webhook
        self.webFolder = webFolder
        self.admin = admin
        self.alerts = alerts
        self.bucket = bucket
        effective = Guarded(arguments)
    }

    /// Applies the options that `read` returns. Returns the fault, and the names of the changed options that require a
    /// restart.
    func perform(_ read: () throws -> ParsedArguments) async -> (failure: String?, atStart: [String]) {
        var atStart: [String] = []
        do {
            let arguments: ParsedArguments
            (arguments, atStart) = ServeCommand.spec.reloading(try read(), over: self.arguments)
            let contents = try RelayAccess.read(arguments)
            let secret = try PushArguments.secret(arguments)
            let files = try ServeCommand.webFolder(arguments)
            let credentials = try AttachmentArguments.bucketCredentials(arguments)
            let rules = try AlertArguments.rules(arguments)
            let applyAdmin = try AdminArguments.prepareReload(of: admin, arguments)
            // The certificate is the last one that can have a fault.
            let reloadTLS: () throws -> Void = { [relay] in
                if TLSArguments.hasCertificate(arguments) { try relay.reloadTLS() }
            }
            if let audit { try audit.reopen(after: reloadTLS) } else { try reloadTLS() }
            applyAdmin()
            alerts.replaceRules(by: rules)
            if let secret { try webhook?.replaceSecret(by: secret) }
            if let files { webFolder?.replaceFiles(byThoseOf: files) }
            if let credentials { bucket?.replaceCredentials(by: credentials) }
            await access.apply(contents, to: relay)
            effective.withLock { $0 = arguments }
            return (nil, atStart)
        } catch {
            return ("\(error)", atStart)
        }
    }
}
