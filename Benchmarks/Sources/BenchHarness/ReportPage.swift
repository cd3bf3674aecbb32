import Foundation

/// An HTML page with a plot of each case and metric, and the thresholds.
public enum ReportPage {
    /// The HTML text of the page.
    public static func html(_ run: RunResult, _ verdicts: [Verdict]) -> String {
        var page = """
            <!doctype html><html lang="en"><meta charset="utf-8"><title>Martlet's benchmarks</title>
            <style>
            body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 62em; padding: 0 1em }
            table { border-collapse: collapse; margin: 1em 0 } td, th { padding: .2em .8em; text-align: right }
            td:first-child, th:first-child { text-align: left } tr:nth-child(even) { background: #f3f3f3 }
            .miss { color: #b00020; font-weight: bold } svg text { font: 12px system-ui, sans-serif }
            </style><h1>Martlet's benchmarks</h1><p>\(escaped(run.date)), \(escaped(run.machine)).
            A bar is the median, the line across it reaches from the lowest to the highest round.</p>

            """
        if !verdicts.isEmpty {
            page += "<h2>Bars</h2><table><tr><th>what<th>metric<th>to<th>wanted<th>is<th></tr>\n"
            for verdict in verdicts { page += row(verdict) }
            page += "</table>\n"
        }
        for item in run.cases {
            page += "<h2>\(escaped(item.name))</h2>\n"
            for metric in item.metrics { page += plot(item, metric) }
        }
        return page + "</html>\n"
    }

    private static func row(_ verdict: Verdict) -> String {
        let threshold = verdict.threshold
        let wanted = threshold.atMost.map { "≤ \(Figure.text($0))" } ?? "≥ \(Figure.text(threshold.atLeast ?? 0))"
        let mark = verdict.isMet ? "<td>ok" : "<td class=miss>MISS"
        let other = threshold.to ?? threshold.above ?? ""
        return "<tr><td>\(escaped(threshold.what))<td>\(escaped(threshold.metric))<td>\(escaped(other))"
            + "<td>\(wanted)<td>\(verdict.value.map(Figure.text) ?? "failed")\(mark)</tr>\n"
    }

    private static func plot(_ item: CaseResult, _ metric: String) -> String {
        let rows = item.subjects.compactMap { subject in
            item.samples(of: subject, metric).map { (subject, Statistics($0)) }
        }
        let widest = rows.compactMap { $0.1.sorted.last }.max() ?? 0
        guard widest > 0 else { return "" }
        let height = 26 * rows.count + 26
        var svg = """
            <svg xmlns="http://www.w3.org/2000/svg" width="900" height="\(height)" viewBox="0 0 900 \(height)">
            <text x="0" y="16" fill="#666">\(escaped(metric + Metric.unit(metric, per: item.per)))</text>

            """
        for (index, (subject, statistics)) in rows.enumerated() {
            let y = 26 * index + 26
            let length = { (value: Double) in Int(560 * value / widest) }
            let color = subject == "martlet" ? "#0b6e99" : "#a9b4bc"
            let low = 180 + length(statistics.sorted[0])
            let high = 180 + length(statistics.sorted[statistics.sorted.count - 1])
            svg += """
                <text x="172" y="\(y + 14)" text-anchor="end">\(escaped(subject))</text>\
                <rect x="180" y="\(y)" width="\(max(1, length(statistics.median)))" height="20" fill="\(color)" />\
                <line x1="\(low)" x2="\(high)" y1="\(y + 10)" y2="\(y + 10)" stroke="#222" />\
                <text x="\(high + 8)" y="\(y + 14)">\(Figure.text(statistics.median))</text>

                """
        }
        return svg + "</svg>\n"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
    }
}
