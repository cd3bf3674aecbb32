import Foundation
import MartletToolSupport
import MartletTransport

/// The capture file of one or more links. Its size is bounded. A write error ends the capture, but not the captured
/// connections.
final class CaptureFile: Sendable {
    /// The maximum size of the file, in bytes.
    static let maxByteCount = 1 << 30
    /// The approximate number of bytes of a write.
    private static let bufferByteCount = 64 << 10

    private struct State {
        var descriptor: Int32
        var buffer: [UInt8]
        var byteCount = 0
        var problem: String?
    }

    /// The path of the file, for messages.
    let path: String
    private let state: Guarded<State>

    /// Creates or truncates a file.
    init(path: String) throws(CommandError) {
        let descriptor = Descriptors.open(path, O_WRONLY | O_CREAT | O_TRUNC)
        guard descriptor >= 0 else { throw .system(.cannotCreate, "cannot write \(path)") }
        self.path = path
        state = Guarded(State(descriptor: descriptor, buffer: PcapWriter.header))
    }

    deinit {
        let descriptor = state.withLock { $0.descriptor }
        if descriptor >= 0 { Foundation.close(descriptor) }
    }

    /// Appends complete packets.
    func write(_ bytes: [UInt8]) {
        state.withLock { state in
            guard state.problem == nil, state.descriptor >= 0 else { return }
            guard state.byteCount + bytes.count <= Self.maxByteCount else {
                state.problem = "it is full: \(Quantity.text(byteCount: Self.maxByteCount))"
                return
            }
            state.byteCount += bytes.count
            state.buffer += bytes
            if state.buffer.count >= Self.bufferByteCount { Self.flush(&state) }
        }
    }

    /// Writes the remaining bytes and closes the file.
    ///
    /// - Throws: An error if the capture is incomplete.
    func finish() throws(CommandError) {
        let problem = state.withLock { state in
            if state.descriptor >= 0 {
                Self.flush(&state)
                Foundation.close(state.descriptor)
                state.descriptor = -1
            }
            return state.problem
        }
        if let problem { throw CommandError(.inputOutput, "the capture in \(path) is incomplete: \(problem)") }
    }

    private static func flush(_ state: inout State) {
        do throws(CommandError) { try Output.write(state.buffer, to: state.descriptor) } catch {
            state.problem = state.problem ?? error.message
        }
        state.buffer.removeAll(keepingCapacity: true)
    }
}
