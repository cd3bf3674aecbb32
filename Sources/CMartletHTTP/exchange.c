#include "CMartletHTTP.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "initialize.h"

struct martlet_exchange {
    CURL *curl;
    struct curl_slist *fields;
    CURLcode failure;
    char *body;
    size_t body_count, body_capacity, max_body_count, head_count;
    char date[64], retry_after[64];
};

/// Copies the value of a field of the given name from a line of the head.
static void take_field(const char *line, size_t byte_count, const char *name, char *value, size_t capacity) {
    size_t name_count = strlen(name);
    if (byte_count <= name_count || strncasecmp(line, name, name_count) != 0) return;
    while (name_count < byte_count && line[name_count] == ' ') name_count++;
    size_t value_count = byte_count - name_count;
    while (value_count > 0 && (unsigned char)line[name_count + value_count - 1] <= ' ') value_count--;
    if (value_count >= capacity) return;
    memcpy(value, line + name_count, value_count);
    value[value_count] = 0;
}

static size_t take_head_line(char *line, size_t size, size_t count, void *context) {
    martlet_exchange *exchange = context;
    size_t byte_count = size * count;
    exchange->head_count += byte_count;
    if (exchange->head_count > martlet_post_max_head_byte_count) return 0;
    take_field(line, byte_count, "Date:", exchange->date, sizeof exchange->date);
    take_field(line, byte_count, "Retry-After:", exchange->retry_after, sizeof exchange->retry_after);
    return byte_count;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
    martlet_exchange *exchange = context;
    size_t byte_count = size * count;
    if (byte_count > exchange->max_body_count - exchange->body_count) return 0;
    size_t needed = exchange->body_count + byte_count;
    if (needed > exchange->body_capacity) {
        size_t capacity = needed > 2 * exchange->body_capacity ? needed : 2 * exchange->body_capacity;
        char *body = realloc(exchange->body, capacity);
        if (!body) return 0;
        exchange->body = body;
        exchange->body_capacity = capacity;
    }
    memcpy(exchange->body + exchange->body_count, bytes, byte_count);
    exchange->body_count = needed;
    return byte_count;
}

martlet_exchange *martlet_exchange_create(void) {
    martlet_http_initialize();
    martlet_exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange) return NULL;
    exchange->curl = curl_easy_init();
    if (exchange->curl) return exchange;
    free(exchange);
    return NULL;
}

int martlet_exchange_prepare(
    martlet_exchange *exchange, const char *method, const char *url, long timeout, size_t max_body_count) {
    CURL *curl = exchange->curl;
    curl_easy_reset(curl);
    curl_slist_free_all(exchange->fields);
    exchange->fields = NULL;
    exchange->max_body_count = max_body_count;
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, timeout / 2);
    // The field cannot be removed: an empty one would be signed, and not be sent.
    curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_head_line);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, exchange);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, exchange);
    return curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK
        && curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method) == CURLE_OK;
}

int martlet_exchange_add_field(martlet_exchange *exchange, const char *field) {
    struct curl_slist *fields = curl_slist_append(exchange->fields, field);
    if (fields) exchange->fields = fields;
    return fields != NULL;
}

int martlet_exchange_trust(martlet_exchange *exchange, const char *path) {
    // The directory of the system would be used beside the file.
    return curl_easy_setopt(exchange->curl, CURLOPT_CAINFO, path) == CURLE_OK
        && curl_easy_setopt(exchange->curl, CURLOPT_CAPATH, NULL) == CURLE_OK;
}

int martlet_exchange_sign(martlet_exchange *exchange, const char *scope, const char *key, const char *secret) {
    return curl_easy_setopt(exchange->curl, CURLOPT_AWS_SIGV4, scope) == CURLE_OK
        && curl_easy_setopt(exchange->curl, CURLOPT_USERNAME, key) == CURLE_OK
        && curl_easy_setopt(exchange->curl, CURLOPT_PASSWORD, secret) == CURLE_OK;
}

long martlet_exchange_perform(martlet_exchange *exchange, const void *body, size_t byte_count) {
    CURL *curl = exchange->curl;
    exchange->body_count = exchange->head_count = 0;
    exchange->date[0] = exchange->retry_after[0] = 0;
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, exchange->fields);
    if (body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)byte_count);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    }
    exchange->failure = curl_easy_perform(curl);
    if (exchange->failure != CURLE_OK) return 0;
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

const char *martlet_exchange_failure(const martlet_exchange *exchange) { return curl_easy_strerror(exchange->failure); }

const char *martlet_exchange_date(const martlet_exchange *exchange) { return exchange->date; }

const char *martlet_exchange_retry_after(const martlet_exchange *exchange) { return exchange->retry_after; }

size_t martlet_exchange_copy_body(const martlet_exchange *exchange, void *bytes, size_t capacity) {
    if (bytes && capacity >= exchange->body_count && exchange->body_count > 0)
        memcpy(bytes, exchange->body, exchange->body_count);
    return exchange->body_count;
}

void martlet_exchange_destroy(martlet_exchange *exchange) {
    curl_easy_cleanup(exchange->curl);
    curl_slist_free_all(exchange->fields);
    free(exchange->body);
    free(exchange);
}
