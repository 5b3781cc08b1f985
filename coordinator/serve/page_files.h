/*
 * The dashboard's files: those of coordinator/serve/page/, Chart.js and its licence. The build embeds them in the
 * program (kernels/tools/embed.c), so they need no folder where the program runs.
 */
#ifndef COORDINATOR_SERVE_PAGE_FILES_H
#define COORDINATOR_SERVE_PAGE_FILES_H

#include <stddef.h>

struct page_file {
    const char *name; /* "index.html", "app.js": no folders */
    const char *type; /* its media type, as Content-Type names it */
    const char *etag; /* a strong ETag with its quotes: a part of the text's SHA-256 */
    const char *text;
    size_t size;
    const char *packed; /* the text as gzip, for clients that accept it */
    size_t packed_size;
};

extern const struct page_file page_files[];
extern const size_t page_files_count;

/* The file of a URL's path: "/" is index.html, "/page/NAME" the file NAME. NULL if there is no such file. */
const struct page_file *page_file_find(const char *path);

#endif
