#!/usr/bin/perl
# Networks in the database: their versions, the versions that campaigns keep, and removing networks; imports of packed
# files and from pipes, and imports that are stopped.
use strict;
use warnings;
use Cwd qw(realpath);
use IO::Handle;
use lib 'tests/support';
use Exposition qw(wait_for);
use ScratchProgram qw($program $folder run json_of);
use Test::More;

sub write_list {
    my ($name, @batches) = @_;
    open my $file, '>', "$folder/$name" or die $!;
    print $file "./bin/MIOpenDriver conv -n $_ -c 8 -H 8 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1\n" for @batches;
    close $file;
    return "$folder/$name";
}

my $small = write_list('small.txt', 1);
my $large = write_list('large.txt', 1, 2, 3);

# ---- versions

is((run('import', $small, '--network', 'net'))[1] =~ /other layers/, '', 'a new network says nothing');
my ($output, $errors, $status) = run('campaign', 'create', '--target', 'gfx90a68', '--network', 'net', '--build-only',
    '--solvers', 'ConvDirectNaive');
is $status, 0, 'a campaign is made for it' or diag $errors;
chomp(my $campaign = $output);

(undef, $errors) = run('import', $large, '--network', 'net');
like $errors, qr/network 'net' has other layers now: version 2; version 1 stays/, 'other layers are a new version, with a word';
(undef, $errors) = run('import', $large, '--network', 'net');
unlike $errors, qr/other layers/, 'the same layers again are none';
my $versions = json_of('networks', '--versions');
is_deeply [map { "$_->{network} $_->{version} $_->{current} $_->{layers} $_->{campaigns}" } @$versions],
    ['net 1 no 1 1', 'net 2 yes 3 0'], 'networks lists versions and who was made for them';
is scalar(@{json_of('networks')}), 1, 'without --versions the current one alone';
is scalar(@{json_of('networks', 'net@1')}), 1, 'NAME@VERSION names an earlier one';
is scalar(@{json_of('networks', 'net')}), 3, 'NAME the current one';
is 1e9 * json_of('networks')->[0]{gmacs}, (1 + 2 + 3) * 8 * 8 * 3 * 3 * 8 * 8, 'its multiplications are summed over its layers';
is_deeply json_of('campaign', 'show', $campaign)->{networks}, ['net@1'], 'the campaign keeps the one that it was made for';
($output) = run('db', 'psql', '-Atc', "\"SELECT count(*) FROM skipjack.problems_of_network($campaign, 'net')\"");
is $output + 0, 1, "its export by the network's name has that version's problems";
(undef, $errors) = run('import', $small, '--network', 'net');
like $errors, qr/again version 1/, 'earlier layers make that version the current one again';

# ---- removing

(undef, $errors, $status) = run('networks', 'remove', 'net');
is $status, 1, 'a network that a campaign was made for stays';
like $errors, qr/campaigns were made for it \($campaign\)/, 'and the campaign is named';
like((run('networks', 'remove', 'net@2', '--dry-run'))[0], qr/would go: network 'net\@2', 1 version/, '--dry-run says what would go');
is scalar(@{json_of('networks', '--versions')}), 2, 'and nothing goes';
is((run('networks', 'remove', 'net@2'))[2], 0, 'a version that none was made for goes');
is scalar(@{json_of('networks', '--versions')}), 1, 'and is gone';
like((run('campaign', 'drop', $campaign, '--dry-run'))[0], qr/would go: campaign $campaign/, 'campaign drop --dry-run says what');
is scalar(@{json_of('campaign', 'list')}), 1, 'and drops nothing';
SKIP: {
    # script(1), of Debian's bsdutils (always installed), gives the program a terminal.
    system('command -v script >/dev/null') == 0 or skip 'there is no script(1) here', 4;
    my $asked = `echo n | script -qec "'$program' campaign drop $campaign" /dev/null`;
    like $asked, qr/shall it go\? \[y\/N\]/, 'on a terminal it asks';
    is scalar(@{json_of('campaign', 'list')}), 1, 'and takes no for an answer';
    $asked = `echo n | script -qec "'$program' campaign drop $campaign 2>/dev/null" /dev/null`;
    like $asked, qr/shall it go\? \[y\/N\]/, 'it also asks where standard error is a file';
    is scalar(@{json_of('campaign', 'list')}), 1, 'and takes no for an answer there, too';
}
is((run('campaign', 'drop', $campaign, '--yes'))[2], 0, 'the campaign is dropped');
is((run('networks', 'remove', 'net'))[2], 0, 'then the network goes');
is scalar(@{json_of('networks', '--versions')}), 0, 'and no version is left';
is scalar(@{json_of('problems')}), 3, 'its problems stay';
(undef, $errors, $status) = run('networks', 'remove', 'net');
is $status, 1, 'a network that is not there cannot be removed';
(undef, $errors, $status) = run('import', $small, '--network', "'net\@7'");
is $status, 1, "a name that means a version is refused";
like $errors, qr/number of a version; --network gives it another name/, 'with the reason and the remedy';

# ---- packed files and pipes

system "gzip -k '$large' && bzip2 -k '$large'";
for my $packed ("$large.gz", "$large.bz2") {
    like((run('import', $packed, '--dry-run'))[0], qr/^3 lines: 3 convolutions/, "$packed is read");
}
like `'$program' import - --dry-run <'$large'`, qr/^3 lines: 3 convolutions/, 'standard input is read';
like `cat '$large.gz' | '$program' import - --dry-run`, qr/^3 lines: 3 convolutions/, 'also packed and through a pipe';
(undef, $errors, $status) = run('import', '/dev/zero', '--dry-run');
is $status, 1, '/dev/zero is refused';

# ---- stopped

sub ask { return (run('db', 'psql', '-Atc', "\"$_[0]\""))[0] }

sub stopped_rightly {
    my ($status, $when) = @_;
    is $status >> 8, 130, "Ctrl-C ends an import $when";
    like `cat '$folder/said'`, qr/nothing was stored; the same command begins again/, 'which says how to go on';
}

# The import is stopped while it waits for more lines.
my $pid = open my $import, '|-', "exec '$program' import - --network many >'$folder/said' 2>&1" or die $!;
# The shell catches the signal too, so the test waits until the shell has become the program.
ok wait_for(sub { readlink("/proc/$pid/exe") eq realpath($program)
        && `cat /proc/$pid/status` =~ /^SigCgt:\s+([0-9a-f]+)/m && hex(substr $1, -4) & 2 }),
    'an import catches the signal, and waits for its input';
kill INT => $pid;
close $import;
stopped_rightly($?, 'that waits for lines');

# The import is stopped while it stores: another session has locked the networks, so its problems are stored and no
# layer is.
my $many = write_list('many.txt', 1001 .. 9000);
my $holder = open my $locked, '|-', "exec '$program' db psql -q >/dev/null 2>&1" or die $!;
my $rest = select $locked;
$| = 1;
select $rest;
print $locked "BEGIN; LOCK TABLE skipjack.networks;\n";
my $waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'skipjack.networks'::regclass AND";
ok wait_for(sub { ask("$waiting granted") > 0 }), 'somebody holds the networks';
$pid = open $import, '-|', "exec '$program' import '$many' --network many >'$folder/said' 2>&1" or die $!;
ok wait_for(sub { ask("$waiting NOT granted") > 0 }), 'an import waits for them';
kill INT => $pid;
close $locked;
close $import;
stopped_rightly($?, 'that stores');
is scalar(@{json_of('networks')}), 0, 'nothing is left of the network';
is scalar(@{json_of('problems')}), 3, 'nor of its problems';

# ---- several at once

# Opens a session of psql, which runs the statements that are printed to its file handle.
sub session {
    my $id = open my $session, '|-', "exec '$program' db psql -q >/dev/null 2>&1" or die $!;
    $session->autoflush(1);
    print $session @_;
    return $session;
}

my $turn = session("SELECT skipjack.take_turn('import');\n");
ok wait_for(sub { ask("SELECT count(*) FROM skipjack.turns WHERE name = 'import'") > 0 }), 'an import is under way';
$pid = open $import, '-|', "exec '$program' import '$small' --network second >'$folder/said' 2>&1" or die $!;
ok wait_for(sub { `cat '$folder/said'` =~ /waiting for another import to end/ }), 'a second one waits, and says so';
close $turn;
close $import;
is $?, 0, 'and is done behind the first';

my $remover = session("BEGIN; SELECT skipjack.remove_network('second');\n");
ok wait_for(sub { ask("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'") > 0 }),
    'somebody removes the network';
$pid = open my $making, '-|', "exec '$program' campaign create --target gfx90a68 --network second --build-only"
    . " --solvers ConvDirectNaive >'$folder/said' 2>&1" or die $!;
ok wait_for(sub { ask('SELECT count(*) FROM pg_locks WHERE NOT granted') > 0 }), 'a campaign that is made for it waits';
print $remover "COMMIT;\n";
close $remover;
close $making;
is $? >> 8, 1, 'and is not made';
like `cat '$folder/said'`, qr/network 'second\@1' was removed while the campaign was being made/, 'with the reason';

# Makes a deadlock: the session waits for a lock until the program waits for it, then runs $second. PostgreSQL ends the
# program's transaction, since the session's own deadlock_timeout is long.
sub waits_for_waiting {
    my ($first, $second) = @_;
    my $other = session("BEGIN; SET LOCAL deadlock_timeout = '5min';\n$first;\n",
        "DO 'BEGIN WHILE NOT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted) LOOP",
        " PERFORM pg_sleep(0.01); END LOOP; END';\n$second;\nROLLBACK;\n");
    ok wait_for(sub { ask("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DO %'") > 0 }), 'another session is there first';
    return $other;
}

open my $table, '>', "$folder/dead.csv" or die $!;
print $table "network,c,h,w,k,y,x\ndead1,8,9,9,8,3,3\ndead2,8,9,9,8,3,3\n";
close $table;
my $insert = 'INSERT INTO skipjack.networks (name) VALUES';
my $other = waits_for_waiting("$insert ('dead2')", "$insert ('dead1')");
(undef, $errors, $status) = run('import', "$folder/dead.csv");
close $other;
is $status, 0, 'an import that waits for who waits for it begins again' or diag $errors;
like $errors, qr/storing begins again/, 'and says so';
is scalar(grep { $_->{network} =~ /^dead/ } @{json_of('networks')}), 2, 'its networks are there';

# A campaign stores its problems in batches of 5,000 jobs, the largest problems first.
my $columns = 'kind, direction, spatial_dim, c, k, groups, in_size, fil, out_size, pad, stride, dilation, types, casts,'
    . ' layouts, bias, epilogue';
my $problem = "INSERT INTO skipjack.problems ($columns, n) SELECT $columns, %d FROM skipjack.problems ORDER BY id LIMIT 1";
$other = waits_for_waiting(sprintf($problem, 1001), sprintf($problem, 9000));
($output, $errors, $status) = run('campaign', 'create', '--target', 'gfx90a68', '--problems', $many, '--build-only',
    '--solvers', 'ConvDirectNaive');
close $other;
is $status, 0, 'so does a campaign' or diag $errors;
like $errors, qr/ 8000 jobs/, 'with all its jobs';

done_testing;
