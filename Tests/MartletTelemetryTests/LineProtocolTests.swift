import MartletRelay
import Testing

@testable import MartletTelemetry

@Suite struct LineProtocolTests {
    private typealias Tag = TelemetryPoint.Tag

    private func line(_ point: TelemetryPoint, adding added: [TelemetryPoint.Tag] = []) -> String {
        String(decoding: LineProtocol.line(of: point, adding: added), as: UTF8.self)
    }

    //
    @Test func `special characters of each part → escaped where the line protocol requires it`() {
        let cases: [(TelemetryPoint, String)] = [
            (TelemetryPoint("m", fields: [.init("f", 1)], time: 0), "m f=1i 0\n"),
            (TelemetryPoint("a b,c=d", fields: [.init("f", 1)], time: 1), "a\\ b\\,c=d f=1i 1\n"),
            (
                TelemetryPoint("m", tags: [.init("k,=", "v ,=\"")], fields: [.init("f =", 1)], time: -5),
                "m,k\\,\\==v\\ \\,\\=\" f\\ \\==1i -5\n"
            ),
            (TelemetryPoint("m", tags: [.init("k", "C:\\")], fields: [.init("f", 1)], time: 0), "m,k=C: f=1i 0\n"),
            (TelemetryPoint("m", tags: [.init("k", "\\\\")], fields: [.init("f", 1)], time: 0), "m f=1i 0\n"),
            (
                TelemetryPoint("m", tags: [.init("k", "a\\,b")], fields: [.init("f", 1)], time: 0),
                "m,k=a\\\\,b f=1i 0\n"
            ),
            (
                TelemetryPoint("m", fields: [.init("f", .text("say \"a\\b\",\nc"))], time: 0),
                "m f=\"say \\\"a\\\\b\\\",\nc\" 0\n"
            ),
            (TelemetryPoint("m", fields: [.init("f", "")], time: 0), "m f=\"\" 0\n"),
            (TelemetryPoint("m", fields: [.init("a", true), .init("b", false)], time: 0), "m a=true,b=false 0\n"),
            (
                TelemetryPoint("m", fields: [.init("a", .integer(.min)), .init("b", .double(-0.5))], time: .max),
                "m a=-9223372036854775808i,b=-0.5 9223372036854775807\n"
            ),
            (TelemetryPoint("m", fields: [.init("f", .double(1e300))], time: 0), "m f=1e+300 0\n"),
            (TelemetryPoint("mé", tags: [.init("k", "日")], fields: [.init("f", 3.0)], time: 0), "mé,k=日 f=3.0 0\n"),
        ]
        for (point, expected) in cases { #expect(line(point) == expected) }
    }

    @Test func `added tags → replace those of the point, in the order of keys`() {
        let point = TelemetryPoint(
            "m", tags: [.init("z", "1"), .init("client", "x")], fields: [.init("f", 1)], time: 0)
        #expect(line(point, adding: [.init("client", "app 2")]) == "m,client=app\\ 2,z=1 f=1i 0\n")
    }
}
