// The methods of the same name would hide the function.
private let writeBytes = unsafe write

/// Complete writes to a file descriptor.
package enum Output {
    /// Writes all bytes, and waits while the reader is slow.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) throws(CommandError) {
        guard writePart(of: bytes, to: descriptor) == bytes.count else {
            throw CommandError.system(.inputOutput, "cannot write")
        }
    }

    /// Writes all bytes, and waits while the reader is slow. After an error it returns the number of written bytes.
    package static func writePart(of bytes: [UInt8], to descriptor: Int32) -> Int {
        var done = 0
        while done < bytes.count {
            let result = unsafe bytes.withUnsafeBytes { buffer in
                unsafe writeBytes(descriptor, buffer.baseAddress! + done, buffer.count - done)
            }
            if result >= 0 {
                done += result
            } else if errno == EAGAIN {
                Descriptors.wait(for: POLLOUT, on: descriptor)
            } else if errno != EINTR {
                return done
            }
        }
        return done
    }

    /// Writes a line to standard output.
    package static func print(_ line: String) throws(CommandError) {
        try write(Array((line + "\n").utf8), to: STDOUT_FILENO)
    }

    /// Writes a line to standard error and ignores errors.
    package static func report(_ line: String) { try? write(Array((line + "\n").utf8), to: STDERR_FILENO) }
}
