import MartletTransport
import MartletWire

/// The file of a flight recording that a client writes when a fault has ended a connection. Later faults replace
/// earlier files.
struct RecordingFile: Sendable {
    /// The maximum number of files of a client.
    static let maxCount = 8

    let path: String

    init(folder: String, device: DeviceID, number: Int) {
        path = "\(folder)/martlet-\(String(device.rawValue, radix: 16))-\(number).flight"
    }

    /// Replaces the file, which only its owner can read. Returns the failure.
    func write(_ bytes: [UInt8]) -> FileError? {
        do throws(FileError) {
            let file = try RegularFile(path, .write)
            try file.truncate(to: 0)
            try file.write(bytes, at: 0)
            return nil
        } catch {
            return error
        }
    }
}
