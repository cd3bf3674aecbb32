package import MartletWire

/// A received request: a valid one, or the response to an invalid one (S-58).
package enum ReceivedRequest: Equatable, Sendable {
    case valid(Request)
    case invalid(Response)

    /// Parses a request's body, whose fields may be invalid.
    ///
    /// - Throws: the fault of a body whose structure is invalid or that has no correlation for a response.
    package init(parsing body: RawSpan) throws(LinkError) {
        do throws(WireError) {
            self = .valid(try Request(parsing: body))
        } catch {
            guard error.scope == .frame, let correlation = Request.correlation(in: body) else {
                throw .peer(error.code)
            }
            self = .invalid(Response(correlation: correlation, status: error.code))
        }
    }

    /// The response of an endpoint that serves no requests.
    package var declined: Response {
        switch self {
        case .valid(let request):
            Response(
                correlation: request.correlation, status: request.recipient == nil ? .unknownMethod : .noRecipient)
        case .invalid(let response): response
        }
    }
}
