extension Tag: CustomStringConvertible {
    /// The name in the specification, or the number in hexadecimal.
    public var description: String {
        switch self {
        case .code: "code"
        case .reason: "reason"
        case .retryAfter: "retryAfter"
        case .redirect: "redirect"
        case .spokenVersion: "spokenVersion"
        case .features: "features"
        case .device: "device"
        case .account: "account"
        case .credential: "credential"
        case .agent: "agent"
        case .link: "link"
        case .resumeToken: "resumeToken"
        case .sessionPosition: "sessionPosition"
        case .epoch: "epoch"
        case .resumeLifetime: "resumeLifetime"
        case .heartbeatInterval: "heartbeatInterval"
        case .maxBody: "maxBody"
        case .maxMessage: "maxMessage"
        case .linkWindow: "linkWindow"
        case .sessionWindow: "sessionWindow"
        case .maxSessions: "maxSessions"
        case .echo: "echo"
        case .linkCredit: "linkCredit"
        case .sessionAck: "sessionAck"
        case .nonce: "nonce"
        case .creditUsed: "creditUsed"
        case .counter: "counter"
        case .kind: "kind"
        case .timeToLive: "timeToLive"
        case .offset: "offset"
        case .acceptedAt: "acceptedAt"
        case .sender: "sender"
        case .room: "room"
        case .sessionKind: "sessionKind"
        case .cursor: "cursor"
        case .head: "head"
        case .first: "first"
        case .member: "member"
        case .tail: "tail"
        case .session: "session"
        case .noLocal: "noLocal"
        case .log: "log"
        case .acceptedRun: "acceptedRun"
        case .receiptKind: "receiptKind"
        case .upTo: "upTo"
        case .correlation: "correlation"
        case .method: "method"
        case .deadline: "deadline"
        case .recipient: "recipient"
        case .status: "status"
        case .presence: "presence"
        case .typing: "typing"
        case .limits: "limits"
        case .resume: "resume"
        case .content: "content"
        case .text: "text"
        case .data: "data"
        case .name: "name"
        case .mediaType: "mediaType"
        case .chunk: "chunk"
        default: hexadecimal(rawValue)
        }
    }

    /// Every tag of version 1.0, in the order of the numbers.
    public static let registered: [Tag] = [
        .code, .reason, .retryAfter, .redirect, .spokenVersion, .features, .device, .account, .credential,
        .agent, .link, .resumeToken, .sessionPosition, .epoch, .resumeLifetime, .heartbeatInterval, .maxBody,
        .maxMessage, .linkWindow, .sessionWindow, .maxSessions, .echo, .linkCredit, .sessionAck, .nonce, .creditUsed,
        .counter, .kind, .timeToLive, .offset, .acceptedAt, .sender, .room, .sessionKind, .cursor, .head,
        .first, .member, .tail, .session, .noLocal, .log, .acceptedRun, .receiptKind, .upTo, .correlation, .method,
        .deadline, .recipient, .status, .presence, .typing, .limits, .resume, .content, .text, .data, .name,
        .mediaType, .chunk,
    ]
}
