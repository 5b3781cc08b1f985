/* Says of each description of a night on standard input, one JSON document a line, whether the parser takes it: "ok",
 * or its message. schema.t compares that with the verdict of a validator of JSON Schema. */
#include "coordinator/nights/file/night_file.h"

#include <locale.h>
#include <stdio.h>

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    setlocale(LC_ALL, "C.UTF-8");
    while (getline(&line, &size, stdin) > 0) {
        g_autoptr(GError) error = NULL;
        json_t *json = json_loads(line, JSON_DECODE_ANY, NULL);
        struct night_file *night = night_file_from_json("night.json", json, &error);
        puts(night ? "ok" : error->message);
        night_file_free(night);
        json_decref(json);
    }
    free(line);
    return 0;
}
