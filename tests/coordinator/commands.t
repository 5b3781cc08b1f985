#!/usr/bin/perl
# The command table as a user meets it: help, suggestions, exit statuses, JSON. The test runs every command that
# `skipjack --help` lists, so a new command is tested without a change here.
use strict;
use warnings;
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Test::More;

my $program = $ENV{SKIPJACK} // 'build/skipjack';
-x $program or plan skip_all => "$program is not built";
my $folder = tempdir(CLEANUP => 1);
# Commands that open a database use this test's own database.
chmod 0755, $folder;
$ENV{SKIPJACK_HOME} = "$folder/used";
delete $ENV{SKIPJACK_DB};
END { system "'$program' db stop >/dev/null 2>&1" if $program && -d "$folder/used"; }

# Returns standard output, standard error and exit status.
sub run {
    my @arguments = map { my $word = $_; $word =~ s/'/'\\''/g; "'$word'" } @_;
    my $output = `'$program' @arguments 2>'$folder/errors'`;
    my $status = $? >> 8;
    open my $file, '<', "$folder/errors" or die $!;
    local $/;
    return ($output, scalar(<$file>) // '', $status);
}

my ($help, undef, $status) = run('--help');
is $status, 0, '--help ends with 0';
my @commands = $help =~ /^  ([a-z-]+) +\S/mg;
@commands = grep { $_ ne 'skipjack' } @commands;
cmp_ok scalar(@commands), '>=', 15, 'the help lists the commands';
like $help, qr/^Example:\n  skipjack /m, 'the help has an example';

# The README's table lists exactly the existing commands; the verbs of a command follow its name.
open my $readme, '<', 'README.md' or die "README.md: $!";
my (%named, %verbs);
while (my $line = <$readme>) {
    next if $line !~ /^\| (`.*?) \| \S.* \|$/;
    my $first = $1;
    $named{$_}++ for $first =~ /`([a-z-]+)[^`]*`/g;
    $verbs{$1} = [sort split m{/}, $2] if $first =~ /^`([a-z-]+) ([a-z-]+\/[a-z\/-]+)`/;
}
is_deeply [sort keys %named], [sort @commands], 'the README names the commands of --help';
is_deeply [grep { $named{$_} != 1 } sort keys %named], [], 'each of them once';

for my $command (sort keys %verbs) {
    my ($output) = run($command, '--help');
    is_deeply $verbs{$command}, [sort $output =~ /^  ([a-z]+) {2,}\S/mg],
        "the README names the verbs of $command";
}

for my $room (qw(solvers kernels schema worker export coordinator deploy tests)) {
    my $text = -e "$room/README.md" ? `cat $room/README.md` : '';
    $text =~ s/^<!-- (\S+-table): .*?^<!-- end of \1 -->\n//gms;
    my @lines = split /^/, $text;
    cmp_ok scalar(@lines), '>', 10, "$room/ has a README";
}

for my $command (@commands) {
    my ($output, undef, $code) = run($command, '--help');
    is $code, 0, "$command --help ends with 0";
    like $output, qr/Examples?:\s+(\S.*\n\s+)?.*skipjack\S* \Q$command\E/i, "$command --help has an example";
    (undef, my $errors, $code) = run($command, '--no-such-option');
    is $code, 2, "$command refuses an unknown option with 2";
    isnt $errors, '', "$command says what is wrong with it";
}

for my $verb (qw(create list show watch pause resume cancel retry drop)) {
    my ($output, undef, $code) = run('campaign', $verb, '--help');
    is $code, 0, "campaign $verb --help ends with 0";
    like $output, qr/Example:\n  skipjack campaign $verb/, "campaign $verb --help has an example";
}

my $layers = "$folder/layers.txt";
open my $layer_file, '>', $layers or die $!;
print $layer_file "conv -n 1 -c 8 -H 8 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1\n";
close $layer_file;

my @usage_errors = (
    [qr/did you mean 'tune'/, 'tuen'],
    [qr/did you mean 'campaign'/, 'campagin', 'list'],
    [qr/needs FILE/, 'tune'],
    [qr/needs ID/, 'campaign', 'show'],
    [qr/'abc' is no id/, 'campaign', 'show', 'abc'],
    [qr/one argument too many/, 'campaign', 'list', 'x'],
    [qr/no 'fly' here/, 'campaign', 'fly'],
    [qr/prior, model, local, annealing, genetic, random or exhaustive/, 'tune', '--strategy', 'magic', 'x.txt'],
    [qr/cannot be negative/, 'tune', '--budget', '-1', 'x.txt'],
    [qr/unknown target 'bogus'/, 'tune', '--target', 'bogus', $layers],
    [qr/no solver .* 'Magic'/, 'tune', '--solvers', 'Magic', 'x.txt'],
    [qr/--solvers needs names/, 'tune', '--solvers', '', 'x.txt'],
    [qr/name it with --problem/, 'solvers', '--target', 'gfx90a68'],
    [qr/'-3' is no id/, 'report', '--campaign', '-3'],
    [qr/'0' is no id/, 'problems', '--campaign', '0'],
    [qr/--coverage needs files/, 'solvers', '--coverage'],
    [qr/by --coverage alone/, 'solvers', $layers],
    [qr/name one of them/, 'solvers', '--coverage', '--table', $layers],
    [qr/prints Markdown/, 'solvers', '--table', '--json'],
    [qr/what the files of --coverage leave out/, 'solvers', '--batch', '8'],
    [qr/--batch takes numbers/, 'tune', '--batch', 'x', $layers],
    [qr/--dtype takes FP32/, 'campaign', 'create', '--problems', $layers, '--dtype', 'x'],
    [qr/belong to --problems/, 'campaign', 'create', '--tag', 'x', '--batch', '8'],
    [qr/belong to --problems/, 'usage', '--campaign', '1', '--layout', 'NHWC'],
    [qr/belong to --problems/, 'diff', 'a', 'b', '--batch', '8'],
    [qr/--stack takes at most 1000 characters, not 2009/, 'campaign', 'create', '--problems', $layers,
        '--stack', 'clang >= ' . '9' x 2000],
    [qr/--pool takes at most 1000 characters/, 'campaign', 'set', '1', '--pool', 'x' x 1001],
    [qr/unknown target 'bogus'/, 'solvers', '--coverage', $layers, '--target', 'bogus'],
    [qr/--foreign goes with/, 'import', '--foreign', '--list', $layers],
    [qr/belong to --foreign/, 'import', '--target', 'gfx90a68', $layers],
    [qr/--target ID/, 'import', '--foreign', '--dry-run', $layers],
    [qr/unknown target 'bogus'/, 'import', '--foreign', '--dry-run', '--target', 'bogus', $layers],
    [qr{--db FILE..., --campaign ID, --target TARGET or --golden}, 'usage', '--problems', $layers],
    [qr/cannot read 'x'/, 'solvers', '--problem', 'x', '--target', 'gfx90a68'],
);
for my $case (@usage_errors) {
    my ($expected, @arguments) = @$case;
    my (undef, $errors, $code) = run(@arguments);
    is $code, 2, "'@arguments' ends with 2";
    like $errors, $expected, "'@arguments' says why";
}

# A write error of standard output is a failure, unless the reader closed the pipe.
for my $case (['>/dev/full', qr/cannot write to standard output: No space/, 1],
    ['>&-', qr/cannot write to standard output/, 1], ['| true', qr/^$/, 0],
    ['<&- | true', qr/^$/, 0], ['>/dev/null 2>&-', qr/^$/, 0]) {
    my ($where, $expected, $code) = @$case;
    my $lost = "$folder/lost";
    my $status = system('bash', '-o', 'pipefail', '-c', "'$program' solvers 2>'$lost' $where");
    is $status >> 8, $code, "'solvers $where' ends with $code";
    open my $file, '<', $lost or die $!;
    like join('', <$file>), $expected, "'solvers $where' says why";
}

my (undef, undef, $nothing) = run();
is $nothing, 2, 'no command at all ends with 2';
my ($version) = run('--version');
like $version, qr/^skipjack \d+\.\d+ \(commit [0-9a-z.-]+\)$/, '--version prints the version and the commit';

my ($table) = run('solvers');
like $table, qr/^ConvDirectNaive +\d+ +Direct/m, 'solvers prints the table';
my ($text) = run('solvers', '--json');
my $solvers = decode_json($text);
ok((grep { $_->{solver} eq 'ConvDirectNaive' && !$_->{tunable} } @$solvers),
    'solvers --json has the naive solver');
($text) = run('solvers', '--json', '--target', 'gfx90a68', '--problem',
    '64-56-56-3x3-64-56-56-1-1x1-1x1-1x1-0-NCHW-FP32-F');
my @unused = grep { !$_->{applicable} && !$_->{reason} } @{decode_json($text)};
is scalar(@unused), 0, 'solvers --problem gives a reason for each that does not apply';

my $some = "$folder/some.txt";
open my $some_file, '>', $some or die $!;
print $some_file "conv -n 1 -c 8 -H 8 -W 8 -k $_ -y 3 -x 3 -p 1 -q 1\n" for 8, 8, 16;
print $some_file "conv -n\n";
close $some_file;
($text, my $named, my $covered) = run('solvers', '--coverage', $some, '--target', 'gfx90a68', '--json');
is $covered, 0, 'solvers --coverage ends with 0 where a line cannot be used';
like $named, qr/some\.txt:4: .*needs a value/, 'and names that line on stderr';
my $coverage = decode_json($text);
my $counted = 0;
$counted += $_ for values %{$coverage->{histogram}};
is $coverage->{problems}, 6, 'it counts each problem once, in every direction';
is $counted, 6, 'each is in the histogram';
ok((grep { $_ eq 'GEMM' } keys %{$coverage->{families}}), 'algorithm families are named');
like $coverage->{poorest}[0]{key}, qr/^8-8-8-3x3-|^16-8-8-3x3-/, 'the poorest problems are named by their keys';
is_deeply [map { $_->{solver} } @{$coverage->{solvers}}], [map { $_->{solver} } @$solvers],
    'every solver is counted';
($text) = run('solvers', '--coverage', $some, '--target', 'gfx90a68');
like $text, qr/^6 problems on gfx90a68: each has at least \d+ solvers/, 'without --json it prints tables';
(undef, $named, $covered) = run('solvers', '--coverage', "$folder/none.txt", '--target', 'gfx90a68');
is $covered, 1, 'a file that cannot be read is a failure';
like $named, qr/none\.txt/, 'and is named';
open my $empty_file, '>', "$folder/empty.txt" or die $!;
print $empty_file "# nothing\n";
close $empty_file;
(undef, $named, $covered) = run('solvers', '--coverage', "$folder/empty.txt", '--target', 'gfx90a68');
is $covered, 1, 'so are files without a problem';
like $named, qr/no problem in .*empty\.txt/, 'with the reason';
($text) = run('solvers', '--table');
my ($rows) = $text =~ /\A\|.*\n\|(?:---\|)+\n((?:\|.*\n)+)\z/;
is scalar(split /\n/, $rows // q{}), scalar(@$solvers), 'solvers --table has a row a solver';

for my $case (['"problms": "x.txt"', qr/'problms'/], ['"solvers": []', qr/--solvers needs names/],
    ['"problems": "x.txt", "batch": [1, 1]', qr/--batch names 1 twice/],
    ['"problems": "x.txt", "dtype": ["FP16", "uint8"]', qr/not 'uint8'/],
    ['"problems": "x.txt", "batch": 1.5', qr/'batch' is no field of it, or not of its type/],
    ['"tag": "x", "layout": "NHWC"', qr/they belong to --problems/]) {
    my ($field, $expected) = @$case;
    open my $description, '>', "$folder/campaign.json" or die $!;
    print $description qq({"target": "gfx90a68", $field});
    close $description;
    my (undef, $errors, $code) = run('run', "$folder/campaign.json");
    is $code, 2, "run refuses a description with $field";
    like $errors, $expected, 'and says why';
}

# ---- words that mean a command, and help

($help) = run('--help');
like((run('help', 'campaign', 'create'))[0], qr/^Usage:\n  skipjack campaign create/, "'help COMMAND' is its help");
like((run('-v'))[0], qr/^skipjack \d/, '-v is the version');
like((run('campaigns', '--help'))[0], qr/skipjack campaign list/, "'campaigns' is 'campaign list'");
for ([qr/did you mean 'approve'/, 'golden', 'aprove'], [qr/did you mean 'migrate'/, 'db', 'migrat'],
    [qr/did you mean --dry-run/, 'import', '--dry-rn', 'x']) {
    my ($expected, @words) = @$_;
    my (undef, $errors, $code) = run(@words);
    is $code, 2, "'@words' is wrong usage";
    like $errors, $expected, 'and the nearest word is named';
}

# ---- the environment: the help lists every variable that the sources read

my %read;
for my $source (glob '{coordinator,worker,schema,export,kernels,solvers}/{*.c,*/*.c,*/*.h}') {
    open my $file, '<', $source or die $!;
    while (<$file>) {
        $read{$1} = $source while /(?:getenv|environment)\("(SKIPJACK_\w+)"/g;
        $read{$1} = $source if /#define \w+_SETTING +"(SKIPJACK_\w+)"/;
    }
}
my %internal = map { $_ => 1 } qw(SKIPJACK_SCRATCH SKIPJACK_LOCK_CLOCKS SKIPJACK_HIPRTC_TRIAL);
cmp_ok scalar(keys %read), '>=', 15, 'the sources read variables';
is_deeply [grep { !$internal{$_} && $help !~ /^  $_ /m } sort keys %read], [], 'and the help explains each';

# ---- homes, terminals, pipes

my ($output, $errors, $code);
{
    local $ENV{SKIPJACK_HOME} = "$folder/home";
    ($output, $errors, $code) = run('db', 'psql', '--help');
}
is $code, 0, 'db psql --help ends with 0';
ok !-e "$folder/home", 'and founds no database';

my $evil = "$folder/\e]0;title\a\x9b31m\xc2\x9b.txt";
open my $file, '>', $evil or die $!;
print $file "conv\e[2J -n\n";
close $file;
($output, $errors) = run('import', '--dry-run', $evil);
unlike $output . $errors, qr/[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]/, 'no control byte of a name or a line is printed';
like $errors, qr/\\x1b\]0;title\\x07/, 'they are shown as \xNN';
my $controls = "$folder/named.csv";
open $file, '>', $controls or die $!;
print $file "net,c,h,w,k,y,x\nev\e[31mil\x7f\xc2\x9b31m,8,14,14,16,1,1\n";
close $file;
($output) = run('import', '--json', $controls);
my $told = eval { decode_json($output) };
is $told && $told->{networks}[0]{name}, "ev\e[31mil\x7f\x{9b}31m", 'JSON with control characters in a name stays JSON';
unlike $output, qr/[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]/, 'and none of them is printed';
($output, $errors) = run('-q', 'import', '--dry-run', $evil);
like $errors, qr/\\x1b/, '-q keeps errors';
my @create = ('campaign', 'create', '--target', 'gfx90a68', '--problems', 'coordinator/networks/mobilenet-v2.csv');
($output, $errors) = run(@create, '--configs', 2, '-q');
like $output, qr/^\d+\n$/, 'campaign create -q prints the id';
is $errors, '', 'and no notice';
like((run(@create, '--configs', 3))[1], qr/not planned/, 'without -q it says what is not planned');

$ENV{COLUMNS} = 60;
my ($narrow) = run('solvers');
delete $ENV{COLUMNS};
my ($wide) = run('solvers');
cmp_ok((sort { $b <=> $a } map { length } split /\n/, $narrow)[0], '<=', 60, 'tables obey COLUMNS');
unlike $wide, qr/\.\.\.$/m, 'in a pipe nothing of a table is cut';

done_testing;
