// Lists all entries of a problem: entries FILE KEY
//   c++ entries.cc $(pkg-config --cflags --libs skipjackdb) -o entries
#include <skipjackdb.h>

#include <cstdio>
#include <memory>
#include <vector>

struct Closer {
    void operator()(skipjackdb *db) const { skipjackdb_close(db); }
};

static int list_entries(const skipjackdb *db, const char *key)
{
    uint64_t number = 0;
    size_t count = 0;
    std::vector<skipjackdb_entry> entries(8);
    int code = skipjackdb_find_key(db, key, &number);
    if (code != SKIPJACKDB_OK)
        return code;
    do {
        entries.resize(count > entries.size() ? count : entries.size());
        code = skipjackdb_entries(db, number, entries.data(), sizeof entries[0], entries.size(), &count);
    } while (code == SKIPJACKDB_OK && count > entries.size());
    for (size_t i = 0; code == SKIPJACKDB_OK && i < count; i++) {
        const skipjackdb_entry &entry = entries[i];
        std::printf("%s %g ms", entry.solver, entry.time_ms);
        if (entry.low_ms > 0)
            std::printf(" (%g to %g)", entry.low_ms, entry.high_ms);
        std::printf("\n");
    }
    return code;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "usage: entries FILE KEY\n");
        return 2;
    }
    skipjackdb *opened = nullptr;
    int code = skipjackdb_open(argv[1], &opened);
    std::unique_ptr<skipjackdb, Closer> db(opened);
    if (code == SKIPJACKDB_OK)
        code = list_entries(db.get(), argv[2]);
    if (code != SKIPJACKDB_OK)
        std::fprintf(stderr, "entries: %s\n", skipjackdb_error_text(code));
    return code == SKIPJACKDB_OK ? 0 : 1;
}
