#if Foundation
    #if canImport(FoundationEssentials)
        public import FoundationEssentials
    #else
        public import Foundation
    #endif

    extension RoomMessage {
        /// The time at which the relay accepted the message, by the clock of the relay; ``acceptedAt`` as a date.
        public var date: Date { Date(timeIntervalSince1970: Double(acceptedAt) / 1000) }
    }

    extension Room {
        /// The messages from the first one that the relay accepted at or after a date, like
        /// ``messages(before:limit:)``.
        ///
        /// - Parameters:
        ///   - date: The date, by the clock of the relay. Dates before 1970 are the beginning of the log.
        ///   - limit: The maximum number of messages.
        nonisolated(nonsending) public func messages(acceptedFrom date: Date, limit: Int = 50) async throws -> Page {
            try await messages(acceptedFrom: UInt64(max(0, min(date.timeIntervalSince1970, 1e14)) * 1000), limit: limit)
        }
    }
#endif
