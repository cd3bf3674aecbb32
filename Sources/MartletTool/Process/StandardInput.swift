import Dispatch
import MartletToolSupport
import MartletTransport

/// The bytes of a file descriptor, which a separate thread reads on demand.
struct StandardInput: Sendable {
    /// The maximum number of bytes of a read.
    static let maxReadByteCount = 64 << 10

    private let descriptor: Int32
    private let queue = DispatchQueue(label: "martlet.input")

    init(_ descriptor: Int32 = STDIN_FILENO) {
        self.descriptor = descriptor
    }

    /// Returns the next bytes; none at the end. If the task is cancelled, the method throws at once, and bytes read
    /// later are lost.
    func next() async throws -> [UInt8] {
        let answer = InputAnswer()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                answer.wait(continuation)
                queue.async { [descriptor] in answer.resolve(Self.read(descriptor)) }
            }
        } onCancel: {
            answer.resolve(.failure(CancellationError()))
        }
    }

    /// The size of the file; nil if the descriptor is not a file.
    var fileByteCount: Int? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return max(Int(status.st_size) - Int(lseek(descriptor, 0, SEEK_CUR)), 0)
    }

    private static func read(_ descriptor: Int32) -> Result<[UInt8], any Error> {
        while true {
            if let bytes = Descriptors.read(descriptor, atMost: maxReadByteCount) { return .success(bytes) }
            if errno == EAGAIN {
                Descriptors.wait(for: POLLIN, on: descriptor)
            } else if errno != EINTR {
                return .failure(CommandError.system(.inputOutput, "cannot read"))
            }
        }
    }
}

/// The result of a pending read. Only the first answer counts.
private final class InputAnswer: Sendable {
    private enum State {
        case open
        case waiting(CheckedContinuation<[UInt8], any Error>)
        case resolved(Result<[UInt8], any Error>)
    }

    private let state = Guarded(State.open)

    func wait(_ continuation: CheckedContinuation<[UInt8], any Error>) {
        let early = state.withLock { state -> Result<[UInt8], any Error>? in
            if case .resolved(let result) = state { return result }
            state = .waiting(continuation)
            return nil
        }
        if let early { continuation.resume(with: early) }
    }

    func resolve(_ result: Result<[UInt8], any Error>) {
        let waiting = state.withLock { state -> CheckedContinuation<[UInt8], any Error>? in
            switch state {
            case .resolved: return nil
            case .open:
                state = .resolved(result)
                return nil
            case .waiting(let continuation):
                state = .resolved(result)
                return continuation
            }
        }
        waiting?.resume(with: result)
    }
}
