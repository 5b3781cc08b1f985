#!/bin/sh
# Compiles the C that kernels/tools/embed makes of text files, and compares the strings with the texts.
set -u

build=$(dirname "$SKIPJACK")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
number=0

result() {
    number=$((number + 1))
    if [ "$1" = 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
}

# refuses LABEL EXPECTED ARGUMENT...: asserts that embed fails and that its message matches EXPECTED.
refuses() {
    label=$1 expected=$2
    shift 2
    found=$("$build/embed" "$@" 2>&1 >/dev/null) && found="it did not fail"
    echo "$found" | grep -q "$expected"
    result $? "$label"
}

cd "$scratch" || exit 1
printf '%s\n' '#define LOCAL __local "why??=\\"' >dialect.h
printf '#include "dialect.h"\nkernel\tvoid a() {}\n\303\251 no newline at the end' >a.cl
printf '%s\nkernel\tvoid a() {}\n\303\251 no newline at the end\n' "$(cat dialect.h)" >expected
echo 'SELECT 1;' >0001_first.sql
echo "SELECT 'x';" >0002_second.sql
cat >print.c <<'PROGRAM'
#include "kernels/kernel_source.h"
#include "schema/sql/migrations.h"
#include "solvers/framework/kernel_hash.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const struct kernel_source *source = &kernel_sources[0];
    if (argc > 1)
        return printf("%s", source->text) < 0;
    printf("%zu %s %d %d\n", kernel_sources_count, source->file,
           strcmp(kernel_source_hash("a.cl"), source->sha256), kernel_source_hash("b.cl") == NULL);
    printf("%s\n", source->sha256);
    for (size_t i = 0; i < migrations_count; i++)
        printf("%d %s %s", migrations[i].number, migrations[i].name, migrations[i].sql);
    return argv[0] == NULL;
}
PROGRAM

"$build/embed" kernel_sources dialect.h a.cl >sources.c && "$build/embed" kernel_hashes dialect.h a.cl >hashes.c &&
    "$build/embed" migrations 0002_second.sql 0001_first.sql >migrations.c &&
    gcc -std=c17 -Wall -Wextra -Werror -I"$OLDPWD" -o print print.c sources.c hashes.c migrations.c
result $? 'its output compiles without a warning'
./print text >text && cmp text expected
result $? 'a kernel holds the text of its header'
[ "$(./print | sed -n 1p)" = '1 a.cl 0 1' ]
result $? 'hashes are found by file name'
[ "$(./print | sed -n 2p)" = "$(sha256sum expected | cut -d' ' -f1)" ]
result $? 'the hash is of the whole text'
[ "$(./print | sed -n 3,4p)" = "1 0001_first SELECT 1;
2 0002_second SELECT 'x';" ]
result $? 'migrations are in order'
cat >functions.sql <<'SQL'
-- What; it's for.
-- revision: 7
-- oldest program: 3

-- A comment; with a semicolon.
CREATE OR REPLACE FUNCTION one(n integer) RETURNS text
LANGUAGE sql AS $$ SELECT ';'; -- it's one
$$;
CREATE OR REPLACE VIEW both AS SELECT ';' AS a;
CREATE OR REPLACE TRIGGER keep BEFORE INSERT ON it EXECUTE FUNCTION one();
SQL
"$build/embed" definitions functions.sql >definitions.c && gcc -std=c17 -Wall -Wextra -Werror -I"$OLDPWD" -c definitions.c &&
    [ "$(grep -c 'DEFINITION_FUNCTION, "one"\|DEFINITION_VIEW, "both"\|DEFINITION_TRIGGER, "keep"' definitions.c)" = 3 ] &&
    grep -q '^ *7, 3, *$' definitions.c
result $? 'functions, views and triggers are told apart, and have a revision'
sed 's/A comment/Another comment/' functions.sql >words.sql
[ "$("$build/embed" definitions words.sql)" = "$(cat definitions.c)" ]
result $? 'a comment between definitions changes nothing'
echo "SELECT @FAILURE_WORKER_LOST, 'NAME@NUMBER', a @> b;" >0003_numbers.sql
"$build/embed" migrations 0003_numbers.sql | grep -q "SELECT 13, 'NAME@NUMBER', a @> b;"
result $? 'a name after an @ becomes its number'
cat >page.c <<'PROGRAM'
#include "coordinator/serve/page_files.h"

#include <stdio.h>

int main(void)
{
    const struct page_file *file = page_file_find("/page/a.css");
    fprintf(stderr, "%zu %s %s", page_files_count, file->type, file->etag);
    return fwrite(file->packed, 1, file->packed_size, stdout) != file->packed_size || page_file_find("/page/none") ||
           page_file_find("/") || page_file_find("a.css");
}
PROGRAM
printf 'a { content: "\303\251??="; }\n' >a.css && echo '<svg/>' >b.svg
"$build/embed" page_files b.svg a.css >files.c &&
    gcc -std=c17 -Wall -Wextra -Werror -I"$OLDPWD" -o page page.c files.c "$OLDPWD/coordinator/serve/page_files.c" &&
    ./page >a.gz 2>about && gunzip -c a.gz | cmp - a.css &&
    [ "$(cat about)" = "2 text/css; charset=utf-8 \"$(sha256sum a.css | cut -c1-32)\"" ]
result $? 'a file of the dashboard has its type, its hash and its text as gzip'
"$build/embed" kernel_sources dialect.h >empty.c && gcc -std=c17 -Werror -I"$OLDPWD" -c empty.c
result $? 'no kernel at all is fine'

echo '#include <stdio.h>' >b.cl
refuses 'another include' 'headers of kernels/device alone' kernel_sources dialect.h b.cl
printf '#include "tile.h"\n#include "dialect.h"\nend\n' >b.cl
refuses 'a header that is not there' 'lacks' kernel_sources dialect.h b.cl
printf '#include "dialect.h"\ntile\n' >tile.h
"$build/embed" kernel_sources tile.h dialect.h b.cl >twice.c && [ "$(grep -c 'define LOCAL' twice.c)" = 1 ]
result $? 'a header comes once, however often it is included'
cat >plain.cl <<'TEXT'
int a = 1 / 2;
char *b = "/* no comment // \" /* */", c = '"';
int d;
TEXT
cat >commented.cl <<'TEXT'
/* What it computes,
 * over several lines. */

int a = 1 / 2; // half "
   /* " */
char *b = "/* no comment // \" /* */", c = '"'; /* a line's end */ // and more
int/* */d;

TEXT
mkdir apart && mv plain.cl apart/commented.cl
"$build/embed" kernel_sources commented.cl >with.c && "$build/embed" kernel_sources apart/commented.cl >without.c &&
    cmp with.c without.c
result $? 'comments and blank lines change no hash'
mkdir other && cp a.cl other
refuses 'one name twice' 'two files' kernel_sources dialect.h a.cl other/a.cl
cp 0001_first.sql 0001_again.sql
refuses 'one number twice' 'this number' migrations 0001_first.sql 0001_again.sql
cp 0001_first.sql 1_first.sql
refuses 'a migration without four digits' 'NNNN_name.sql' migrations 1_first.sql
{ cat functions.sql; echo 'CREATE TABLE t ();'; } >table.sql
refuses 'a table among functions' 'only CREATE OR REPLACE' definitions table.sql
{ cat functions.sql; echo "CREATE OR REPLACE FUNCTION one(n integer) RETURNS int AS 'x';"; } >again.sql
refuses 'a function defined twice' 'defined twice' definitions again.sql
sed 's/;$//' functions.sql >open.sql
refuses 'a statement without an end' 'semicolon' definitions open.sql
sed '/revision/d' functions.sql >none.sql
refuses 'functions without a revision' 'revision' definitions none.sql
echo 'SELECT @FAILURE_OF_NO_KIND;' >0004_none.sql
refuses 'a number that is not listed' 'numbers.h lacks' migrations 0004_none.sql
printf 'a\0b' >nul.cl
refuses 'a NUL byte' 'NUL' kernel_sources dialect.h nul.cl
echo text >page.doc
refuses 'a page of an unknown type' 'media type' page_files page.doc
refuses 'a table that is no .csv' 'NETWORK.csv' network_tables page.doc
refuses 'no mode' 'usage' sources
echo "1..$number"
