#!/usr/bin/perl
# Debian's Prometheus reads what Skipjack brings: promtool checks the rules and their unit tests, a real Prometheus
# scrapes a real `serve` and evaluates every rule, and every expression of Grafana's dashboard is answered by it.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use IO::Socket::INET;
use JSON::PP;
use Test::More;
use lib 'tests/support';
use Exposition qw(wait_for);
use OpenApi qw(call);

my $program = abs_path($ENV{SKIPJACK} // 'build/skipjack');
-x $program or plan skip_all => "$program is not built";
for my $tool (qw(prometheus promtool)) {
    grep { -x "$_/$tool" } split /:/, $ENV{PATH} or plan skip_all => "$tool is not installed";
}
my $rules = abs_path('deploy/prometheus');
my $folder = tempdir('skipjack-prometheus-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
$ENV{SKIPJACK_HOME} = "$folder/home";
delete @ENV{qw(SKIPJACK_DB SKIPJACK_LOG SKIPJACK_LOG_LEVEL SKIPJACK_NODE)};
my @children;
END {
    local $?;
    kill 'TERM', @children if @children;
    waitpid $_, 0 for @children;
    system "'$program' db stop >/dev/null 2>&1" if $folder;
}

sub read_file {
    open my $file, '<', $_[0] or return '';
    local $/;
    return scalar <$file>;
}

sub write_file {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "$path: $!";
    print $file $text;
    close $file;
}

sub start {
    my ($log, @words) = @_;
    my $pid = fork // die $!;
    if (!$pid) {
        open STDOUT, '>', $log or die $!;
        open STDERR, '>&', \*STDOUT or die $!;
        exec @words;
    }
    push @children, $pid;
    return $pid;
}

# ---- Rules and their unit tests.

like qx(promtool check rules '$rules/skipjack.rules.yml' 2>&1), qr/SUCCESS: \d+ rules found/, 'promtool takes the rules';
is system("promtool test rules '$rules/skipjack.rules.test.yml' >'$folder/rules.log' 2>&1"), 0, 'and their unit tests pass'
    or diag read_file("$folder/rules.log");

# ---- A real scrape.

start("$folder/serve.log", $program, 'serve', '--listen', '0', '--log', 'text', '--upkeep', '1');
my $at = wait_for(sub { read_file("$folder/serve.log") =~ m{http://(127\.0\.0\.1:\d+)} && $1 });
ok wait_for(sub { my $health = call("http://$at", 'GET', '/health'); $health && $health->{status} == 200 }), 'serve is well';
my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die $!;
my $port = $socket->sockport;
close $socket;
write_file("$folder/prometheus.yml", <<"END");
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ['$rules/skipjack.rules.yml']
scrape_configs:
  - {job_name: skipjack, static_configs: [{targets: ['$at']}]}
END
is system("promtool check config '$folder/prometheus.yml' >'$folder/config.log' 2>&1"), 0, 'its configuration holds' or diag read_file("$folder/config.log");
start("$folder/prometheus.log", 'prometheus', "--config.file=$folder/prometheus.yml", "--storage.tsdb.path=$folder/data",
    "--web.listen-address=127.0.0.1:$port", '--log.level=warn');
my $prometheus = "http://127.0.0.1:$port";

# The result of a query, or undef.
sub ask {
    my ($query) = @_;
    my $words = $query =~ s/([^A-Za-z0-9_.-])/sprintf '%%%02X', ord $1/ger;
    my $answer = call($prometheus, 'GET', "/api/v1/query?query=$words", {}) or return;
    my $body = $answer->{body};
    # Prometheus sends chunks.
    $body =~ s/^[0-9a-f]+\r\n(.*?)\r\n0\r\n\r\n$/$1/s;
    my $object = eval { JSON::PP->new->utf8->decode($body) } or return;
    return ($object->{status} // '') eq 'success' ? $object->{data}{result} : undef;
}

my $up = wait_for(sub { my $result = ask('skipjack_database_up'); $result && @$result && $result });
is $up->[0]{value}[1], 1, 'Prometheus has scraped serve' or diag read_file("$folder/prometheus.log");
ok wait_for(sub { my $result = ask('skipjack_upkeep_runs_total > 0'); $result && @$result }), '... and what it counts';
ok wait_for(sub { my $body = call($prometheus, 'GET', '/api/v1/rules')->{body}; $body =~ /"health":"ok"/ && $body !~ /"health":"(unknown|err)"/ }),
    'every rule is evaluated, without an error';
unlike call($prometheus, 'GET', '/api/v1/alerts')->{body}, qr/"alertname":"Skipjack(DatabaseAway|NightRed|ServeOverloaded)"/, 'none rings on a farm that is well';

# ---- Grafana's dashboard.

my $dashboard = eval { JSON::PP->new->utf8->decode(read_file('deploy/grafana/skipjack.json')) };
ok $dashboard, 'the dashboard is JSON' or BAIL_OUT $@;
my %documented = map { $_ => 1 } read_file('deploy/metrics.md') =~ /^\| `(skipjack_\w+)`/mg;
my (%ids, %used);
for my $panel (@{$dashboard->{panels}}) {
    ok !$ids{$panel->{id}}++ && length $panel->{title}, "panel $panel->{id}: $panel->{title}";
    for my $target (@{$panel->{targets}}) {
        ok defined ask($target->{expr}), "... Prometheus answers $target->{expr}";
        my @metrics = $target->{expr} =~ /(skipjack_\w+)/g;
        is join(' ', grep { !$documented{$_} } @metrics), '', '... of metrics that deploy/metrics.md lists';
        my %labels = map { $_ => 1 } map { split /\s*,\s*/ } $target->{expr} =~ /by \(([^)]*)\)/g;
        my @missing = grep { !$labels{$_} && $_ ne 'instance' } $target->{legendFormat} =~ /\{\{(\w+)\}\}/g;
        is "@missing", '', '... with the labels of its legend';
        $used{$_} = 1 for @metrics;
    }
}
cmp_ok scalar(keys %used), '>', 20, 'the dashboard shows the farm';
done_testing;
