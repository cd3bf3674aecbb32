#include "CMartletHTTP.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "initialize.h"

struct martlet_post {
    CURL *curl;
    struct curl_slist *fields;
    atomic_bool is_cancelled;
    size_t head_byte_count;
    bool has_head;
    char retry_after[64];
};

static pthread_once_t initialized = PTHREAD_ONCE_INIT;

static void initialize(void) { curl_global_init(CURL_GLOBAL_DEFAULT); }

void martlet_http_initialize(void) { pthread_once(&initialized, initialize); }

static size_t take_head_line(char *line, size_t size, size_t count, void *context) {
    martlet_post *post = context;
    size_t byte_count = size * count;
    post->head_byte_count += byte_count;
    if (post->head_byte_count > martlet_post_max_head_byte_count) return 0;
    // Each head begins with its status line. Fields of an earlier one do not count.
    if (byte_count >= 5 && memcmp(line, "HTTP/", 5) == 0) post->retry_after[0] = 0;
    static const char name[] = "Retry-After:";
    size_t name_count = sizeof name - 1;
    if (byte_count > name_count && strncasecmp(line, name, name_count) == 0) {
        size_t value_count = byte_count - name_count;
        if (value_count >= sizeof post->retry_after) return byte_count;
        memcpy(post->retry_after, line + name_count, value_count);
        post->retry_after[value_count] = 0;
    }
    if (line[0] != '\r' && line[0] != '\n') return byte_count;
    // An empty line ends a head. That of the final response ends the request, before its body.
    long status = 0;
    curl_easy_getinfo(post->curl, CURLINFO_RESPONSE_CODE, &status);
    post->has_head = status >= 200;
    return post->has_head ? 0 : byte_count;
}

static int check_cancellation(
    void *context, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up) {
    (void)down_total, (void)down, (void)up_total, (void)up;
    martlet_post *post = context;
    return atomic_load(&post->is_cancelled);
}

martlet_post *martlet_post_create(const char *url, const void *body, size_t byte_count, long timeout) {
    martlet_http_initialize();
    martlet_post *post = calloc(1, sizeof *post);
    if (!post) return NULL;
    post->curl = curl_easy_init();
    // Without the field, libcurl waits for an interim response before it sends a long body.
    if (!post->curl || !martlet_post_add_field(post, "Expect:")) {
        martlet_post_destroy(post);
        return NULL;
    }
    CURL *curl = post->curl;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)byte_count);
    CURLcode copied = curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_head_line);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, post);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, check_cancellation);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, post);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    if (copied == CURLE_OK) return post;
    martlet_post_destroy(post);
    return NULL;
}

int martlet_post_add_field(martlet_post *post, const char *field) {
    struct curl_slist *fields = curl_slist_append(post->fields, field);
    if (fields) post->fields = fields;
    return fields != NULL;
}

long martlet_post_perform(martlet_post *post) {
    curl_easy_setopt(post->curl, CURLOPT_HTTPHEADER, post->fields);
    // The end of the head is an error for libcurl.
    curl_easy_perform(post->curl);
    if (!post->has_head) return 0;
    long status = 0;
    curl_easy_getinfo(post->curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

void martlet_post_cancel(martlet_post *post) { atomic_store(&post->is_cancelled, true); }

const char *martlet_post_retry_after(const martlet_post *post) { return post->retry_after; }

void martlet_post_destroy(martlet_post *post) {
    if (post->curl) curl_easy_cleanup(post->curl);
    curl_slist_free_all(post->fields);
    free(post);
}

int64_t martlet_date(const char *text) { return curl_getdate(text, NULL); }
