import MartletLink
import MartletWire

/// Frames of sessions of kind attachment.
extension SessionRouter {
    /// Passes a request to the session's room. The session carries no messages, receipts and responses.
    mutating func receiveAttachment(
        _ type: FrameType, _ body: RawSpan, _ handle: MemberHandle, _ session: SessionID, _ credit: Int, at index: Int,
        of slot: Int, now: Instant
    ) throws(LinkError) {
        switch type {
        case .request:
            relayLinks[slot].noteRequest()
            budget.charge(TurnBudget.attachmentUnits)
            let permissions = relayLinks[slot].sessions[at: index].permissions
            let received: ReceivedRequest
            do throws(LinkError) {
                received = try ReceivedRequest(parsing: body)
            } catch {
                links[slot].link.release(credit, on: session)
                throw error
            }
            switch Self.attachmentRequest(received, permissions) {
            case .request(let correlation, let request):
                rooms.call(.attachment(handle, correlation: correlation, request, creditByteCount: credit))
            case .answer(let response):
                links[slot].link.release(credit, on: session)
                answer(response, on: session, of: slot)
            }
        case .cancel:
            if !relayLinks[slot].takeCancel() { try links[slot].link.chargeUnproductive(now: now) }
            rooms.call(.cancel(handle, correlation: try Link.parse(CancelRequest.self, body).correlation))
        case .transient:
            if !relayLinks[slot].takeTransient(now: now) { try links[slot].link.chargeUnproductive(now: now) }
        default:
            links[slot].link.release(credit, on: session)
            throw .peer(.protocolViolation)
        }
    }

    private enum OnRequest {
        case request(UInt64, AttachmentRequest)
        case answer(Response)
    }

    /// Parses a request, which the permissions of the session may forbid.
    private static func attachmentRequest(_ received: ReceivedRequest, _ permissions: RoomPermissions) -> OnRequest {
        switch received {
        case .invalid(let response): return .answer(response)
        case .valid(let request):
            func refuse(_ status: ErrorCode) -> OnRequest {
                .answer(Response(correlation: request.correlation, status: status))
            }
            guard request.recipient == nil, let method = AttachmentMethod(request.method) else {
                return refuse(request.recipient == nil ? .unknownMethod : .noRecipient)
            }
            guard permissions.contains(method.permission) else { return refuse(.forbidden) }
            do throws(WireError) {
                return .request(request.correlation, try AttachmentRequest(method, content: request.content))
            } catch {
                switch error {
                case .missingField, .duplicateField: return refuse(error.code)
                default: return refuse(.invalidValue)
                }
            }
        }
    }
}

extension AttachmentMethod {
    /// The permission that a request needs.
    fileprivate var permission: RoomPermissions {
        switch self {
        case .begin, .write, .remove: .publish
        case .read, .info: .readHistory
        }
    }
}
