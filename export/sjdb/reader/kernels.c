/* Reads code objects. A kernel is found by the hash of its name and args. Code objects are stored
 * in groups, each compressed as one zstd frame. */
#include "export/sjdb/reader/view.h"

#include <stdlib.h>
#include <zstd.h>

/* A group while it is unpacked from its beginning. */
struct unpacking {
    ZSTD_DCtx *context;
    ZSTD_inBuffer frame;
    uint64_t at; /* offset in the unpacked content: bytes that were returned or dropped so far */
};

struct place {
    uint64_t group, start, text_bytes, code_bytes, check;
};

static const struct sjdb_array *single(const struct sjdb_look *look, enum sjdb_kind kind)
{
    return &look->db->single[kind];
}

static bool read_place(struct sjdb_look *look, uint64_t number, struct place *place)
{
    place->group = sjdb_get(look, single(look, SJDB_KERNEL_GROUPS), number);
    place->start = sjdb_get(look, single(look, SJDB_KERNEL_STARTS), number);
    place->text_bytes = sjdb_get(look, single(look, SJDB_KERNEL_TEXT_BYTES), number);
    place->code_bytes = sjdb_get(look, single(look, SJDB_KERNEL_CODE_BYTES), number);
    place->check = sjdb_get(look, single(look, SJDB_KERNEL_CHECKS), number);
    if (place->start > SJDB_GROUP_BYTES_MAX || place->text_bytes > SJDB_GROUP_BYTES_MAX ||
        place->code_bytes > SJDB_GROUP_BYTES_MAX) {
        look->damaged = true;
    }
    return !look->damaged;
}

static int unpacking_init(struct sjdb_look *look, uint64_t group, struct unpacking *unpacking)
{
    const struct sjdb_array *frames = single(look, SJDB_GROUPS);
    uint64_t begin = sjdb_get(look, single(look, SJDB_GROUP_STARTS), group);
    uint64_t end = sjdb_get(look, single(look, SJDB_GROUP_STARTS), group + 1);
    memset(unpacking, 0, sizeof *unpacking);
    if (look->damaged || frames->width != 8 || begin > end || end > frames->count) {
        return SKIPJACKDB_DAMAGED;
    }
    unpacking->frame = (ZSTD_inBuffer){frames->bytes + begin, (size_t)(end - begin), 0};
    unpacking->context = ZSTD_createDCtx();
    return unpacking->context != NULL ? SKIPJACKDB_OK : SKIPJACKDB_MEMORY;
}

static void unpacking_clear(struct unpacking *unpacking)
{
    ZSTD_freeDCtx(unpacking->context);
}

/* Unpacks the next bytes of the group. Returns false if the group is damaged or ends too early. */
static bool unpack(struct unpacking *unpacking, void *room, size_t bytes)
{
    ZSTD_outBuffer out = {room, bytes, 0};
    while (out.pos < out.size) {
        size_t before = out.pos;
        size_t rest = ZSTD_decompressStream(unpacking->context, &out, &unpacking->frame);
        if (ZSTD_isError(rest)) {
            return false;
        }
        bool input_over = unpacking->frame.pos == unpacking->frame.size;
        if (out.pos < out.size && (rest == 0 || (input_over && out.pos == before))) {
            return false;
        }
    }
    unpacking->at += bytes;
    return true;
}

/* Unpacks and drops bytes up to offset `place` of the unpacked content. */
static bool unpack_to(struct unpacking *unpacking, uint64_t place)
{
    char passed[16384];
    if (place < unpacking->at) {
        return false;
    }
    while (unpacking->at < place) {
        uint64_t rest = place - unpacking->at;
        if (!unpack(unpacking, passed, rest < sizeof passed ? (size_t)rest : sizeof passed)) {
            return false;
        }
    }
    return true;
}

/* Returns true if the bytes are exactly two texts, name and args, each with its NUL. */
static bool texts_hold(const char *text, uint64_t bytes)
{
    const char *middle = bytes > 0 ? memchr(text, '\0', (size_t)bytes) : NULL;
    return middle != NULL &&
           memchr(middle + 1, '\0', (size_t)bytes - (size_t)(middle + 1 - text)) ==
               text + bytes - 1;
}

/* Unpacks a kernel of the group into `text` and `code`, which have the sizes that `place`
 * states. */
static bool unpack_kernel(struct unpacking *unpacking, const struct place *place, char *text,
                          void *code)
{
    return unpack_to(unpacking, place->start) &&
           unpack(unpacking, text, (size_t)place->text_bytes) &&
           texts_hold(text, place->text_bytes) &&
           unpack(unpacking, code, (size_t)place->code_bytes) &&
           sjdb_checksum(code, (size_t)place->code_bytes, SJDB_CHECK_SEED) == place->check;
}

/* Returns the caller's buffer; if the caller wants no bytes (NULL), a new buffer that *own owns. */
static void *room_or_own(void *room, uint64_t bytes, void **own)
{
    *own = room == NULL ? malloc(bytes > 0 ? (size_t)bytes : 1) : NULL;
    return room != NULL ? room : *own;
}

static int read_kernel(struct sjdb_look *look, const struct place *place, char *text, void *code)
{
    struct unpacking unpacking;
    void *own_text = NULL, *own_code = NULL;
    int status = unpacking_init(look, place->group, &unpacking);
    if (status == SKIPJACKDB_OK) {
        text = room_or_own(text, place->text_bytes, &own_text);
        code = room_or_own(code, place->code_bytes, &own_code);
        if (text == NULL || code == NULL) {
            status = SKIPJACKDB_MEMORY;
        } else if (!unpack_kernel(&unpacking, place, text, code)) {
            status = SKIPJACKDB_DAMAGED;
        }
    }
    unpacking_clear(&unpacking);
    free(own_text);
    free(own_code);
    return status;
}

uint64_t skipjackdb_kernel_count(const skipjackdb *db)
{
    return db == NULL ? 0 : db->single[SJDB_KERNEL_NUMBERS].count;
}

int skipjackdb_kernel_at(const skipjackdb *db, uint64_t number, struct skipjackdb_kernel *kernel)
{
    struct sjdb_look look = {db, false};
    struct place place;
    if (db == NULL || !SJDB_SIZED(kernel)) {
        return SKIPJACKDB_USAGE;
    }
    if (number >= skipjackdb_kernel_count(db)) {
        return SKIPJACKDB_NOT_FOUND;
    }
    if (!read_place(&look, number, &place)) {
        return SKIPJACKDB_DAMAGED;
    }
    kernel->text_bytes = place.text_bytes;
    kernel->code_bytes = place.code_bytes;
    return SKIPJACKDB_OK;
}

int skipjackdb_kernel_read(const skipjackdb *db, uint64_t number, char *text, size_t text_room,
                           void *code, size_t code_room)
{
    struct sjdb_look look = {db, false};
    struct place place;
    if (db == NULL) {
        return SKIPJACKDB_USAGE;
    }
    if (number >= skipjackdb_kernel_count(db)) {
        return SKIPJACKDB_NOT_FOUND;
    }
    if (!read_place(&look, number, &place)) {
        return SKIPJACKDB_DAMAGED;
    }
    if ((text != NULL && text_room < place.text_bytes) ||
        (code != NULL && code_room < place.code_bytes)) {
        return SKIPJACKDB_SPACE;
    }
    return read_kernel(&look, &place, text, code);
}

/* Returns the index of the first hash in the sorted list that is not smaller than `hash`. */
static uint64_t first_hash(struct sjdb_look *look, uint64_t hash)
{
    const struct sjdb_array *hashes = single(look, SJDB_KERNEL_HASHES);
    uint64_t low = 0, high = hashes->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (sjdb_get(look, hashes, middle) < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Reads a kernel and compares its name and args, since two kernels may have the same hash. If they
 * are the wanted ones, its code is in `code`. */
static int read_if_named(struct sjdb_look *look, const struct place *place, const char *name,
                         const char *args, void *code)
{
    size_t name_bytes = strlen(name) + 1, args_bytes = strlen(args) + 1;
    if (place->text_bytes != name_bytes + args_bytes) {
        return SKIPJACKDB_NOT_FOUND;
    }
    char *text = malloc(name_bytes + args_bytes);
    if (text == NULL) {
        return SKIPJACKDB_MEMORY;
    }
    int status = read_kernel(look, place, text, code);
    if (status == SKIPJACKDB_OK &&
        (memcmp(text, name, name_bytes) != 0 || memcmp(text + name_bytes, args, args_bytes) != 0)) {
        status = SKIPJACKDB_NOT_FOUND;
    }
    free(text);
    return status;
}

int skipjackdb_kernel(const skipjackdb *db, const char *name, const char *args, void *code,
                      size_t room, size_t *code_bytes)
{
    struct sjdb_look look = {db, false};
    if (db == NULL || name == NULL || args == NULL || code_bytes == NULL) {
        return SKIPJACKDB_USAGE;
    }
    const struct sjdb_array *hashes = single(&look, SJDB_KERNEL_HASHES);
    uint64_t hash = sjdb_kernel_hash(name, args);
    int status = SKIPJACKDB_NOT_FOUND;
    for (uint64_t i = first_hash(&look, hash);
         status == SKIPJACKDB_NOT_FOUND && i < hashes->count && sjdb_get(&look, hashes, i) == hash;
         i++) {
        struct place place;
        if (!read_place(&look, sjdb_get(&look, single(&look, SJDB_KERNEL_NUMBERS), i), &place)) {
            return SKIPJACKDB_DAMAGED;
        }
        *code_bytes = (size_t)place.code_bytes;
        if (code == NULL || room < place.code_bytes) {
            return SKIPJACKDB_SPACE;
        }
        status = read_if_named(&look, &place, name, args, code);
    }
    return look.damaged ? SKIPJACKDB_DAMAGED : status;
}

/* Checks that looking up the kernel's name and args finds this kernel again. */
static bool hash_leads_to(struct sjdb_look *look, const char *text, uint64_t number)
{
    const struct sjdb_array *hashes = single(look, SJDB_KERNEL_HASHES);
    uint64_t hash = sjdb_kernel_hash(text, text + strlen(text) + 1);
    for (uint64_t i = first_hash(look, hash); i < hashes->count; i++) {
        if (sjdb_get(look, hashes, i) != hash) {
            break;
        }
        if (sjdb_get(look, single(look, SJDB_KERNEL_NUMBERS), i) == number) {
            return true;
        }
    }
    return false;
}

static int verify_kernel(struct sjdb_look *look, struct unpacking *unpacking, uint64_t number,
                         const struct place *place)
{
    char *text = malloc((size_t)place->text_bytes + 1);
    void *code = malloc((size_t)place->code_bytes + 1);
    int status = SKIPJACKDB_MEMORY;
    if (text != NULL && code != NULL) {
        bool whole =
            unpack_kernel(unpacking, place, text, code) && hash_leads_to(look, text, number);
        status = whole && !look->damaged ? SKIPJACKDB_OK : SKIPJACKDB_DAMAGED;
    }
    free(text);
    free(code);
    return status;
}

/* Kernels are numbered group by group, so reading them in order unpacks each group once. */
int sjdb_verify_kernels(const struct skipjackdb *db)
{
    struct sjdb_look look = {db, false};
    struct unpacking unpacking = {.context = NULL};
    uint64_t group = UINT64_MAX, count = skipjackdb_kernel_count(db);
    int status = SKIPJACKDB_OK;
    for (uint64_t i = 0; i < count && status == SKIPJACKDB_OK; i++) {
        struct place place;
        if (!read_place(&look, i, &place)) {
            status = SKIPJACKDB_DAMAGED;
            break;
        }
        if (place.group != group) {
            unpacking_clear(&unpacking);
            status = unpacking_init(&look, place.group, &unpacking);
            group = place.group;
        }
        if (status == SKIPJACKDB_OK) {
            status = verify_kernel(&look, &unpacking, i, &place);
        }
    }
    unpacking_clear(&unpacking);
    return status;
}
