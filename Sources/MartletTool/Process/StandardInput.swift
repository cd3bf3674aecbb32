import Dispatch
import Foundation

/// A file descriptor's bytes as they come, read on a thread of their own and only as fast as they are taken.
struct StandardInput: Sendable {
    /// The most that one read gives.
    static let maxReadByteCount = 64 << 10

    private let descriptor: Int32
    private let queue = DispatchQueue(label: "martlet.input")

    init(_ descriptor: Int32 = STDIN_FILENO) {
        self.descriptor = descriptor
    }

    /// The next bytes; none at the end.
    func next() async throws(CommandError) -> [UInt8] {
        let result: Result<[UInt8], CommandError> = await withCheckedContinuation { continuation in
            queue.async { [descriptor] in continuation.resume(returning: Self.read(descriptor)) }
        }
        return try result.get()
    }

    /// How many bytes there are in all, when the descriptor is a file.
    var fileByteCount: Int? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return max(Int(status.st_size) - Int(lseek(descriptor, 0, SEEK_CUR)), 0)
    }

    private static func read(_ descriptor: Int32) -> Result<[UInt8], CommandError> {
        while true {
            var count = 0
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: maxReadByteCount) { buffer, initialized in
                count = unsafe Foundation.read(descriptor, buffer.baseAddress, buffer.count)
                initialized = max(count, 0)
            }
            if count >= 0 { return .success(bytes) }
            if errno == EAGAIN {
                var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                _ = unsafe Foundation.poll(&poll, 1, -1)
            } else if errno != EINTR {
                let reason = unsafe String(cString: strerror(errno))
                return .failure(CommandError(.inputOutput, "cannot read: \(reason)"))
            }
        }
    }
}
