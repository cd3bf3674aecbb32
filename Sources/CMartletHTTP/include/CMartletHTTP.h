#pragma once

#include <stddef.h>
#include <stdint.h>

// HTTP requests by libcurl.

/// A POST request and its response. It is used by one thread at a time, except for `martlet_post_cancel`.
typedef struct martlet_post martlet_post;

/// The maximum number of bytes of the heads of a response, interim ones included. A longer head is a failure.
enum { martlet_post_max_head_byte_count = 65536 };

/// Creates a request to an `http` or `https` address with a body, which is copied.
///
/// `timeout` is the maximum duration of the request in milliseconds, name resolution included. Returns NULL without
/// memory.
martlet_post *_Nullable martlet_post_create(
    const char *_Nonnull url, const void *_Nonnull body, size_t byte_count, long timeout);
/// Adds a header field, `Name: value`. Returns whether there was memory for it.
int martlet_post_add_field(martlet_post *_Nonnull post, const char *_Nonnull field);
/// Performs the request once, on the calling thread. Returns the status of the response, or 0 without one.
///
/// It ends with the head of the response: the body is not read, interim responses are skipped, and redirects are not
/// followed.
long martlet_post_perform(martlet_post *_Nonnull post);
/// Ends the request within a second, on any thread.
void martlet_post_cancel(martlet_post *_Nonnull post);
/// The field `Retry-After` of the response; an empty text without one.
const char *_Nonnull martlet_post_retry_after(const martlet_post *_Nonnull post);
void martlet_post_destroy(martlet_post *_Nonnull post);

/// Returns the seconds since 1970 of a date of HTTP; -1 for other text.
int64_t martlet_date(const char *_Nonnull text);

/// Requests and whole responses on a connection that is kept. It is used by one thread at a time.
typedef struct martlet_exchange martlet_exchange;

/// Creates an object without a connection. Returns NULL without memory.
martlet_exchange *_Nullable martlet_exchange_create(void);
/// Begins a request to an `http` or `https` address, whose characters are those that are sent. Returns whether there
/// was memory for it.
///
/// `timeout` is the maximum duration of the request in milliseconds, name resolution included. A response with a body
/// of more than `max_body_count` bytes is a failure. Redirects are not followed, and certificates are checked.
int martlet_exchange_prepare(
    martlet_exchange *_Nonnull exchange, const char *_Nonnull method, const char *_Nonnull url, long timeout,
    size_t max_body_count);
/// Adds a header field, `Name: value`. Returns whether there was memory for it.
int martlet_exchange_add_field(martlet_exchange *_Nonnull exchange, const char *_Nonnull field);
/// Checks certificates by those in a file in place of those of the system.
int martlet_exchange_trust(martlet_exchange *_Nonnull exchange, const char *_Nonnull path);
/// Signs the request by AWS Signature Version 4 with a scope such as `aws:amz:us-east-1:s3`.
int martlet_exchange_sign(
    martlet_exchange *_Nonnull exchange, const char *_Nonnull scope, const char *_Nonnull key,
    const char *_Nonnull secret);
/// Performs the request with a body or NULL, on the calling thread. Returns the status, or 0 without a response.
long martlet_exchange_perform(martlet_exchange *_Nonnull exchange, const void *_Nullable body, size_t byte_count);
/// The reason for which there is no response, as a text of libcurl.
const char *_Nonnull martlet_exchange_failure(const martlet_exchange *_Nonnull exchange);
/// The fields `Date` and `Retry-After` of the response; empty texts without them.
const char *_Nonnull martlet_exchange_date(const martlet_exchange *_Nonnull exchange);
const char *_Nonnull martlet_exchange_retry_after(const martlet_exchange *_Nonnull exchange);
/// Returns the number of bytes of the response's body, and copies them if there is room.
size_t martlet_exchange_copy_body(
    const martlet_exchange *_Nonnull exchange, void *_Nullable bytes, size_t capacity);
void martlet_exchange_destroy(martlet_exchange *_Nonnull exchange);
