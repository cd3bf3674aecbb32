/// Signatures that programs other than this library made.
enum SignatureVectors {
    // RFC 7515 A.1 to A.3, with the same payload
    static let rfc7515Secret = """
        AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow
        """
    static let rfc7515HS256 = """
        eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcG\
        xlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk
        """
    static let rfc7515Modulus = """
        ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2l\
        ZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEM\
        a2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2P\
        AcDTW9gb54h4FRWyuXpoQ
        """
    static let rfc7515RS256 = """
        eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ij\
        p0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbd\
        s9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9\
        383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWy\
        wlVmtVrBp0igcN_IoypGlUPQGe77Rw
        """
    static let rfc7515X = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    static let rfc7515Y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    static let rfc7515ES256 = """
        eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ij\
        p0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q
        """

    // RFC 8037 A.4
    static let rfc8037X = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    static let rfc8037EdDSA = """
        eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijc\
        NR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg
        """

    // Made once with the Python package cryptography 48 on OpenSSL; the private keys were discarded. The claims are
    // {"sub":"alice","aud":"martlet","exp":2000000000}.
    /// Of 1024 bits.
    static let weakModulus = """
        wk_tSIsenv2l0sU8AVMfPxhdbVtzZFmonpHsOsKezqU5_8CxicVA8gui6ple0hPz6MaxSUOxKJPsdcKIA2aXe0VpIAIJcAnd018eDMKNlRx\
        A88J9OlJm2BWMdT62X_gg4JQSAZPoaHnO-p2JdFz6dXf00LTWsXmURWdJ6GIQ8k8
        """
    static let modulus = """
        lS3ih4tpPu0OWGpAdLxVFJdL7nHfoVr8LmcmV3OkCLa1Tff88gAkUA35rfW9gIw2BoAIrzsF5cIJuk5pEw0l-YhwGsB_Or559bueHBxplTW\
        QnbwFpaCLkBrs6rB9tLHTZ2YyGtQm8EnLAWDvVLQqydI16ugJzhLsK9nr-KndUlfAYgfBfORDUcvVA3p9l2jrp0s4gxnGCV1zanhF6-hS7E\
        0ENs7HApexPKgajeyaqDXtjt05BDhX2m2zTb6UvW65S8n-dKCimNn-2d2CdA0q9bAR5lI7XVuh7GQ3qGM4p514B6GMMVHKKPljpSBk2OKGr\
        sZePYRoRCXT6IzCLanvTQ
        """
    static let x = "41SiUy7M_VbOltMtdI5KyomoJxCmzomwWTI-AYSlbXE"
    static let y = "iE_1pCJ8HtQS1CsnS_pu0-rP8A_BmaJbr-PobI4QNFk"
    static let ed25519 = "XWhab_H1_1_LPl4PKBQkKharpyNeUo8AnzfngX2fNqQ"
    /// `private_key.sign(input, PKCS1v15(), SHA256())`
    static let rs256 = """
        eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSJ9.eyJzdWIiOiJhbGljZSIsImF1ZCI6Im1hcnRsZXQiLCJleHAiOjIwMDAwMDAwMDB9.XCeoH\
        LHLOowb9iVUf3qwyYg4PkrbuY5qg-wPFw7UgTM0Vlp3ur_QLFtMr0OIsugAztnwbuOsbWxGE5pEGRuwXv2vCL64Z8V92N1G1_A1UYh63w48\
        1A6NOHnMeH5d6AALGZXCkcyyxptk5SkfLt9-juo-YgMY1ByczgNQQAllCECgbtbiuz2FU5_bNRMhfzYyIImL4viILGXvm0a4FgrpgyOEiaL\
        Q_eUBdA1qJCEqDXAYLgcnKQo0jLcUWWc0EZ1ZjRs-r1QbWfpTCGLHDATHOltWnLH5jl7X1b7SwpQwiTUmVi0rR6BwcFGuix7KbZ90fS3805\
        8o3GgGBDTgjFVG0Q
        """
    /// Has RS256 in its header and a signature of RSASSA-PSS.
    static let pssAsRS256 = """
        eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSJ9.eyJzdWIiOiJhbGljZSIsImF1ZCI6Im1hcnRsZXQiLCJleHAiOjIwMDAwMDAwMDB9.RTA91\
        1Hz7jEDBus7Jlo7SCCMNd5tqXmxV1kYQiPnrE_uDaV44mB_0KxA83PKwt1jXHb7-sEcq6FiTuOoRgR2QFSTOG5vEST8erNDKATV_5-WQZT5\
        ujlSNJXNEHZ0cZ5W6w9abLA0SbQelmsp_CCO2uBQoLXCEMsvJaEfLhDROnUajYgxQAoBnvmyyGbyYc7zwXWmObTITUAcBSpnyljW2qMG_0K\
        rgZSg-N0u8YJF2BecaeAGKjrnTLdPeyt1hPIzs1Kfg5VkgHZNZlwv9pv5ZB6CkC54MsynNjcrh0A0edFpESNmeNLZH4JFgkB6dXem9Viaxz\
        S7hBPzTrVGMZGH_A
        """
    /// Has RS256 in its header and a signature with SHA-384.
    static let sha384AsRS256 = """
        eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSJ9.eyJzdWIiOiJhbGljZSIsImF1ZCI6Im1hcnRsZXQiLCJleHAiOjIwMDAwMDAwMDB9.P9NiQ\
        B1RksAVvb-6w8PLlCQc_D_HewqHRAsWgDdjgv2xnUPnMbmf_2HS6Z-nWKIpkhF6b-1FcelpFjvs90p4cdielAYrCxrqsbLryYESWbndz1pN\
        QHzn1nsd_tJe7TEGObqRJL1_SfU-Kqv2VrZwXy1MTfXeEbk3hDiwput-ojt7KkOJw7R_40Rtl5c-twWoAiGHDhmsPJ8d7cbgMtxuLTc-J5z\
        33TKclF-IZFG0CDbTEJtWpAXuJ6KF93AqeaX8l6k4Mru0VB3oT_8j36UqSndI69_RgahAbRMqN4yduoybMM_hEce9EA7D73juADSC3m-rAs\
        XITikcggjcYiig2A
        """
    static let ps256 = """
        eyJhbGciOiJQUzI1NiIsImtpZCI6InJzYSJ9.eyJzdWIiOiJhbGljZSIsImF1ZCI6Im1hcnRsZXQiLCJleHAiOjIwMDAwMDAwMDB9.QzJ8O\
        cYML8Um3JTopRWcWfWvRMUGn353P2Uj_BQ7MmvUG-baPiScfsrSEG7yTti7_mDYt0eUozPguEMl3pZJXTw0Kl1cQwGPqXwfAudPmfNeLeAM\
        tnfeyOGXKyR28tc10Xm3StNU2PKvodZIYAOLLEDkgABqaYJdZ7Ava1irH2Gx5MrQfJVGQZACJIMS30YDL-pFAdA3y11qdELfHEYT3bcM23z\
        2hMfk1fUnPDVoBgfKyX8NwqNCsqc2PwYJzRdL1Z1amddEBbOC0rGrpYPLuypRzhCRCR5NQE7f4tjb9P5fjco1np8EyNZsnrNyjz0RrhQKO7\
        tazHzdennPkGJnXw
        """
    /// `private_key.sign(input, ECDSA(SHA256()))`, as r and s of 32 bytes
    static let es256 = """
        eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjIn0.eyJzdWIiOiJhbGljZSIsImF1ZCI6Im1hcnRsZXQiLCJleHAiOjIwMDAwMDAwMDB9.K8_PNa\
        jRsdDoOIxUlBeRUxNud9xwFLBSsKwzOD5ZEMJeMf71RjcSnf15CnPJZjcFypVIQGqAtCSSHgMfGdjjFw
        """
    /// The same signature as DER (RFC 3279 §2.2.3).
    static let derAsES256 = """
        eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjIn0.eyJzdWIiOiJhbGljZSIsImF1ZCI6Im1hcnRsZXQiLCJleHAiOjIwMDAwMDAwMDB9.MEQCIC\
        vPzzWo0bHQ6DiMVJQXkVMTbnfccBSwUrCsMzg-WRDCAiBeMf71RjcSnf15CnPJZjcFypVIQGqAtCSSHgMfGdjjFw
        """
    /// `private_key.sign(input)`
    static let edDSA = """
        eyJhbGciOiJFZERTQSIsImtpZCI6ImVkIn0.eyJzdWIiOiJhbGljZSIsImF1ZCI6Im1hcnRsZXQiLCJleHAiOjIwMDAwMDAwMDB9.79GVC7\
        E5Gva-QCHUYVbOxLg6iSp9IF68FFfrutqj1KkghX2nNJxNBv_37ApXR3vMaeMVL2U3PoOoJdMoGAhdDg
        """
    /// The same signature with S + L instead of S (RFC 8032 §5.1.7).
    static let unreducedEdDSA = """
        eyJhbGciOiJFZERTQSIsImtpZCI6ImVkIn0.eyJzdWIiOiJhbGljZSIsImF1ZCI6Im1hcnRsZXQiLCJleHAiOjIwMDAwMDAwMDB9.79GVC7\
        E5Gva-QCHUYVbOxLg6iSp9IF68FFfrutqj1KkNWXMET_9fXtWU5K01QVrhaeMVL2U3PoOoJdMoGAhdHg
        """
}
