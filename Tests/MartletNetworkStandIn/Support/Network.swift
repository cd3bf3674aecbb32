// Apple's documentation describes these declarations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Dispatch
public import Foundation

// What the backend uses of Network.framework, with the names and signatures of Apple's documentation. A test plays the
// part of the network.

public enum NWError: Error, Equatable, Sendable {
    case posix(POSIXErrorCode)
    case dns(Int32)
    case tls(Int32)
    case wifiAware(Int32)
}

public enum NWEndpoint {
    public struct Host: Hashable, Sendable {
        public let text: String
        public init(_ string: String) { text = string }
    }

    public struct Port: RawRepresentable, Hashable, Sendable {
        public let rawValue: UInt16
        public init?(rawValue: UInt16) { self.rawValue = rawValue }
    }
}

public class NWProtocolDefinition {}
public class NWProtocolMetadata {}

public final class NWProtocolTCP {
    public final class Options {
        public var noDelay = false
        public init() {}
    }
}

public final class NWProtocolTLS {
    public static var definition: NWProtocolDefinition { NWProtocolDefinition() }

    public final class Options {
        public let securityProtocolOptions = sec_protocol_options_t()
        public init() {}
    }

    public final class Metadata: NWProtocolMetadata {
        public let securityProtocolMetadata: sec_protocol_metadata_t
        init(_ metadata: sec_protocol_metadata_t) { securityProtocolMetadata = metadata }
    }
}

public final class NWParameters {
    package let tls: sec_protocol_options_t?
    package let hasNoDelay: Bool

    public init(tls: NWProtocolTLS.Options?, tcp: NWProtocolTCP.Options) {
        self.tls = tls?.securityProtocolOptions
        hasNoDelay = tcp.noDelay
    }
}

/// A connection whose peer is a test. The lock guards all state.
public final class NWConnection: @unchecked Sendable {
    public enum State: Equatable, Sendable {
        case setup
        case waiting(NWError)
        case preparing
        case ready
        case failed(NWError)
        case cancelled
    }

    public final class ContentContext: Sendable {
        public static let defaultMessage = ContentContext()
        public static let finalMessage = ContentContext()
    }

    public enum SendCompletion {
        case contentProcessed(@Sendable (NWError?) -> Void)
        case idempotent
    }

    /// An event that the test awaits.
    package enum Event: Equatable, Sendable {
        case started
        case receiving
        case sent([UInt8])
        case sentEnd
        case cancelled(isForced: Bool)
    }

    public typealias Receipt = @Sendable (Data?, ContentContext?, Bool, NWError?) -> Void

    /// The connections that no test has taken.
    private static let created = Locked<[String: NWConnection]>([:])

    package let parameters: NWParameters
    /// The events of this connection in order.
    package let events: AsyncStream<Event>
    private let event: AsyncStream<Event>.Continuation
    private let handler = Locked<(@Sendable (State) -> Void)?>(nil)
    private let queue = Locked<DispatchQueue?>(nil)
    private let receipt = Locked<Receipt?>(nil)
    private let completion = Locked<(@Sendable (NWError?) -> Void)?>(nil)
    /// The result of the handshake.
    package let negotiated = sec_protocol_metadata_t()

    public init(host: NWEndpoint.Host, port: NWEndpoint.Port, using parameters: NWParameters) {
        self.parameters = parameters
        (events, event) = AsyncStream.makeStream(of: Event.self)
        Self.created.withLock { $0["\(host.text):\(port.rawValue)"] = self }
    }

    public var stateUpdateHandler: (@Sendable (State) -> Void)? {
        get { handler.withLock { $0 } }
        set { handler.withLock { $0 = newValue } }
    }

    public func start(queue: DispatchQueue) {
        self.queue.withLock { $0 = queue }
        event.yield(.started)
    }

    public func metadata(definition: NWProtocolDefinition) -> NWProtocolMetadata? {
        NWProtocolTLS.Metadata(negotiated)
    }

    public func receive(minimumIncompleteLength: Int, maximumLength: Int, completion: @escaping Receipt) {
        receipt.withLock { receipt in
            precondition(receipt == nil, "one receive at a time")
            receipt = completion
        }
        event.yield(.receiving)
    }

    public func send<Content: DataProtocol>(
        content: Content?, contentContext: ContentContext = .defaultMessage, isComplete: Bool = true,
        completion: SendCompletion
    ) {
        if case .contentProcessed(let body) = completion {
            self.completion.withLock { pending in
                precondition(pending == nil, "one send at a time")
                pending = body
            }
        }
        if let content { event.yield(.sent([UInt8](content))) }
        if contentContext === ContentContext.finalMessage, isComplete { event.yield(.sentEnd) }
    }

    public func cancel() {
        cancelPending()
        event.yield(.cancelled(isForced: false))
    }

    public func forceCancel() {
        cancelPending()
        event.yield(.cancelled(isForced: true))
    }

    /// Completes what is pending with an error, as the framework does.
    private func cancelPending() {
        let receipt = receipt.withLock { $0.take() }
        let completion = completion.withLock { $0.take() }
        guard receipt != nil || completion != nil else { return }
        perform {
            receipt?(nil, nil, false, .posix(.ECANCELED))
            completion?(.posix(.ECANCELED))
        }
    }

    // MARK: For tests

    /// Takes the latest connection to an address.
    package static func takeConnection(to address: String) -> NWConnection? {
        created.withLock { $0.removeValue(forKey: address) }
    }

    package func enter(_ state: State) {
        perform { [handler] in handler.withLock { $0 }?(state) }
    }

    /// Completes the pending receive.
    package func receive(_ bytes: [UInt8]?, isComplete: Bool = false, error: NWError? = nil) {
        guard let receipt = receipt.withLock({ $0.take() }) else { preconditionFailure("no receive is pending") }
        perform { receipt(bytes.map { Data($0) }, nil, isComplete, error) }
    }

    /// Completes the pending send.
    package func processSend(error: NWError? = nil) {
        guard let completion = completion.withLock({ $0.take() }) else { preconditionFailure("no send is pending") }
        perform { completion(error) }
    }

    private func perform(_ work: @escaping @Sendable () -> Void) {
        guard let queue = queue.withLock({ $0 }) else { preconditionFailure("the connection is not started") }
        queue.async { work() }
    }
}

/// A value behind a lock.
package final class Locked<Value>: @unchecked Sendable {  // The lock guards the value.
    private let lock = NSLock()
    private var value: Value

    package init(_ value: Value) {
        self.value = value
    }

    package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&value)
    }
}
