#!/usr/bin/perl
# `usage` on a real campaign of this machine: the campaign, its golden version, its find-db and its .sjdb give equal
# answers, alone and together; sums that upkeep makes change none; runs, tags and networks of the database count. Then
# every example of schema/VIEWS.md is run, as a login that may only read.
use strict;
use warnings;
use JSON::PP qw(decode_json);
use lib 'tests/support';
use ScratchProgram qw($program $folder $patience write_file read_file sql);
use Test::More;

sub run {
    my ($expected, @words) = @_;
    my $output = qx(timeout $patience '$program' @words 2>'$folder/errors');
    is $? >> 8, $expected, "'@words[0, 1]' ends with $expected" or diag $output, read_file("$folder/errors");
    return $output;
}

sub usage {
    return decode_json(run(0, 'usage', '--json', @_));
}

# A table as text: the cells of these columns, a row a line; times to five digits, since find-dbs hold no more.
sub cells {
    my ($rows, @columns) = @_;
    my $text = sub { my ($x) = @_; !defined $x ? '-' : $x =~ /^-?\d*\.\d+(e-?\d+)?$/i ? sprintf '%.4g', $x : $x };
    return join '', sort map { my $row = $_; join(' ', map { $text->($row->{$_}) } @columns) . "\n" } @$rows;
}

# ---- a campaign, exported and golden ----

write_file("$folder/small.csv", "network,layer,mult,c,h,w,k,y,x\n"
    . "one,a,2,8,7,7,16,1,1\none,b,1,16,7,7,8,3,3\ntwo,c,5,8,7,7,16,1,1\n");
run(0, 'import', "$folder/small.csv", '--tag', 'small', '-q');
my $id = decode_json(run(0, 'campaign', 'create', '--target', 'local', '--tag', 'small', '--name', 'tiny', '--solvers',
                         'ConvDirectNaive,ConvCpuDirect,ConvDirectTiled', '--configs', 2, '--json'))->{id};
run(0, 'worker', '--embedded', '--until-empty', '--sample-seconds', '0.01');
my $target = sql("SELECT target FROM campaigns WHERE id = $id");
my @lists = ('--problems', "$folder/small.csv");
my $live = usage('--campaign', $id, @lists, '--without', 'each', '--by', 'direction,type,layout');
is sql('SELECT count(*) FROM usage_sums'), 0, 'before upkeep the campaign has no sums';
run(0, 'db', 'collect');
is sql('SELECT count(*) FROM usage_sums'), 2, 'upkeep sums its two problems';
is_deeply usage('--campaign', $id, @lists, '--without', 'each', '--by', 'direction,type,layout'), $live,
    'the sums answer as the results did';
run(0, 'golden', 'propose', '--campaign', $id, '--allow-drift', '--allow-unconfirmed');
run(0, 'golden', 'approve');
run(0, 'export', '--campaign', $id, '-o', "$folder/out", '--allow-drift');
my ($sjdb) = glob "$folder/out/*.sjdb";
my ($find_db) = glob "$folder/out/*.fdb.txt";
my ($kernel_db) = glob "$folder/out/*.kdb";
ok $sjdb && $find_db && $kernel_db, 'the campaign is exported';

# ---- equal answers ----

my %sources = (campaign => ['--campaign', $id], golden => ['--golden', $target], 'find-db' => ['--db', $find_db],
               sjdb => ['--db', $sjdb], target => ['--target', $target]);
my @questions = ('--without', 'each', '--smallest', '5', '--naive', '--convert', '--narrow', '--least', '1');
my $first = usage(@{$sources{campaign}}, @lists, @questions);
is $first->{covered}, 3, 'each problem of each network has a winner';
for my $source (sort keys %sources) {
    my $other = usage(@{$sources{$source}}, @lists, @questions);
    is cells($other->{networks}, 'network', 'problems', 'layers', 'time_ms'),
        cells($first->{networks}, 'network', 'problems', 'layers', 'time_ms'), "$source: the networks' times";
    is cells($other->{solvers}, 'solver', 'wins', 'layers', 'time_ms', 'networks'),
        cells($first->{solvers}, 'solver', 'wins', 'layers', 'time_ms', 'networks'), "$source: the solvers' shares";
    is cells($other->{without_each}{rows}, 'solver', 'moved', 'left', 'without_ms'),
        cells($first->{without_each}{rows}, 'solver', 'moved', 'left', 'without_ms'), "$source: the losses";
    is_deeply $other->{smallest}{solvers}, $first->{smallest}{solvers}, "$source: the smallest set";
    is cells($other->{naive}{rows}, 'network', 'problem', 'next_solver'),
        cells($first->{naive}{rows}, 'network', 'problem', 'next_solver'), "$source: where the naive solver is best";
}
my $together = usage(map({ @$_ } values %sources), @lists);
is cells($together->{solvers}, 'solver', 'wins'), cells($first->{solvers}, 'solver', 'wins'),
    'all sources together answer as one, since they are of one target';
my $apart = usage(map({ @$_ } @sources{qw(campaign golden sjdb)}), @lists, '--by', 'source');
is scalar(@{$apart->{networks}}), 6, '--by source: each network once for each of three sources';
my %sum;
$sum{$_->{source}} += $_->{wins} for @{$apart->{by}{rows}};
is_deeply [sort { $a <=> $b } values %sum], [3, 3, 3], 'and each source has its own winners';

# ---- networks ----

is cells(usage('--campaign', $id, '--all-networks')->{networks}, 'network', 'layers', 'time_ms'),
    cells($first->{networks}, 'network', 'layers', 'time_ms'), 'networks of the database answer as their list';
is usage('--db', $find_db, '--network', 'two')->{layers}, 5, 'one of them, against a file';
is usage('--golden', $target, '--tag', 'small')->{networks}[0]{network}, 'tag small', 'a tag is a network';
for my $source ('campaign', 'golden', 'sjdb') {
    is usage(@{$sources{$source}})->{problems}, 2, "$source: without networks its own problems are one";
}
run(1, 'usage', '--campaign', $id, '--network', 'three');
run(1, 'usage', '--campaign', $id, '--tag', 'large');
run(1, 'usage', '--target', 'gfx90a68', '--all-networks');

# ---- runs ----

my ($two) = grep { $_->{network} eq 'two' } @{$first->{networks}};
write_file("$folder/runs.csv", "network,runs\n# twice an hour\ntwo, 3\nelse,7\n");
write_file("$folder/runs.json", '[{"network": "two", "runs": 3}]');
for my $file ('runs.csv', 'runs.json') {
    my ($more) = grep { $_->{network} eq 'two' } @{usage('--campaign', $id, @lists, '--runs', "$folder/$file")->{networks}};
    cmp_ok abs($more->{time_ms} / $two->{time_ms} - 3), '<', 1e-6, "$file: a network that runs three times takes three times as long";
    like read_file("$folder/errors"), qr/not among those asked about: 'else'/, 'a network that nobody asks about is named'
        if $file eq 'runs.csv';
}
for (["network,runs\ntwo,0\n", qr/line 2: expected/], ["two,3\n", qr/line 1: the first line/], ['{"two": "3"}', qr/member 'two'/],
     ['[3]', qr/element 1/], ['{"two": 3', qr/line 1/]) {
    write_file("$folder/bad", $_->[0]);
    run(1, 'usage', '--campaign', $id, @lists, '--runs', "$folder/bad");
    like read_file("$folder/errors"), $_->[1], 'bad runs are named by file and place';
}

# ---- cold starts ----

my $cold = usage('--campaign', $id, @lists, '--cold', '--cache', $kernel_db)->{cold}{rows};
is scalar(@$cold), 6, 'static, dynamic and mixed for two networks';
for my $row (@$cold) {
    cmp_ok $row->{kernels}, '>', 0, "$row->{network}, $row->{choice}: has kernels";
    cmp_ok $row->{compile_seconds}, '>', 0, 'whose compile time is known';
    is $row->{not_shipped}, 0, 'and which are all in the exported kernel cache';
    is $row->{shipped_compile_seconds} + 0, 0, 'so that nothing is left to compile before the first run';
}
is cells(usage('--golden', $target, @lists, '--cold', '--cache', $kernel_db)->{cold}{rows}, 'network', 'choice', 'kernels', 'bytes', 'compile_seconds'),
    cells($cold, 'network', 'choice', 'kernels', 'bytes', 'compile_seconds'), 'the golden version costs the same';
my $shipped = usage('--db', $sjdb, @lists, '--cold')->{cold}{rows};
is cells($shipped, 'network', 'choice', 'kernels', 'bytes'), cells($cold, 'network', 'choice', 'kernels', 'bytes'),
    'a .sjdb knows the same kernels and bytes';
is $shipped->[0]{compile_seconds}, undef, 'but no seconds';
run(1, 'usage', '--db', $find_db, @lists, '--cold');

# ---- an ended campaign that works again ----

sql("UPDATE campaigns SET state = 'active' WHERE id = $id");
is sql('SELECT count(*) FROM usage_sums'), 0, 'a campaign that works again loses its sums';
sql("UPDATE campaigns SET state = 'done' WHERE id = $id");
run(0, 'db', 'collect');

# ---- the examples of schema/VIEWS.md ----

my $page = read_file('schema/VIEWS.md');
my @examples = $page =~ /^```sql\n(.*?)^```$/msg;
cmp_ok scalar(@examples), '>=', 8, 'the page has examples';
sql("DO \$\$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'skipjack_reader') THEN CREATE ROLE skipjack_reader; END IF; END \$\$;"
    . ' SELECT set_privileges()');
for my $example (@examples) {
    my ($name) = $example =~ /^-- (.*)$/m;
    my $answer = qx('$program' db psql -qAt -v ON_ERROR_STOP=1 -c 'SET search_path = skipjack' -c 'SET ROLE skipjack_reader' -c "@{[$example =~ s/(["\$`\\])/\\$1/gr]}" 2>&1);
    is $? >> 8, 0, "runs: $name" or diag $answer;
    isnt $answer, '', 'and finds something' unless $example =~ /-- .*\(may be empty\)/;
}
done_testing;
