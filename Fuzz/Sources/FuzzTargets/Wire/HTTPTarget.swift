import MartletWire

@testable import MartletHTTP

/// The requests of a connection of HTTP: nothing traps, any split gives the same requests and the same fault, and the
/// bounds hold.
///
/// Input: the length of the pieces, and the bytes of the connection.
enum HTTPTarget {
    static func run(_ input: RawSpan) {
        guard input.byteCount > 1 else { return }
        let size = Int([UInt8](copying: input.extracting(first: 1))[0]) + 1
        let bytes = input.extracting(droppingFirst: 1)
        let (whole, fault) = requests(in: bytes, pieces: bytes.byteCount)
        let (split, splitFault) = requests(in: bytes, pieces: size)
        hold(whole == split, "a split connection gives other requests")
        hold(fault == splitFault, "a split connection gives another fault")
        for request in whole {
            hold(request.fields.count <= HTTPRequestParser.maxFieldCount, "too many fields")
            hold(request.body.count <= HTTPRequestParser.maxBodyByteCount, "a long content")
            hold(request.path.hasPrefix("/") || request.path == "*", "a path without a slash")
            let texts = [request.method, request.path] + request.fields.flatMap { [$0.name, $0.value] }
            let byteCount = texts.reduce(0) { $0 + $1.utf8.count }
            hold(byteCount <= HTTPRequestParser.maxHeadByteCount, "a long head")
        }
    }

    private static func requests(in bytes: RawSpan, pieces size: Int) -> ([HTTPRequest], HTTPFault?) {
        var parser = HTTPRequestParser()
        var found: [HTTPRequest] = []
        var start = 0
        while start < bytes.byteCount {
            let end = min(start + size, bytes.byteCount)
            parser.receive(bytes.extracting(start..<end))
            start = end
            do throws(HTTPFault) {
                while let request = try parser.next() { found.append(request) }
            } catch {
                return (found, error)
            }
        }
        return (found, nil)
    }
}
