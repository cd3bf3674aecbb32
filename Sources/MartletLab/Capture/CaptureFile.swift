import Foundation
import MartletToolSupport
import MartletTransport

/// The file that a capture goes to, of one link or of several. It never grows beyond a bound, and what cannot be
/// written ends the capture, not what is captured.
final class CaptureFile: Sendable {
    /// The largest file, in bytes.
    static let maxByteCount = 1 << 30
    /// Writes are of about so many bytes.
    private static let bufferByteCount = 64 << 10

    private struct State {
        var descriptor: Int32
        var buffer: [UInt8]
        var byteCount = 0
        var problem: String?
    }

    /// Where it is, for people.
    let path: String
    private let state: Guarded<State>

    /// Begins a file anew.
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

    /// Appends whole packets.
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

    /// Writes what is left and closes the file. Throws when the capture is not whole.
    func finish() throws(CommandError) {
        let problem = state.withLock { state in
            if state.descriptor >= 0 {
                Self.flush(&state)
                Foundation.close(state.descriptor)
                state.descriptor = -1
            }
            return state.problem
        }
        if let problem { throw CommandError(.inputOutput, "the capture in \(path) is not whole: \(problem)") }
    }

    private static func flush(_ state: inout State) {
        do throws(CommandError) { try Output.write(state.buffer, to: state.descriptor) } catch {
            state.problem = state.problem ?? error.message
        }
        state.buffer.removeAll(keepingCapacity: true)
    }
}
