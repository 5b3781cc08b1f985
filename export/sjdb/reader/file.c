#include "export/sjdb/reader/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const error_texts[] = {
    [SKIPJACKDB_OK] = "done",
    [SKIPJACKDB_NOT_FOUND] = "the database does not hold it",
    [SKIPJACKDB_IO] = "the file cannot be opened or mapped",
    [SKIPJACKDB_FORMAT] = "the file is no .sjdb, or was copied as text: copy it as binary",
    [SKIPJACKDB_VERSION] = "the file is of a newer version of the format: update libskipjackdb",
    [SKIPJACKDB_TRUNCATED] = "the file has another length than it says: copy it again",
    [SKIPJACKDB_DAMAGED] = "the file is damaged: copy it again",
    [SKIPJACKDB_SYNTAX] = "the key, or the target, does not follow its grammar",
    [SKIPJACKDB_USAGE] = "an argument is not possible, or a struct's size is not set",
    [SKIPJACKDB_SPACE] = "the buffer is too small",
    [SKIPJACKDB_MEMORY] = "out of memory",
};

const char *skipjackdb_error_text(int code)
{
    if (code < 0 || (size_t)code >= sizeof error_texts / sizeof error_texts[0]) {
        return "an unknown error";
    }
    return error_texts[code];
}

const char *skipjackdb_version(void)
{
    return "1.5";
}

/* A row of the section table. */
struct section {
    uint32_t kind, width;
    uint64_t offset, count, length, checksum;
};

static void read_section(const struct skipjackdb *db, size_t index, struct section *section)
{
    const uint8_t *at = db->bytes + SJDB_HEADER_BYTES + index * SJDB_SECTION_BYTES;
    section->kind = sjdb_le32(at);
    section->width = sjdb_le32(at + 4);
    section->offset = sjdb_le64(at + 8);
    section->count = sjdb_le64(at + 16);
    section->length = sjdb_le64(at + 24);
    section->checksum = sjdb_le64(at + 32);
}

/* Checks that the section lies within the file, and its items within the section together with the
 * SJDB_PAD_BYTES that readers may load behind them. Items of 0 bits are refused, since a small file
 * could then claim any number of items. */
static bool section_fits(const struct skipjackdb *db, const struct section *section)
{
    if (section->offset > db->length || section->length > db->length - section->offset ||
        section->length < SJDB_PAD_BYTES || (section->width == 0 && section->count > 1)) {
        return false;
    }
    uint64_t bits = 0;
    return !__builtin_mul_overflow(section->count, section->width, &bits) &&
           bits <= (section->length - SJDB_PAD_BYTES) * 8;
}

static struct sjdb_array *array_of(struct skipjackdb *db, uint32_t kind)
{
    if (kind > 0 && kind < SJDB_SINGLES) {
        return &db->single[kind];
    }
    struct sjdb_set *const sets[SJDB_SET_COUNT] = {
        &db->find, &db->perf, &db->solved, &db->other_find, &db->other_solved, &db->unmeasured};
    uint32_t set = kind / SJDB_SET_KINDS, part = kind % SJDB_SET_KINDS;
    return set >= 1 && set <= SJDB_SET_COUNT && part < SJDB_PART_COUNT ? &sets[set - 1]->part[part]
                                                                       : NULL;
}

static bool is_row(uint32_t kind)
{
    uint32_t part = kind % SJDB_SET_KINDS;
    return kind >= SJDB_FIND && (part == SJDB_SHAPES || part == SJDB_VARIANTS);
}

/* Takes a section into the handle. A section of an unknown kind is ignored: a newer minor version
 * of the format wrote it. */
static bool take_section(struct skipjackdb *db, const struct section *section)
{
    if (!section_fits(db, section)) {
        return false;
    }
    struct sjdb_array *array = array_of(db, section->kind);
    if (array == NULL) {
        return true;
    }
    if (array->bytes != NULL || (section->width > 64 && !is_row(section->kind))) {
        return false;
    }
    array->bytes = db->bytes + section->offset;
    array->count = section->count;
    array->width = section->width;
    array->mask = is_row(section->kind) ? 0 : sjdb_mask(section->width);
    return true;
}

/* Gives arrays without a section zero items. */
static void fill_absent(struct skipjackdb *db, struct sjdb_array *arrays, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (arrays[i].bytes == NULL) {
            arrays[i].bytes = db->bytes;
        }
    }
}

static uint32_t bits_below(uint64_t count)
{
    uint32_t bits = 0;
    while (bits < 63 && count > UINT64_C(1) << bits) {
        bits++;
    }
    return bits;
}

static bool read_columns(struct sjdb_look *look, const struct sjdb_array *widths,
                         const struct sjdb_array *starts, int columns, struct sjdb_table *table)
{
    uint64_t offset = 0;
    for (int i = 0; i < columns; i++) {
        uint64_t width = sjdb_get(look, widths, (uint64_t)i);
        uint64_t first = sjdb_get(look, starts, (uint64_t)i);
        uint64_t end = sjdb_get(look, starts, (uint64_t)i + 1);
        if (width > 64 || end < first || (end > first && end > table->values.count)) {
            return false;
        }
        table->column[i] = (struct sjdb_column){(uint32_t)offset, (uint32_t)width,
                                                sjdb_mask((uint32_t)width), first, end - first};
        offset += width;
    }
    return !look->damaged && offset == table->rows.width;
}

/* Reads a table of rows. `part` is the set's section of rows; the three sections after it hold the
 * columns' widths, the starts of their dictionaries, and the dictionaries. */
static bool read_table(struct sjdb_look *look, const struct sjdb_array *part, int fields,
                       int columns, struct sjdb_table *table)
{
    table->rows = part[0];
    table->values = part[3];
    if (table->rows.count == 0) {
        return true;
    }
    if (!read_columns(look, &part[1], &part[2], columns, table)) {
        return false;
    }
    table->narrow = table->values.width <= SJDB_NARROW;
    for (int i = 0; i < fields; i++) {
        const struct sjdb_column *column = &table->column[i];
        table->narrow = table->narrow && column->width <= SJDB_NARROW;
        if (column->width > 0) {
            table->varying[table->varying_count++] =
                (struct sjdb_comparison){column->mask, column->first * table->values.width,
                                         column->count, column->offset, (uint32_t)i};
        } else {
            table->constant_value[table->constant_count] = sjdb_cell(look, table, 0, i);
            table->constant[table->constant_count++] = (uint8_t)i;
        }
    }
    return !look->damaged;
}

/* Reads a set's tables, and checks that the counts of its sections fit each other, since lookups
 * rely on it. */
static bool read_set(struct skipjackdb *db, struct sjdb_set *set)
{
    const struct sjdb_array *part = set->part;
    struct sjdb_look look = {db, false};
    fill_absent(db, set->part, SJDB_PART_COUNT);
    uint64_t buckets = part[SJDB_BUCKETS].count, slots = part[SJDB_VARIANT_SLOTS].count;
    set->bucket_bits = bits_below(buckets > 0 ? buckets - 1 : 0);
    set->slot_mask = slots > 0 ? slots - 1 : 0;
    return (buckets <= 1 ? part[SJDB_SHAPES].count == 0
                         : buckets - 1 == UINT64_C(1) << set->bucket_bits) &&
           (slots & set->slot_mask) == 0 &&
           part[SJDB_FINGERPRINTS].count == part[SJDB_SHAPES].count &&
           read_table(&look, &part[SJDB_SHAPES], SJDB_SHAPE_FIELDS, SJDB_SHAPE_COLUMNS,
                      &set->shapes) &&
           read_table(&look, &part[SJDB_VARIANTS], SJDB_VARIANT_FIELDS, SJDB_VARIANT_FIELDS,
                      &set->variants);
}

/* Returns true if the texts end with a NUL. Callers get texts as pointers into the file, so the
 * last one must end within it. */
static bool texts_end(const struct sjdb_array *texts)
{
    return texts->count == 0 || (texts->width == 8 && texts->bytes[texts->count - 1] == '\0');
}

static bool read_range(struct sjdb_look *look, uint64_t index, struct sjdb_time_range *range)
{
    const struct sjdb_array *ranges = &look->db->single[SJDB_TIME_RANGES];
    uint64_t digits = sjdb_get(look, ranges, 3 * index + 2);
    range->first_code = sjdb_get(look, ranges, 3 * index);
    range->first_mantissa = sjdb_get(look, ranges, 3 * index + 1);
    range->scale = sjdb_power_of_ten[digits <= SJDB_DIGITS_MAX ? digits : 0];
    return digits <= SJDB_DIGITS_MAX;
}

/* Reads the ranges of time codes. The bit width of a time follows from the number of codes. */
static bool read_times(struct skipjackdb *db)
{
    const struct sjdb_array *ranges = &db->single[SJDB_TIME_RANGES];
    struct sjdb_look look = {db, false};
    if (ranges->count == 0) {
        return true;
    }
    if (ranges->count % 3 != 1 || ranges->count > 3 * SJDB_TIME_RANGES_MAX + 1) {
        return false;
    }
    db->time_range_count = (uint32_t)(ranges->count / 3);
    for (uint32_t i = 0; i < db->time_range_count; i++) {
        if (!read_range(&look, i, &db->times[i])) {
            return false;
        }
    }
    db->first_rare = sjdb_get(&look, ranges, ranges->count - 1);
    if (db->first_rare >> 62 != 0) {
        return false;
    }
    db->find.time_width = bits_below(db->first_rare + db->single[SJDB_RARE_TIMES].count);
    db->other_find.time_width = db->find.time_width;
    return true;
}

/* Returns true if every entry with an interval has both of its ends. */
static bool intervals_fit(const struct skipjackdb *db)
{
    uint64_t count = db->single[SJDB_INTERVAL_ENTRIES].count;
    return db->single[SJDB_INTERVAL_LOWS].count == count &&
           db->single[SJDB_INTERVAL_HIGHS].count == count;
}

static void make_ready(struct skipjackdb *db, struct sjdb_set *set)
{
    uint64_t choices = set->part[SJDB_CHOICE_SOLVERS].count;
    set->ready_count = choices < SJDB_READY_CHOICES ? choices : SJDB_READY_CHOICES;
    for (uint64_t i = 0; i < set->ready_count; i++) {
        struct sjdb_look look = {db, false};
        sjdb_choice_read(&look, set, i, &set->ready[i]);
        set->ready[i].whole = !look.damaged;
    }
}

static int read_sections(struct skipjackdb *db)
{
    for (uint32_t i = 0; i < db->section_count; i++) {
        struct section section;
        read_section(db, i, &section);
        if (!take_section(db, &section)) {
            return SKIPJACKDB_DAMAGED;
        }
    }
    fill_absent(db, db->single, SJDB_SINGLES);
    bool whole = texts_end(&db->single[SJDB_META]) && texts_end(&db->single[SJDB_STRINGS]) &&
                 read_times(db) && intervals_fit(db) && read_set(db, &db->find) &&
                 read_set(db, &db->perf) && read_set(db, &db->solved) &&
                 read_set(db, &db->other_find) && read_set(db, &db->other_solved) &&
                 read_set(db, &db->unmeasured);
    if (!whole) {
        return SKIPJACKDB_DAMAGED;
    }
    make_ready(db, &db->find);
    make_ready(db, &db->perf);
    make_ready(db, &db->solved);
    make_ready(db, &db->other_find);
    make_ready(db, &db->other_solved);
    make_ready(db, &db->unmeasured);
    return SKIPJACKDB_OK;
}

static int read_header(struct skipjackdb *db)
{
    const uint8_t *bytes = db->bytes;
    if (db->length < SJDB_MAGIC_BYTES || memcmp(bytes, SJDB_MAGIC, SJDB_MAGIC_BYTES) != 0) {
        return SKIPJACKDB_FORMAT;
    }
    if (db->length < SJDB_HEADER_BYTES) {
        return SKIPJACKDB_TRUNCATED;
    }
    if ((bytes[8] | bytes[9] << 8) != SJDB_MAJOR) {
        return SKIPJACKDB_VERSION;
    }
    if (sjdb_le64(bytes + 16) != db->length) {
        return SKIPJACKDB_TRUNCATED;
    }
    db->section_count = sjdb_le32(bytes + 12);
    uint64_t table = (uint64_t)db->section_count * SJDB_SECTION_BYTES;
    if (db->section_count > SJDB_SECTIONS_MAX || table > db->length - SJDB_HEADER_BYTES) {
        return SKIPJACKDB_DAMAGED;
    }
    uint64_t checksum = sjdb_checksum(bytes, 24, SJDB_CHECK_SEED);
    checksum = sjdb_checksum(bytes + SJDB_HEADER_BYTES, (size_t)table, checksum);
    return checksum == sjdb_le64(bytes + 24) ? read_sections(db) : SKIPJACKDB_DAMAGED;
}

static int map_file(const char *path, struct skipjackdb *db)
{
    struct stat status;
    int code = SKIPJACKDB_IO;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return code;
    }
    if (fstat(fd, &status) != 0) {
        goto out;
    }
    if (!S_ISREG(status.st_mode) || status.st_size < SJDB_MAGIC_BYTES) {
        code = SKIPJACKDB_FORMAT;
        goto out;
    }
    db->length = (size_t)status.st_size;
    void *bytes = mmap(NULL, db->length, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes != MAP_FAILED) {
        db->bytes = bytes;
        db->mapped = true;
        code = SKIPJACKDB_OK;
    }
out:;
    int reason = errno;
    close(fd);
    errno = reason;
    return code;
}

/* Opens the file at `path`, or, if `path` is NULL, the bytes that the caller gives. */
static int open_any(const char *path, const void *bytes, size_t length, skipjackdb **db)
{
    struct skipjackdb *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return SKIPJACKDB_MEMORY;
    }
    made->bytes = bytes;
    made->length = length;
    int code = path != NULL ? map_file(path, made) : SKIPJACKDB_OK;
    if (code == SKIPJACKDB_OK) {
        code = read_header(made);
    }
    if (code != SKIPJACKDB_OK) {
        skipjackdb_close(made);
        return code;
    }
    *db = made;
    return SKIPJACKDB_OK;
}

int skipjackdb_open(const char *path, skipjackdb **db)
{
    if (db == NULL) {
        return SKIPJACKDB_USAGE;
    }
    *db = NULL;
    return path == NULL ? SKIPJACKDB_USAGE : open_any(path, NULL, 0, db);
}

int skipjackdb_open_bytes(const void *bytes, size_t length, skipjackdb **db)
{
    if (db == NULL) {
        return SKIPJACKDB_USAGE;
    }
    *db = NULL;
    return bytes == NULL ? SKIPJACKDB_USAGE : open_any(NULL, bytes, length, db);
}

void skipjackdb_close(skipjackdb *db)
{
    if (db == NULL) {
        return;
    }
    if (db->mapped) {
        munmap((void *)db->bytes, db->length);
    }
    free(db);
}

int skipjackdb_verify(const skipjackdb *db)
{
    if (db == NULL) {
        return SKIPJACKDB_USAGE;
    }
    for (uint32_t i = 0; i < db->section_count; i++) {
        struct section section;
        read_section(db, i, &section);
        if (sjdb_checksum(db->bytes + section.offset, (size_t)section.length, SJDB_CHECK_SEED) !=
            section.checksum) {
            return SKIPJACKDB_DAMAGED;
        }
    }
    return sjdb_verify_records(db);
}

const char *skipjackdb_meta(const skipjackdb *db)
{
    return db == NULL || db->single[SJDB_META].count == 0
               ? ""
               : (const char *)db->single[SJDB_META].bytes;
}

int skipjackdb_section_at(const skipjackdb *db, size_t index, struct skipjackdb_section *section)
{
    if (db == NULL || !SJDB_SIZED(section)) {
        return SKIPJACKDB_USAGE;
    }
    if (index >= db->section_count) {
        return SKIPJACKDB_NOT_FOUND;
    }
    struct section found;
    read_section(db, index, &found);
    const char *name = sjdb_kind_name(found.kind);
    section->kind = found.kind;
    section->width = found.width;
    section->items = found.count;
    section->bytes = found.length;
    section->name = name != NULL ? name : "?";
    return SKIPJACKDB_OK;
}

const char *sjdb_text(struct sjdb_look *look, uint64_t number)
{
    const struct sjdb_array *texts = &look->db->single[SJDB_STRINGS];
    uint64_t start = sjdb_get(look, &look->db->single[SJDB_STRING_STARTS], number);
    if (start >= texts->count) {
        look->damaged = true;
        return "";
    }
    return (const char *)texts->bytes + start;
}

int64_t sjdb_text_number(struct sjdb_look *look, const char *text)
{
    uint64_t low = 0, high = look->db->single[SJDB_STRING_STARTS].count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int order = strcmp(sjdb_text(look, middle), text);
        if (order == 0) {
            return (int64_t)middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return -1;
}
