import Foundation

/// The configurations of servers of XMPP: anonymous clients, rooms with an archive (XEP-0313), and presence for the
/// joining member only. Rooms are persistent if the archive is on a disk.
enum XMPPServers {
    /// Messages are archived in SQLite, which syncs each of them if the folder is on a disk.
    static func writeEjabberd(in folder: URL, port: Int, usesTLS: Bool, isStored: Bool) throws -> String {
        let path = folder.path
        return try write(
            """
            hosts: [localhost]
            loglevel: error
            auth_method: anonymous
            anonymous_protocol: sasl_anon
            default_db: sql
            sql_type: sqlite
            sql_database: \(path)/ejabberd.sqlite
            \(usesTLS ? "certfiles: [\(path)/server.pem, \(path)/server.key]" : "")
            listen:
              - {port: \(port), ip: "127.0.0.1", module: ejabberd_c2s, backlog: 1024, tls: \(usesTLS)}
            modules:
              mod_ping: {}
              mod_mam: {}
              mod_muc:
                max_users: 5000
                access_create: all
                access_persistent: all
                access_mam: all
                default_room_options:
                  {max_users: 5000, mam: true, persistent: \(isStored), presence_broadcast: []}

            """, folder, "ejabberd.yml")
    }

    /// Messages are archived in files, which are not synced, or in SQLite, which syncs each of them.
    static func writeProsody(in folder: URL, port: Int, usesTLS: Bool, isStored: Bool) throws -> String {
        let path = folder.path
        return try write(
            """
            run_as_root = true
            daemonize = false
            data_path = "\(path)"
            pidfile = "\(path)/pid"
            log = { error = "\(path)/log" }
            modules_enabled = { "saslauth", "ping" }
            modules_disabled = { "s2s" }
            interfaces = { "127.0.0.1" }
            c2s_ports = { \(usesTLS ? "" : "\(port)") }
            c2s_direct_tls_ports = { \(usesTLS ? "\(port)" : "") }
            c2s_direct_tls_ssl = { certificate = "\(path)/server.pem", key = "\(path)/server.key" }
            c2s_require_encryption = \(usesTLS)
            network_settings = { tcp_backlog = 1024 }
            storage = "\(isStored ? "sql" : "internal")"
            sql = { driver = "SQLite3", database = "prosody.sqlite" }
            VirtualHost "localhost"
            authentication = "anonymous"
            Component "conference.localhost" "muc"
            modules_enabled = { "muc_mam" }
            muc_log_by_default = true
            muc_room_locking = false
            muc_room_default_persistent = \(isStored)
            muc_room_default_presence_broadcast = { visitor = false, participant = false, moderator = false }

            """, folder, "prosody.cfg.lua")
    }

    private static func write(_ text: String, _ folder: URL, _ name: String) throws -> String {
        let file = folder.appending(path: name)
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }
}
