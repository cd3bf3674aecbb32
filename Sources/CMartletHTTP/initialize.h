#pragma once

/// Initializes libcurl, once in a process.
void martlet_http_initialize(void);
