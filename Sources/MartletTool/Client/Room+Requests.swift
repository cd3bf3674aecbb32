import Martlet

extension Room {
    /// Refuses the requests of other members, which a command does not serve (S-58), until the room ends or the task is
    /// cancelled.
    func refusingRequests() -> Task<Void, Never> {
        Task { for await request in requests { request.fail(.unknownMethod) } }
    }
}
