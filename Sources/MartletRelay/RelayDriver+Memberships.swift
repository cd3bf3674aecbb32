import MartletLink
import MartletWire

/// Requests on the sessions of accounts.
extension RelayDriver {
    /// Passes a request without a room to the request handler.
    func answer(_ request: Request, for id: AccountRequestID) {
        guard let handler = parts.requestHandler, let sender = request.sender else {
            return engine.respond(to: id, Response(correlation: request.correlation, status: .unknownMethod))
        }
        guard requests < parts.configuration.maxRequests else {
            return engine.respond(to: id, Response(correlation: request.correlation, status: .serverBusy))
        }
        requests += 1
        let relayRequest = RelayRequest(
            room: nil, sender: sender, method: request.method, content: request.content, timeout: request.deadline)
        loop.startTask { [loop] in
            let answer = await handler.respond(to: relayRequest)
            loop.execute {
                self.requests -= 1
                self.enter()
                self.engine.respond(
                    to: id,
                    Response(
                        correlation: request.correlation, status: answer.status, reason: answer.reason,
                        content: answer.content))
            }
        }
    }
}
