import CMartletSystem

/// One TCP connection attempt on a loop. It reports one result unless it is abandoned.
final class ConnectAttempt: PollSource {
    private let loop: EventLoop
    private let address: SocketAddress
    private let options: TCPOptions
    private let completion: (Result<TCPConnection, TransportError>) -> Void
    private var descriptor: SharedDescriptor?
    private var key: PollKey?

    init(
        to address: SocketAddress, on loop: EventLoop, options: TCPOptions,
        _ completion: @escaping (Result<TCPConnection, TransportError>) -> Void
    ) {
        self.address = address
        self.loop = loop
        self.options = options
        self.completion = completion
    }

    /// Starts the attempt. Throws an immediate failure, which is not reported again.
    func begin() throws(TransportError) {
        let socket = try FileDescriptor(
            martlet_socket(address.ip.isIPv6 ? 6 : 4, options.usesMultipath ? 1 : 0), from: "socket")
        options.apply(to: socket)
        var system = address.system
        let number = unsafe -martlet_socket_connect(socket.number, &system)
        guard number == 0 || Int(martlet_classify_error(number)) == Int(martlet_error_in_progress.rawValue) else {
            throw TransportError(errno: number, call: "connect")
        }
        let shared = SharedDescriptor(socket)
        key = try loop.add(self, shared, interest: .writable)
        descriptor = shared
    }

    func abandon() {
        if let key { loop.remove(key) }
        key = nil
        descriptor = nil
    }

    func pollReady(_ readiness: Readiness) {
        guard let descriptor else { return }
        let number = -martlet_socket_error(descriptor.number)
        var peer = martlet_address()
        if number > 0 {
            abandon()
            completion(.failure(TransportError(errno: number, call: "connect")))
        } else if unsafe martlet_socket_remote_address(descriptor.number, &peer) == 0 {
            abandon()
            finish(descriptor)
        }
    }

    private func finish(_ descriptor: SharedDescriptor) {
        let connection = TCPConnection(descriptor, remote: address, on: loop, options: SharedTCPOptions(options))
        // TCP connects a socket to itself when its ephemeral port equals the port of the peer.
        guard connection.localAddress != address else { return completion(.failure(.refused)) }
        completion(.success(connection))
    }

    func loopWillStop() {
        abandon()
        completion(.failure(.loopStopped))
    }
}
