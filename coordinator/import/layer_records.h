/*
 * The records of a separated text (CSV as spreadsheets, pandas and hands write
 * it): cells between commas, semicolons or tabs; a cell in quotes may hold the
 * separator, line ends (which become spaces) and "" for a quote. Lines that are
 * empty, hold separators alone or begin with '#' are no records.
 */
#ifndef COORDINATOR_IMPORT_LAYER_RECORDS_H
#define COORDINATOR_IMPORT_LAYER_RECORDS_H

#include "coordinator/import/import_reader.h"

#define RECORD_CELLS_MAX 512
#define RECORD_LINES_MAX 256 /* most lines of a record, whose quoted cells may hold line ends */

/* A comment that states a fact of the table's networks. */
#define FACT_MARK "#@"
struct fact_line {
    char *text; /* the text behind the mark */
    int64_t number;
};

struct layer_records {
    struct import_lines lines;
    GQueue ahead;     /* struct ahead_line *: lines that were read and not yet returned */
    int64_t number;   /* number of the record's first line, from 1 */
    int64_t last;     /* number of the last line that was part of a record or skipped */
    GString *text;    /* the texts of the cells, each with a NUL */
    GPtrArray *cells; /* const char *: pointers to the cells in `text` */
    /* struct fact_line *: lines that state facts ("#@ name: value") and were passed over since the
     * reader of the table took the last ones */
    GPtrArray *facts;
};

void layer_records_init(struct layer_records *records, Import *import,
                        const struct import_source *source);
/* Releases the records. Returns false with the reason when the source could not be read to its
 * end. */
bool layer_records_end(struct layer_records *records, GError **error);

/* Returns the next line that may begin a record, without consuming it; if `comments`, comment lines
 * too. NULL at the end of the file. */
const char *layer_records_peek(struct layer_records *records, bool comments);
/* Skips the line that layer_records_peek() returned. */
void layer_records_skip_line(struct layer_records *records);

/* Sets cells to those of the next record without consuming it. Returns false at the end and when
 * a quote is not closed. */
bool layer_records_look(struct layer_records *records, char separator);

/* READ_ROW: cells and number are set, until the next call. READ_BAD: a quote is not closed, or there are
 * too many cells; the next call goes on at the next line. READ_END also where the source cannot be read
 * any further: layer_records_end() says so. */
enum read_step layer_records_next(struct layer_records *records, char separator, GError **error);

/* Splits one line. `text` and `cells` are overwritten: `cells` gets pointers into `text`. Returns true if all quotes of
 * the line are closed. */
bool layer_split_line(const char *line, char separator, GString *text, GPtrArray *cells);

#endif
