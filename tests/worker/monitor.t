#!/usr/bin/perl
# A worker's log and metrics, line by line, and its health while the database goes and comes; no client of its port
# disturbs it.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use IO::Socket::INET;
use JSON::PP;
use POSIX ();
use Test::More;
use lib 'tests/support';
use Exposition qw(get faults samples told documented wait_for);

my $program = abs_path($ENV{SKIPJACK} // 'build/skipjack');
-x $program or plan skip_all => "$program is not built";
my $folder = tempdir('skipjack-monitor-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
$ENV{SKIPJACK_HOME} = "$folder/home";
delete @ENV{qw(SKIPJACK_DB SKIPJACK_LOG SKIPJACK_LOG_LEVEL)};
my $worker;
END {
    kill 'KILL', $worker if $worker;
    delete $ENV{SKIPJACK_DB};
    system "'$program' db stop >/dev/null 2>&1" if $folder;
}

sub read_file {
    my ($path) = @_;
    open my $file, '<', $path or return '';
    local $/;
    return <$file>;
}

sub start_worker {
    my ($log, @words) = @_;
    my $pid = fork // die $!;
    return $pid if $pid;
    # Standard error is a pipe, as in a service.
    open STDERR, "| cat >'$log'" or die $!;
    exec $program, 'worker', @words;
}

# ---- A campaign, a worker.

open my $file, '>', "$folder/problems.txt" or die $!;
print $file "8-10-10-1x1-24-10-10-1-0x0-1x1-1x1-0-NCHW-FP32-F\n6-9-9-3x3-8-9-9-1-1x1-1x1-1x1-0-NCHW-FP32-F\n";
close $file;
is system("'$program' campaign create --target local --problems '$folder/problems.txt' --configs 2 "
    . "--solvers ConvCpuDirect >'$folder/create.log' 2>&1"), 0, 'a campaign';
chomp(my $url = qx('$program' db url));
$ENV{SKIPJACK_DB} = $url;
my $log = "$folder/worker.log";
$worker = start_worker($log, qw(--metrics 0 --lease 1 --sample-seconds 0.05));
my $at = wait_for(sub { read_file($log) =~ m{(http://127\.0\.0\.1:\d+)} && $1 });
ok $at, 'it says where it listens: on this host alone' or BAIL_OUT read_file($log);
is wait_for(sub { (get($at, '/health'))[0] == 200 }), 1, 'it is well when it is registered';

# ---- Metrics.

my ($status, $text) = get($at, '/metrics');
is $status, 200, 'metrics are served';
is join('; ', faults($text)), '', 'in the format, line by line';
my (%faults, %last);
my $done = wait_for(sub {
    my (undef, $more) = get($at, '/metrics');
    $faults{$_}++ for faults($more);
    my $now = samples($more, 1);
    $faults{"$_ went down"}++ for grep { $now->{$_} < ($last{$_} // 0) } keys %$now;
    $faults{"$_ is gone"}++ for grep { !defined $now->{$_} } keys %last;
    %last = %$now;
    $text = $more;
    $now->{'skipjack_worker_jobs_stored_total{pool="eval"}'} >= 2;
});
ok $done, 'the jobs are counted as they are done';
is join('; ', keys %faults), '', 'counters only go up';
my $now = samples($text);
is $now->{'skipjack_worker_jobs_claimed_total{pool="build"}'}, 2, 'two jobs were claimed';
my $configs = 0;
$configs += $now->{$_} for grep { /^skipjack_worker_configs_total/ } keys %$now;
is $configs, 4, 'four configs have an outcome';
cmp_ok $now->{'skipjack_worker_kernels_total{result="ok"}'}, '>=', 2, 'kernels are counted';
cmp_ok $now->{skipjack_worker_compile_seconds_total}, '>', 0, 'and their time';
is_deeply told($text), documented('A worker'), 'deploy/metrics.md lists just these, with type and labels';

# ---- Clients that do not speak HTTP.

my @answers = map { (get($at, '/', $_))[0] // 'closed' } "\0\1\2\3\r\n\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n",
    'GET /' . 'a' x 60000 . " HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /metrics\r\n\r\n";
is join(' ', map { /^(closed|4\d\d|5\d\d|200)$/ ? 'answered' : $_ } @answers), 'answered ' x 4 . 'answered',
    "what is no request is refused (@answers)";
my $beats = samples((get($at, '/metrics'))[1])->{skipjack_worker_heartbeats_total};
my @half = map { IO::Socket::INET->new(PeerAddr => $at =~ s{http://}{}r, Timeout => 1) } 1 .. 300;
syswrite $_, "GET /metrics HTTP/1.1\r\nHost" for grep { $_ } @half;
is scalar(@half), 300, '300 connections that never finish their request';
ok wait_for(sub { (get($at, '/health'))[0] // 0 }), 'whoever comes after them is served in the end';
close $_ for grep { $_ } @half;
$SIG{PIPE} = 'IGNORE';
@half = grep { $_ } map { IO::Socket::INET->new(PeerAddr => $at =~ s{http://}{}r, Timeout => 1) } 1 .. 300;
syswrite $_, "GET /metrics HTTP/1.1\r\nHost: " for @half;
my $late = fork // die $!;
if (!$late) { # whoever comes after them
    my $served = wait_for(sub { (get($at, '/health'))[0] // 0 });
    POSIX::_exit($served ? 0 : 1);
}
my $ended = wait_for(sub {
    syswrite $_, 'x' for @half;
    return waitpid($late, 1) == $late; # WNOHANG
});
is "$ended $?", '1 0', 'and whoever comes after 300 that send a byte now and then, for ever';
ok wait_for(sub { samples((get($at, '/metrics'))[1])->{skipjack_worker_heartbeats_total} > $beats }),
    'the worker beats on';
close $_ for grep { $_ } @half;

# ---- Health.

delete $ENV{SKIPJACK_DB};
system "'$program' db stop >/dev/null 2>&1";
my @well = wait_for(sub { my @answer = get($at, '/health'); $answer[0] == 503 && \@answer });
like $well[0][1], qr/^the database has been away for \d+ s$/m, 'without its database it is not well, and says why';
is samples((get($at, '/metrics'))[1])->{skipjack_worker_database_up}, 0, 'the metrics say so too';
system "'$program' db start >/dev/null 2>&1";
ok wait_for(sub { (get($at, '/health'))[0] == 200 }), 'it is well again with it';
kill 'TERM', $worker;
waitpid $worker, 0;
is $?, 0, 'it ends in order';
undef $worker;

# ---- The log.

my @lines = split /\n/, read_file($log), -1;
is pop @lines, '', 'the last line has an end';
my @objects = map { my $line = $_; eval { JSON::PP->new->utf8->decode($line) } || diag "no JSON: $line" } @lines;
is scalar(grep { ref } @objects), scalar(@lines), 'each line is an object';
is join(' ', grep { !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ } map { $_->{time} } @objects), '', 'with a time';
my @rounds = grep { $_->{event} eq 'round_done' } @objects;
cmp_ok scalar(@rounds), '>=', 2, 'rounds are told';
is scalar(grep { my $line = $_; grep { !defined $line->{$_} }
    qw(level node worker campaign job attempt round problem solver device message) } @rounds), 0,
    'with job, attempt, node and all the others';
my %events;
$events{$_->{event}}++ for @objects;
is $events{database_away}, 1, 'the loss of the database is told once';
is $events{database_back}, 1, 'and its return';
is $events{drain}, 1, 'and the end';
unlike read_file($log), qr/password/, 'and no password';

# ---- The log for people.

delete $ENV{SKIPJACK_DB};
like qx('$program' worker --embedded --until-empty --build 1 --eval none --log text 2>&1),
    qr/^worker: worker \d+ on /m, '--log text is for people';
SKIP: {
    qx(script --version 2>/dev/null) =~ /script/ or skip 'script is not installed', 1;
    my $seen = qx(script -qec "'$program' worker --embedded --until-empty --build 1 --eval none" /dev/null </dev/null);
    like $seen, qr/^worker: worker \d+ on /m, 'and so is what goes to a terminal';
}
like qx('$program' worker --log xml 2>&1), qr/text, json/, 'another form is none';
is $? >> 8, 2, 'which is wrong usage';
for my $lease (qw(inf nan 1e30 0.5)) {
    like qx('$program' worker --embedded --lease $lease --until-empty --eval none 2>&1), qr/--lease takes/,
        "a lease of $lease seconds is none";
    is $? >> 8, 2, 'and that is wrong usage';
}
like qx('$program' worker --embedded --metrics nowhere --eval none --log text 2>&1), qr/cannot listen on 'nowhere'/,
    'a place that is none is named';
is $? >> 8, 1, 'and nothing is done';
done_testing;
