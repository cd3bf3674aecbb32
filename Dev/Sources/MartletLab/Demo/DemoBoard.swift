import Foundation
import MartletToolSupport

/// The collector of the reports of the demo's processes and its link.
actor DemoBoard {
    private var view: DemoView
    private let outages: Outages
    private let onChange: @Sendable (DemoView) -> Void
    private let begin = ContinuousClock.now
    private var isFinished = false

    init(_ view: DemoView, outages: Outages, _ onChange: @escaping @Sendable (DemoView) -> Void) {
        self.view = view
        self.outages = outages
        self.onChange = onChange
    }

    /// Reads the reports of a child process until its end. Other lines are printed as messages.
    func read(_ messages: AsyncStream<String>, isSender: Bool) async {
        for await message in messages {
            guard let report = try? JSONDecoder().decode(TransferReport.self, from: Data(message.utf8)) else {
                Output.report(SafeText.line(message))
                continue
            }
            if isSender { view.sender = report } else { view.listener = report }
        }
    }

    /// Updates the view with the state of the link.
    func tick(_ link: WeakLinkReport) {
        if isFinished { return }
        update(link)
        onChange(view)
    }

    /// Returns the last view.
    func finish(_ link: WeakLinkReport) -> DemoView {
        isFinished = true
        update(link)
        view.isBlackHole = false
        return view
    }

    private func update(_ link: WeakLinkReport) {
        view.link = link
        view.elapsed = begin.duration(to: .now)
        view.isBlackHole = outages.isBlackHole(at: view.elapsed)
    }
}
