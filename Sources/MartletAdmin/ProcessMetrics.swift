import CMartletSystem
import MartletMetrics

/// The use of resources by the process, with the names of Prometheus' client libraries.
enum ProcessMetrics {
    /// Adds the metrics that the system tells.
    static func add(to snapshot: inout MetricsSnapshot) {
        var use = martlet_process_use()
        unsafe martlet_process_use(&use)
        if use.cpu_microseconds >= 0 {
            let duration = Duration.microseconds(use.cpu_microseconds)
            snapshot.addCounter("process_cpu_seconds", "Processor time of the process.", duration)
        }
        let gauges = [
            ("process_resident_memory_bytes", "Resident memory of the process.", use.resident_bytes),
            ("process_threads", "Threads of the process.", use.threads),
            ("process_open_fds", "Open descriptors of the process.", use.descriptors),
            ("process_max_fds", "The maximum number of descriptors of the process.", use.max_descriptors),
        ]
        for (name, help, value) in gauges where value >= 0 { snapshot.addGauge(name, help, value) }
    }
}
