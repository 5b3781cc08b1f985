/* The parts of a problem that MIOpen's keys cannot name, in the words of the canonical key
 * (solvers/FORMATS.md): the operator in front of the key, the strides and the epilogue behind it. */
#include "export/sjdb/reader/forms.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const kind_names[] = {"conv", "pool", "pointwise", "softmax", "resize", "lrn"};
#define KINDS ((int32_t)(sizeof kind_names / sizeof kind_names[0]))

/* The letters of x, w, y and the residual in front of their strides. */
static const char stride_letters[] = {'x', 'w', 'y', 'r'};
#define STRIDED 4

bool sjdb_tensor_is_strided(const struct skipjackdb_problem *p, int tensor)
{
    const int64_t *s = p->strides[tensor];
    return (s[0] | s[1] | s[2] | s[3] | s[4]) != 0;
}

bool sjdb_is_strided(const struct skipjackdb_problem *p)
{
    bool strided = false;
    for (int t = 0; t < STRIDED; t++) {
        strided = strided || sjdb_tensor_is_strided(p, t);
    }
    return strided;
}

bool sjdb_is_tf32(const struct skipjackdb_problem *p)
{
    return p->kind == SKIPJACKDB_CONV && strcmp(p->mode, SJDB_TF32) == 0;
}

bool sjdb_kind_known(const struct skipjackdb_problem *p)
{
    return p->kind >= 0 && p->kind < KINDS && memchr(p->mode, '\0', sizeof p->mode) != NULL &&
           (p->kind != SKIPJACKDB_CONV || p->mode[0] == '\0' || sjdb_is_tf32(p));
}

int sjdb_kind_write(const struct skipjackdb_problem *p, char *text, size_t size)
{
    bool moded = p->mode[0] != '\0';
    return snprintf(text, size, "%s%s%s%s", kind_names[p->kind], moded ? "(" : "", p->mode,
                    moded ? ")" : "");
}

int sjdb_strides_write(const struct skipjackdb_problem *p, char *text, size_t size)
{
    int length = 0;
    for (int t = 0; t < STRIDED; t++) {
        const int64_t *s = p->strides[t];
        size_t used = (size_t)length < size ? (size_t)length : size;
        if (sjdb_tensor_is_strided(p, t)) {
            length += snprintf(text + used, size - used,
                               "_s%c%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64,
                               stride_letters[t], s[0], s[1], s[2], s[3], s[4]);
        }
    }
    return length;
}

bool sjdb_form_write(const struct skipjackdb_problem *p, char form[SJDB_FORM_MAX])
{
    size_t length = 0, epilogue = strlen(p->epilogue);
    form[0] = '\0';
    if (!sjdb_kind_known(p)) {
        return false;
    }
    if (p->kind != SKIPJACKDB_CONV || p->mode[0] != '\0') {
        length = (size_t)sjdb_kind_write(p, form, SJDB_FORM_MAX);
    }
    length += (size_t)sjdb_strides_write(p, form + length, SJDB_FORM_MAX - length);
    if (length + epilogue >= SJDB_FORM_MAX) {
        return false;
    }
    memcpy(form + length, p->epilogue, epilogue + 1);
    return true;
}

bool sjdb_kind_read(const char **at, struct skipjackdb_problem *p)
{
    size_t name = strspn(*at, "abcdefghijklmnopqrstuvwxyz");
    for (int32_t kind = 0; kind < KINDS; kind++) {
        if (strlen(kind_names[kind]) != name || memcmp(*at, kind_names[kind], name) != 0) {
            continue;
        }
        p->kind = kind;
        *at += name;
        if (**at != '(') {
            return true;
        }
        size_t mode = strcspn(*at + 1, "()");
        if (mode == 0 || mode >= sizeof p->mode || (*at)[1 + mode] != ')') {
            return false;
        }
        memcpy(p->mode, *at + 1, mode);
        *at += mode + 2;
        return true;
    }
    return false;
}

/* Takes a number without leading zeros, up to INT64_MAX. */
static bool take_number(const char **at, int64_t *value)
{
    uint64_t number = 0;
    const char *digit = *at;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        uint64_t next = (uint64_t)(*digit - '0');
        if ((digit > *at && number == 0) || number > (INT64_MAX - next) / 10) {
            return false;
        }
        number = number * 10 + next;
    }
    bool taken = digit > *at;
    *at = digit;
    *value = (int64_t)number;
    return taken;
}

bool sjdb_strides_read(const char **at, struct skipjackdb_problem *p)
{
    for (int t = 0; t < STRIDED; t++) {
        if ((*at)[0] != '_' || (*at)[1] != 's' || (*at)[2] != stride_letters[t]) {
            continue;
        }
        *at += 3;
        for (int i = 0; i < 5; i++) {
            if ((i > 0 && *(*at)++ != 'x') || !take_number(at, &p->strides[t][i])) {
                return false;
            }
        }
        if (!sjdb_tensor_is_strided(p, t)) {
            return false;
        }
    }
    return true;
}

/* The epilogue is not parsed: a text that is not canonical is simply not found, since no database
 * holds it. */
bool sjdb_epilogue_read(const char *at, struct skipjackdb_problem *p)
{
    size_t length = strlen(at);
    if (length >= sizeof p->epilogue || (length > 0 && *at != '+')) {
        return false;
    }
    memset(p->epilogue, 0, sizeof p->epilogue);
    memcpy(p->epilogue, at, length);
    return true;
}

bool sjdb_form_read(const char *form, struct skipjackdb_problem *p)
{
    const char *at = form;
    p->kind = SKIPJACKDB_CONV;
    memset(p->mode, 0, sizeof p->mode);
    memset(p->strides, 0, sizeof p->strides);
    if (*at != '\0' && *at != '_' && *at != '+' &&
        (!sjdb_kind_read(&at, p) || (p->kind == SKIPJACKDB_CONV && !sjdb_is_tf32(p)))) {
        return false;
    }
    return sjdb_strides_read(&at, p) && sjdb_epilogue_read(at, p);
}

void sjdb_form_split(const char *form, struct sjdb_form_parts *parts)
{
    size_t kind = strcspn(form, "(_+");
    if (form[kind] == '(') {
        kind += strcspn(form + kind, ")");
        kind += form[kind] == ')';
    }
    size_t strides = strcspn(form + kind, "+");
    *parts = (struct sjdb_form_parts){form, form + kind, form + kind + strides, kind, strides};
}

bool sjdb_problem_take(const struct skipjackdb_problem *problem, struct skipjackdb_problem *own)
{
    size_t size = problem->size < sizeof *own ? SJDB_PROBLEM_1_1 : sizeof *own;
    memset(own, 0, sizeof *own);
    memcpy(own, problem, size);
    own->size = sizeof *own;
    return memchr(own->epilogue, '\0', sizeof own->epilogue) != NULL && sjdb_kind_known(own);
}

int sjdb_problem_give(const struct skipjackdb_problem *own, struct skipjackdb_problem *problem)
{
    size_t size = problem->size;
    if (size >= sizeof *own) {
        memcpy(problem, own, sizeof *own);
    } else if (own->kind == SKIPJACKDB_CONV && own->mode[0] == '\0' && !sjdb_is_strided(own)) {
        memcpy(problem, own, SJDB_PROBLEM_1_1);
    } else {
        return SKIPJACKDB_SPACE;
    }
    problem->size = size;
    return SKIPJACKDB_OK;
}

int skipjackdb_packed_twin(const struct skipjackdb_problem *problem,
                           struct skipjackdb_problem *twin)
{
    struct skipjackdb_problem own;
    if (!sjdb_problem_sized(problem) || !sjdb_problem_sized(twin) ||
        !sjdb_problem_take(problem, &own)) {
        return SKIPJACKDB_USAGE;
    }
    memset(own.strides, 0, sizeof own.strides);
    return sjdb_problem_give(&own, twin);
}
