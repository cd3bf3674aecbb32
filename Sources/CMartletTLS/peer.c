// The names of a peer's certificate.
#include "internal.h"

#ifndef __APPLE__
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

/// Names in the form of `martlet_tls_read_peer`.
struct names {
    uint8_t *bytes;
    size_t count;
    size_t capacity;
};

static int append_name(struct names *names, int kind, const ASN1_STRING *name) {
    unsigned char *text = NULL;
    int count = ASN1_STRING_to_UTF8(&text, name);
    int is_added = count >= 0 && count <= UINT16_MAX && (size_t)count + 3 <= names->capacity - names->count;
    if (is_added) {
        uint8_t *target = names->bytes + names->count;
        target[0] = (uint8_t)kind;
        target[1] = (uint8_t)(count >> 8);
        target[2] = (uint8_t)count;
        if (count) memcpy(target + 3, text, (size_t)count);
        names->count += 3 + (size_t)count;
    }
    OPENSSL_free(text);
    return is_added;
}

static int append_common_name(struct names *names, const X509_NAME *subject) {
    int index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (index < 0) return 1;
    return append_name(
        names, martlet_tls_name_common, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index)));
}

static int append_alternative_names(struct names *names, X509 *certificate) {
    int status = 0;
    GENERAL_NAMES *found = X509_get_ext_d2i(certificate, NID_subject_alt_name, &status, NULL);
    // -1: the extension is absent.
    if (!found) return status == -1;
    int is_added = 1;
    for (int index = 0; is_added && index < sk_GENERAL_NAME_num(found); index++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(found, index);
        switch (name->type) {
        case GEN_DNS: is_added = append_name(names, martlet_tls_name_host, name->d.dNSName); break;
        case GEN_EMAIL: is_added = append_name(names, martlet_tls_name_email, name->d.rfc822Name); break;
        case GEN_URI: is_added = append_name(names, martlet_tls_name_uri, name->d.uniformResourceIdentifier); break;
        default: break;
        }
    }
    GENERAL_NAMES_free(found);
    return is_added;
}

ptrdiff_t martlet_tls_read_peer(
    const martlet_tls_connection *connection, int64_t *not_after, uint8_t *pin, uint8_t *bytes, size_t capacity) {
    if (!connection->ssl || SSL_get_verify_mode(connection->ssl) == SSL_VERIFY_NONE) return -1;
    X509 *certificate = SSL_get0_peer_certificate(connection->ssl);
    if (!certificate || SSL_get_verify_result(connection->ssl) != X509_V_OK) return -1;
    struct names names = {bytes, 0, capacity};
    struct tm date;
    int is_read = ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &date) == 1
        && martlet_tls_pin_of(certificate, pin)
        && append_common_name(&names, X509_get_subject_name(certificate))
        && append_alternative_names(&names, certificate);
    ERR_clear_error();
    if (!is_read) return -1;
    *not_after = (int64_t)timegm(&date);
    return (ptrdiff_t)names.count;
}
#endif
