#!/usr/bin/perl
# The page coordinator/LIFE_OF_A_JOB.md shows one layer in every form that it takes from a driver line to a find-db. The
# test runs that layer through the program, reads each form, and compares it with the page: names, tables, members and
# their order must be equal; numbers, hashes and this machine's names may differ. `make life-of-a-job` writes the page's
# texts anew (--write).
use strict;
use warnings;
use File::Basename qw(dirname);
use lib 'tests/support';
use ScratchProgram qw($program $folder run json_of);
use Test::More;

my $page = 'coordinator/LIFE_OF_A_JOB.md';
my $built = dirname($program);
my $tap = "$built/tests/frame_tap.so";
my $forms = "$built/tests/coordinator/life_of_a_job_forms";
my %text; # a station's name => its text

my $line = './bin/MIOpenDriver conv -n 1 -c 64 -H 56 -W 56 -k 64 -y 1 -x 1 -p 0 -q 0 -u 1 -v 1 -l 1 -j 1 -F 1';
my $key = '64-56-56-1x1-64-56-56-1-0x0-1x1-1x1-0-NCHW-FP32-F';

sub spew {
    my ($name, $content) = @_;
    open my $file, '>', "$folder/$name" or die $!;
    print $file $content;
    close $file;
    return "$folder/$name";
}

sub slurp {
    my ($path) = @_;
    open my $file, '<:raw', $path or return undef;
    local $/;
    return scalar <$file>;
}

sub must {
    my ($output, $errors, $status) = run(@_);
    is $status, 0, "skipjack $_[0] ends with 0" or diag $errors;
    return $output;
}

# Returns the query's first row as lines "column  value"; long values are cut.
sub row {
    my ($query) = @_;
    my $file = spew('query.sql', "$query\n");
    my @lines = map { chomp; [split /\|/, $_, 2] } split /^/, must('db', 'psql', '-XAtx', '-q', '-f', $file);
    return join '', map { defined $_->[1] ? sprintf("%-20s %s\n", $_->[0], cut($_->[1])) : () } @lines;
}

sub cut {
    my ($value) = @_;
    $value =~ s/\b([0-9a-f]{12})[0-9a-f]{28,}\b/$1../g;
    return length $value > 90 ? substr($value, 0, 88) . '..' : $value;
}

# The frames to the child that made the second measurement.
sub final_child {
    return grep { slurp($_) =~ /"together_seconds"/ } glob "$folder/tap/eval.*.to";
}

# Returns the recorded frames in one direction ($suffix) of one kind of child ($role), in order, as [JSON text, bytes of
# the blob]; those of the second measurement's child are left out.
sub frames {
    my ($role, $suffix) = @_;
    my @frames;
    my %final = map { s/\.to$/.$suffix/r => 1 } final_child();
    for my $path (grep { !$final{$_} } glob "$folder/tap/$role.*.$suffix") {
        my $bytes = slurp($path);
        while (length $bytes >= 8) {
            my ($json, $blob) = unpack 'VV', $bytes;
            push @frames, [substr($bytes, 8, $json), $blob];
            substr $bytes, 0, 8 + $json + $blob, '';
        }
    }
    return @frames;
}

# The first frame whose "op" is $op (and which contains $word), as wrapped lines; its target and long hashes are
# shortened.
sub frame {
    my ($role, $suffix, $op, $word) = @_;
    for my $frame (frames($role, $suffix)) {
        my ($json, $blob) = @$frame;
        next unless $json =~ /"op": ?"$op"/ && (!$word || $json =~ /\Q$word\E/);
        $json =~ s/"target": ?\{[^}]*\}/"target": {..}/;
        $json =~ s/"([0-9a-f]{12})[0-9a-f]{52}"/"$1.."/g;
        $json =~ s/(-D\w+=\w+ -D\w+=\w+) [^"]*"/$1 .."/;
        return wrapped($json) . ($blob ? "blob: $blob bytes\n" : '');
    }
    return undef;
}

sub wrapped {
    my ($json) = @_;
    my ($text, $column) = ('', 0);
    for my $part (split /(?<=[,]) ?/, $json) {
        if ($column && $column + length($part) > 100) {
            $text .= "\n ";
            $column = 1;
        }
        $text .= ($column > 1 ? ' ' : '') . $part;
        $column += 1 + length $part;
    }
    return "$text\n";
}

# Replaces values that differ between runs or machines by placeholders.
sub masked {
    my ($given) = @_;
    for ($given) {
        s/cpu-[\w.-]+_\d+/TARGET/g;
        s/-mcpu=\S+?(?=["\\\s]|$)/-mcpu=ARCH/g;
        s/^(arch +).*$/$1ARCH/mg;
        s/^(options +).*$/$1OPTIONS/mg;
        s/("(?:options|device|stack|version|instructions)": ?)"[^"]*"/$1"TEXT"/g;
        s/runs compared: [a-z,\s]+/runs compared/g; # a proof on a busy machine has time for fewer kinds of inputs
        s/\b[0-9a-f]{12}\.\./HASH/g;
        s/\\x[0-9a-f]+(\.\.)?/BYTES/g;
        s/-?\d+(\.\d+)?(e[-+]?\d+)?/N/g;
        s/\s+//g;
        s/N(,N)+/N,N/g;
    }
    return $given;
}

# ---- the run ----

plan skip_all => "$tap is not built" unless -f $tap && -x $forms;
(undef, my $errors, my $status) = run('worker', '--probe', '--eval', 'local');
plan skip_all => 'this machine has no OpenCL CPU device' if $status != 0;

$text{'driver line'} = "$line\n";
my $list = spew('layer.txt', "$line\n");
must('import', $list, '--network', 'one-layer');
$text{'problems'} = row('SELECT * FROM problems');
$text{'version_layers'} = row('SELECT * FROM version_layers');

# Records each state of the bundle's row, since the row is deleted when its jobs end.
must('db', 'psql', '-Xq', '-f', spew('tap.sql', <<'SQL'));
CREATE TABLE public.seen_bundles AS SELECT 0 AS seen, b.* FROM bundles b WITH NO DATA;
CREATE SEQUENCE public.seen_numbers;
CREATE FUNCTION public.see_bundle() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO public.seen_bundles SELECT nextval('public.seen_numbers'), NEW.*;
    RETURN NULL;
END $$;
CREATE TRIGGER see AFTER INSERT OR UPDATE ON bundles FOR EACH ROW EXECUTE FUNCTION public.see_bundle();
SQL

my $campaign = json_of('campaign', 'create', '--network', 'one-layer', '--target', 'local', '--configs', 1,
    '--solvers', 'ConvCpuDirect,ConvDirectNaive')->{id};
mkdir "$folder/tap" or die $!;
chmod 0777, "$folder/tap";
{
    local $ENV{SKIPJACK_FRAME_TAP} = "$folder/tap";
    local $ENV{LD_PRELOAD} = $tap;
    my @worker = ('worker', '--embedded', '--until-empty', '--campaign', $campaign, '--log-level', 'error');
    must(@worker, '--build', 1, '--eval', 'none');
    $text{'rounds'} = row("SELECT * FROM rounds JOIN jobs USING (campaign_id) WHERE job_id = id AND position = 1") =~
        s/^(id|problem_id|solver_id|position|priority|multiplicity) .*\n//mgr;
    must(@worker, '--build', 0, '--eval', 'local');
}

my ($target) = row("SELECT target FROM campaigns WHERE id = $campaign") =~ /target +(\S+)/;
my $in_memory = `'$forms' '$line' '$target'`;
$text{$1} = $2 while $in_memory =~ /^== (.*)\n((?:(?!==).*\n)+)/mg;
$_ = join '', map { s/(.{60,100}?,) /$1\n    /gr } split /^/ for $text{'struct problem'}, $text{'struct job_plan'};
$text{'campaigns'} = row("SELECT * FROM campaigns WHERE id = $campaign");
$text{'jobs'} = row("SELECT * FROM jobs WHERE campaign_id = $campaign AND position = 1");
my $solver = "solver_id = (SELECT solver_id FROM jobs WHERE campaign_id = $campaign AND position = 1)";
$text{"bundles, $_"} = row("SELECT b.* FROM public.seen_bundles b WHERE state = '$_' AND $solver ORDER BY seen LIMIT 1") =~
    s/^seen .*\n//r for qw(ready building built evaluating);
my @frames = (['compile', 'build', 'to', 'compile', 'conv_cpu_direct.cl'], ['compiled', 'build', 'from', 'compiled', ''],
    ['kernel', 'eval', 'to', 'kernel', ''], ['evaluate', 'eval', 'to', 'evaluate', 'ConvCpuDirect'],
    ['hello', 'eval', 'from', 'hello', ''], ['begin', 'eval', 'from', 'begin', ''],
    ['outcome', 'eval', 'from', 'outcome', ''], ['evaluated', 'eval', 'from', 'evaluated', '']);
$text{"frame $_->[0]"} = frame(@$_[1 .. 4]) // "not seen\n" for @frames;
$text{'kernels'} = row("SELECT * FROM kernels WHERE file = 'conv_cpu_direct.cl' LIMIT 1");
my $first_job = "job_id = (SELECT id FROM jobs WHERE campaign_id = $campaign AND position = 1)";
my %of_first_round = (outcomes => 'AND number = 0', results => '', job_ends => '');
$text{$_} = row("SELECT * FROM $_ WHERE campaign_id = $campaign AND $first_job $of_first_round{$_}") for keys %of_first_round;
$text{'finals'} = row("SELECT * FROM finals WHERE campaign_id = $campaign");

must('export', '--campaign', $campaign, '--allow-drift', '-o', "$folder/out");
json_of('campaign', 'create', '--network', 'one-layer', '--target', 'local', '--configs', 2, '--solvers', 'ConvCpuDirect');
$text{'winners'} = row("SELECT * FROM winners WHERE solver = 'ConvCpuDirect'");
my $out = "$folder/out/$target";
$text{'find-db'} = slurp("$out.HIP.fdb.txt");
$text{'perf-db'} = slurp("$out.db.txt");
$text{'kernel-db'} = `sqlite3 -readonly '$out.kdb' "SELECT kernel_name, kernel_args, kernel_hash, uncompressed_size
    FROM kern_db WHERE kernel_name LIKE 'conv_cpu_direct%'" 2>/dev/null` || undef;
my $entry = must('lookup', "$out.sjdb", $key, '--json');
$entry =~ s/"launches":.*?\](?=\}(,|\]))/"launches":[..]/gs;
$text{'.sjdb'} = wrapped($entry);

# ---- the second measurement ----

my @final = final_child();
is scalar(@final), 1, 'the second measurement is asked for once';
my $asked = slurp($final[0] // '') // '';
is scalar(() = $asked =~ /"op": ?"evaluate"/g), 1, 'of a process that measures nothing else';
like $asked, qr/"op": ?"kernel", ?"key": ?"$_"/, 'from the stored code' for $asked =~ /"kernels": ?\["(\w+)"/g;

# ---- the page ----

my $content = slurp($page) // die "cannot read $page: $!";
if (grep { $_ eq '--write' } @ARGV) {
    $content =~ s{(<!-- text of: (.*?) -->\n```text\n).*?(```)}{
        $1 . ($text{$2} // die "the page asks for the text of '$2', which is not known\n") . $3}gse;
    open my $file, '>:raw', $page or die $!;
    print $file $content;
    close $file;
}

my %shown;
$shown{$1} = $2 while $content =~ /<!-- text of: (.*?) -->\n```text\n(.*?)```/gs;
for my $name (sort keys %text) {
    next unless defined $text{$name};
    ok exists $shown{$name}, "the page shows $name" or next;
    is masked($shown{$name}), masked($text{$name}), "$name has the form that the page shows";
}
for my $name (sort grep { !exists $text{$_} } keys %shown) {
    fail "the page shows $name, which no longer is a form";
}

# Where the page says that a form is defined in a file, the file exists and holds the word.
while ($content =~ /^Defined in \[`([^`]+)`\]\([^)]*\)(?:: `([^`]+)`)?/mg) {
    my ($path, $word) = ($1, $2);
    my $source = slurp($path) // '';
    ok length $source && (!defined $word || index($source, $word) >= 0),
        "$path defines " . ($word // 'a form');
}

done_testing;
