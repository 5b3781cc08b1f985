#include "coordinator/serve/page_files.h"

#include <string.h>

const struct page_file *page_file_find(const char *path)
{
    static const char folder[] = "/page/";
    const char *name = NULL;
    if (strcmp(path, "/") == 0)
        name = "index.html";
    else if (strncmp(path, folder, strlen(folder)) == 0)
        name = path + strlen(folder);
    for (size_t i = 0; name && i < page_files_count; i++) {
        if (strcmp(page_files[i].name, name) == 0)
            return &page_files[i];
    }
    return NULL;
}
