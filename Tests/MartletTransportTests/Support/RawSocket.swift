import CMartletSystem
import Glibc
import MartletTransport

@testable import MartletTransport

/// A blocking socket, for peers that violate what a transport does. Its calls run on a thread of their own.
final class RawSocket: Sendable {
    private let descriptor: Guarded<Int32>

    private init(_ descriptor: Int32) {
        self.descriptor = Guarded(descriptor)
    }

    deinit {
        close()
    }

    /// A socket that is not connected.
    static func open() -> RawSocket {
        RawSocket(socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0))
    }

    /// A socket connected to `address`.
    static func connect(to address: SocketAddress) async -> RawSocket {
        let raw = open()
        await raw.connect(to: address)
        return raw
    }

    /// A socket with a port that does not listen.
    static func bound() -> (socket: RawSocket, address: SocketAddress) {
        let raw = open()
        var system = sockaddr_in()
        system.sin_family = sa_family_t(AF_INET)
        system.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        unsafe withUnsafePointer(to: &system) { system in
            unsafe system.withMemoryRebound(to: sockaddr.self, capacity: 1) { system in
                _ = unsafe bind(raw.number, system, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        var address = martlet_address()
        _ = unsafe martlet_socket_local_address(raw.number, &address)
        return (raw, SocketAddress(.loopbackV4, port: address.port))
    }

    func connect(to address: SocketAddress) async {
        let descriptor = number
        await blocking {
            var system = address.system
            _ = unsafe martlet_socket_connect(descriptor, &system)
        }
    }

    /// A listener that accepts nothing and has a full backlog, so a connect to it does not complete.
    static func silentListener() async -> (socket: RawSocket, waiting: RawSocket, address: SocketAddress) {
        let descriptor = martlet_socket(4, 0)
        var system = SocketAddress(.loopbackV4, port: 0).system
        _ = unsafe martlet_socket_listen(descriptor, &system, 0, 0)
        _ = unsafe martlet_socket_local_address(descriptor, &system)
        let address = SocketAddress(.loopbackV4, port: system.port)
        // A backlog of 0 holds one connection.
        return (RawSocket(descriptor), await connect(to: address), address)
    }

    var number: Int32 { descriptor.withLock { $0 } }

    func send(_ bytes: [UInt8]) async {
        let descriptor = number
        await blocking {
            var sent = 0
            while sent < bytes.count {
                let rest = bytes[sent...]
                let count = unsafe rest.withUnsafeBytes {
                    unsafe martlet_socket_send(descriptor, $0.baseAddress!, $0.count)
                }
                guard count > 0 else { return }
                sent += Int(count)
            }
        }
    }

    /// Receives `byteCount` bytes, or fewer at the end of the stream.
    func receive(byteCount: Int) async -> [UInt8] {
        let descriptor = number
        return await blocking {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while bytes.count < byteCount {
                let count = unsafe buffer.withUnsafeMutableBytes {
                    unsafe martlet_socket_receive(descriptor, $0.baseAddress!, min($0.count, byteCount - bytes.count))
                }
                guard count > 0 else { break }
                bytes += buffer[..<Int(count)]
            }
            return bytes
        }
    }

    /// Receives all bytes up to the end of the stream; nil after a reset.
    func receiveAll() async -> [UInt8]? {
        let descriptor = number
        return await blocking {
            var all: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = unsafe buffer.withUnsafeMutableBytes {
                    unsafe martlet_socket_receive(descriptor, $0.baseAddress!, $0.count)
                }
                if count < 0 { return nil }
                if count == 0 { return all }
                all += buffer[..<Int(count)]
            }
        }
    }

    /// Ends this direction of the stream.
    func finish() {
        _ = martlet_socket_finish(number)
    }

    func reset() {
        martlet_socket_reset_on_close(number)
        close()
    }

    func close() {
        descriptor.withLock { descriptor in
            if descriptor >= 0 { martlet_close(descriptor) }
            descriptor = -1
        }
    }
}

/// Runs a blocking call on a thread of its own.
func blocking<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        let failure = startThread(named: "blocking") { continuation.resume(returning: body()) }
        precondition(failure == nil)
    }
}
