import MartletLink
import MartletRelay
import MartletRelaySQLite

extension RelayLog.Event {
    /// The severity.
    var level: RelayLog.Level {
        switch self {
        case .relay(let event), .repeated(let event, _): Self.level(of: event)
        case .audited(let record): record.isRefusal ? .warning : record.event == .resumed ? .debug : .info
        case .store(.clockJumped): .warning
        case .store, .reloaded(.some), .reopened(.some), .startFailed, .dropped, .auditLost: .error
        case .listening, .reloaded(nil), .reopened(nil), .ended: .info
        }
    }

    private static func level(of event: RelayEvent) -> RelayLog.Level {
        switch event {
        case .note(.suspended, _), .note(.ended, _), .note(.resumed, _): .debug
        // The refusal that follows has the same reason.
        case .authenticationRefused: .debug
        case .note(.rolesInvalid, _), .acceptingPaused, .diskSpaceChanged, .tlsFailed(_, peer: nil), .storeFailed,
            .membershipsFailed, .attachmentsFailed, .authenticatorFailed, .policyFailed, .undeliveredFailed:
            .error
        case .note(.refused, _), .note(.roomRefused, _), .note(.faulted, _), .connectionsRefused, .proxyRefused,
            .tlsFailed, .undeliveredReportsDropped, .storeRecovered:
            .warning
        case .note, .revoked, .roomDecisionsRevoked: .info
        }
    }
}
