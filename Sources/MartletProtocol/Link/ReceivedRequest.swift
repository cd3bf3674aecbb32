import MartletWire

/// A request as it came: one that can be acted on, or the answer to one that cannot (S-58).
enum ReceivedRequest: Equatable, Sendable {
    case valid(Request)
    case invalid(Response)

    /// Parses a request's body, however wrong its fields are.
    ///
    /// - Throws: the body's fault, when its structure is wrong or it has no correlation to answer under.
    init(parsing body: RawSpan) throws(LinkError) {
        do throws(WireError) {
            self = .valid(try Request(parsing: body))
        } catch {
            guard error.scope == .frame, let correlation = Request.correlation(in: body) else {
                throw .peer(error.code)
            }
            self = .invalid(Response(correlation: correlation, status: error.code))
        }
    }

    /// The answer of a side that serves no requests.
    var declined: Response {
        switch self {
        case .valid(let request):
            Response(
                correlation: request.correlation, status: request.recipient == nil ? .unknownMethod : .noRecipient)
        case .invalid(let response): response
        }
    }
}
