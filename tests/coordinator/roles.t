#!/usr/bin/perl
# A farm as deploy/README.md sets one up: logins with passwords for a node, a coordinator and a reader, each used
# through the program alone. No output and no process's command line ever contains a password.
use strict;
use warnings;
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Test::More;
use Time::HiRes qw(sleep);
use POSIX qw(:sys_wait_h);
use Sys::Hostname qw(hostname);

my $program = $ENV{SKIPJACK} // 'build/skipjack';
-x $program or plan skip_all => "$program is not built";

my $folder = tempdir('skipjack-roles-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
$ENV{SKIPJACK_HOME} = "$folder/home";
# A random loopback address, so that no other program uses its port.
my $address = sprintf '127.%d.%d.%d', 1 + int rand 250, int rand 250, 1 + int rand 250;
$ENV{SKIPJACK_DB_SETTINGS} = "listen_addresses=$address";
delete @ENV{qw(SKIPJACK_DB PGPASSWORD PGPASSFILE)};
END {
    delete $ENV{SKIPJACK_DB};
    system "'$program' db stop >/dev/null 2>&1" if $program && -x $program;
}

my %password = (node17 => 'Nodegeheim-17', node18 => 'Geheim-18', boss => 'Boss%heim 4', guest => 'Gastgeheim-9');

sub write_file {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "$path: $!";
    print $file $text;
    close $file;
    chmod 0600, $path;
}

sub read_file {
    open my $file, '<', $_[0] or return '';
    local $/;
    return scalar <$file> // '';
}

# URLs encode characters of a password: both spellings are searched for.
my @spelled = map { my $p = $_; $p =~ s/([% ])/sprintf '%%%02X', ord $1/ge; ($_, $p) } values %password;
my %leaks;

sub look_for_passwords {
    my ($where, $text) = @_;
    index($text, $_) >= 0 and $leaks{"$where: $_"}++ for @spelled, 'falsch-77';
}

sub look_at_processes {
    for my $path (glob '/proc/[0-9]*/cmdline') {
        my $line = read_file($path);
        look_for_passwords("ps: $line", $line);
    }
}

# Runs the program; returns its exit status and its output. All processes' command lines are searched for passwords
# while it runs.
sub run {
    my @words = @_;
    my $pid = fork // die $!;
    if ($pid == 0) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', "$folder/out";
        open STDERR, '>&', \*STDOUT;
        exec $program, @words;
        exit 127;
    }
    look_at_processes(), sleep 0.1 while waitpid($pid, WNOHANG) == 0;
    my $text = read_file("$folder/out");
    look_for_passwords("@words", $text);
    return ($? >> 8, $text);
}

sub url_of {
    my ($login, $secret) = @_;
    $secret =~ s/([% ])/sprintf '%%%02X', ord $1/ge if defined $secret;
    return "postgresql://$login" . (defined $secret ? ":$secret" : '') . "\@$address/skipjack";
}

# ---- the owner sets the farm up ----

my ($status, $text) = run('db', 'start');
is $status, 0, 'the server starts' or diag $text;
chomp(my $hba = (run('db', 'psql', '-Atc', 'SHOW hba_file'))[1]);
$hba =~ s/.*\n//s;
my $rules = read_file($hba);
$rules =~ s/^host.*\n//mg;
open my $file, '>', $hba or plan skip_all => "cannot write $hba";
print $file "$rules\nhost all all 127.0.0.0/8 scram-sha-256\n";
close $file;
run('db', 'psql', '-c', 'SELECT pg_reload_conf()');

write_file("$folder/open.pw", "x\n");
chmod 0644, "$folder/open.pw";
($status, $text) = run(qw(db roles --login a --role worker --password-file), "$folder/open.pw");
is $status, 1, 'a password that others can read is not taken';
like $text, qr/chmod 600/, 'and that is said';
write_file("$folder/node18.pw", "$password{node18}\n");
my %role = (node17 => 'worker', boss => 'skipjack_coordinator', guest => 'reader');
for my $login (sort keys %role) {
    write_file("$folder/$login.pw", "$password{$login}\n");
    ($status, $text) = run('db', 'roles', '--login', $login, '--role', $role{$login},
        '--password-file', "$folder/$login.pw");
    is $status, 0, "db roles makes $login" or diag $text;
}
($status, $text) = run(qw(db roles));
like $text, qr/skipjack_worker +was there/, 'it can be repeated';
is((run(qw(db roles --login x)))[0], 2, 'a login needs a role');
is((run(qw(db roles --login x --role worker --connections -1)))[0], 2, 'a limit is a number');
($status, $text) = run(qw(db roles --login node18 --role worker --connections 2), '--password-file',
    "$folder/node18.pw");
like $text, qr/at most 2 connections at once/, 'a login gets its limit of connections' or diag $text;

# ---- the coordinator, by a URL with its password ----

my $layer = "64-5-5-1x1-32-5-5-1-0x0-1x1-1x1-0-NCHW-FP32-F\n";
write_file("$folder/layers.txt", $layer);
$ENV{SKIPJACK_DB} = url_of('boss', $password{boss});
($status, $text) = run('db', 'url');
like $text, qr/^postgresql:.*user=boss/, 'the URL is shown without it';
($status, $text) = run(qw(db psql -Atc), 'SELECT current_user FROM pg_sleep(0.3)');
like $text, qr/^boss$/m, 'psql has it from the environment';
my $probe = (run(qw(worker --probe)))[1];
SKIP: {
    skip 'this machine has no OpenCL device', 18 if $probe !~ /"id"/;
    ($status, $text) = run('campaign', 'create', '--target', 'local', '--problems',
        "$folder/layers.txt", '--configs', '1', '--solvers', 'ConvDirectNaive', '--json');
    is $status, 0, 'it creates a campaign' or diag $text;
    my ($id) = $text =~ /"id": *(\d+)/;

    # ---- another node's login, which registers in the name of a dead worker of this host ----

    $ENV{SKIPJACK_DB} = url_of('node18', $password{node18});
    my $dead = join ':', read_file('/proc/sys/kernel/random/boot_id') =~ s/\s//gr,
        (readlink '/proc/self/ns/pid') =~ s/\D//gr, 1 << 22, 1;
    ($status, $text) = run(qw(db psql -qAtc), "SET skipjack.secret = '" . 'f' x 40 . "';"
            . "SELECT skipjack_work.register_worker('" . hostname() . "', '$dead', '', '', true, '[]', NULL)");
    is $status, 0, 'another login enters a dead worker of this host' or diag $text;

    # ---- a node, with its password in a pgpass file ----

    write_file("$folder/pgpass", "$address:*:*:node17:$password{node17}\n");
    $ENV{PGPASSFILE} = "$folder/pgpass";
    $ENV{SKIPJACK_DB} = url_of('node17');
    ($status, $text) = run(qw(worker --until-empty --build 1 --sample-seconds 0.02));
    is $status, 0, 'the node works until nothing is left' or diag $text;
    for (['campaign', 'pause', $id], ['status'], ['campaign', 'list'], ['db', 'migrate'],
        ['worker', '--drain', 'x'], ['quarantine', 'clear'])
    {
        ($status, $text) = run(@$_);
        like $text, qr/node17.*skipjack_coordinator/s, "the node may not: @$_";
    }

    # ---- a reader, with its password in PGPASSWORD ----

    $ENV{SKIPJACK_DB} = url_of('guest');
    $ENV{PGPASSWORD} = $password{guest};
    ($status, $text) = run(qw(campaign list --json));
    my ($campaign) = grep { $_->{id} == $id } @{decode_json($text)};
    is $campaign->{state}, 'done', 'the reader sees the campaign done' or diag $text;
    for (['status'], ['report', '--campaign', $id], ['problems'], ['campaign', 'show', $id],
        ['export', '--campaign', $id, '--allow-drift', '-o', "$folder/export"])
    {
        ($status, $text) = run(@$_);
        is $status, 0, "the reader may: @$_" or diag $text;
    }
    ($status, $text) = run('campaign', 'drop', $id);
    is $status, 1, 'the reader may not drop it';
    delete $ENV{PGPASSWORD};

    # ---- tune, which starts other processes ----

    $ENV{SKIPJACK_DB} = url_of('boss', $password{boss});
    write_file("$folder/others.txt", $layer =~ s/^64-/32-/r);
    ($status, $text) = run('tune', "$folder/others.txt", '-o', "$folder/tuned", '--budget', '60', '--solvers', 'ConvDirectNaive',
        '--configs', '1');
    is $status, 0, 'the coordinator tunes' or diag $text;
    ok -s "$folder/tuned/tune.log", 'with a worker of its own';
    look_for_passwords($_, read_file($_)) for glob "$folder/tuned/*";
}

# ---- commands that fail ----

$ENV{SKIPJACK_DB} = url_of('boss', 'falsch-77');
($status, $text) = run('status');
like $text, qr/password authentication failed/, 'a wrong password is said';
$ENV{SKIPJACK_DB} = "host=$address user=boss password=falsch-77 more";
($status, $text) = run('status');
like $text, qr/cannot read the database's connection string/, 'what cannot be read is not shown';
$ENV{SKIPJACK_DB} = 'postgresql://boss:falsch-77@127.0.0.1:1/none';
isnt((run($_))[0], 0, "without a server $_ fails") for 'status', 'worker';

delete $ENV{SKIPJACK_DB};
($status, $text) = run(qw(db psql -Atc), "SELECT string_agg(e::text, ' ') FROM events e");
is_deeply [sort keys %leaks], [], 'no output, no log, no event log and no command line has a password';
my $log = join '', map { read_file($_) } glob "$folder/home/*.log $folder/home/*/*.log";
ok index($log, $_) < 0, 'nor has the server\'s log' for @spelled;

done_testing;
