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
