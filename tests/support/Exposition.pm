# What tests of metrics and health share: a client of one request, and a strict reader of
# Prometheus' text format.
package Exposition;
use strict;
use warnings;
use Exporter 'import';
use IO::Select;
use IO::Socket::INET;
use Patience qw($patience);
use Time::HiRes qw(sleep time);
our @EXPORT_OK = qw(get faults samples told documented wait_for);

# (status, body) of a request of a "http://ADDRESS:PORT"; () where nobody answers.
sub get {
    my ($url, $path, $request) = @_;
    my ($peer) = $url =~ m{^http://(\S+)$} or return;
    my $socket = IO::Socket::INET->new(PeerAddr => $peer, Timeout => $patience) or return;
    $request //= "GET $path HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    syswrite $socket, $request;
    my $answer = '';
    while (IO::Select->new($socket)->can_read($patience)) {
        sysread($socket, $answer, 65536, length $answer) or last;
    }
    return $answer =~ m{^HTTP/1\.1 (\d+) .*?\r\n\r\n(.*)$}s ? ($1, $2) : ();
}

# Polls until the code is true; its value, or false when the time is over.
sub wait_for {
    my ($code) = @_;
    for (my $end = time + $patience; time < $end; sleep 0.05) {
        my $value = $code->();
        return $value if $value;
    }
    return;
}

my $name = qr/[a-zA-Z_:][a-zA-Z0-9_:]*/;
my $label = qr/[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"/;
my $value = qr/[-+]?(?:[0-9.]+(?:e[-+]?[0-9]+)?|Inf)|NaN/;

# All that is wrong with a text, line by line.
sub faults {
    my ($text) = @_;
    my (@faults, %type, %help, %seen, $now, %closed);
    push @faults, 'the last line has no end' if $text !~ /\n\z/;
    for my $line (split /\n/, $text) {
        if ($line =~ /^# HELP ($name) \S/) {
            push @faults, "HELP of $1 twice" if $help{$1}++;
        } elsif ($line =~ /^# TYPE ($name) (counter|gauge|histogram)$/) {
            my ($of, $kind) = ($1, $2);
            push @faults, "TYPE of $of twice" if $type{$of};
            push @faults, "$of has no HELP before its TYPE" if !$help{$of};
            push @faults, "$of and _total do not fit" if ($kind eq 'counter') != ($of =~ /_total$/ ? 1 : 0);
            $closed{$now} = 1 if defined $now;
            ($type{$of}, $now) = ($kind, $of);
        } elsif ($line =~ /^(($name)(?:\{$label(?:,$label)*\})?) ($value)$/) {
            my ($series, $of, $is) = ($1, $2, $3);
            my $base = $type{$of} ? $of : $of =~ s/_(bucket|sum|count)$//r;
            push @faults, "$of has no TYPE" if !$type{$base};
            push @faults, "$of stands apart from its TYPE" if ($now // '') ne $base || $closed{$base};
            push @faults, "$series twice" if $seen{$series}++;
            push @faults, "$series is $is" if ($type{$base} // '') ne 'gauge' && $is !~ /^[0-9]/;
        } else {
            push @faults, "no line of the format: $line";
        }
    }
    return @faults;
}

# {series => value} of a text, all series or those of counters.
sub samples {
    my ($text, $counters) = @_;
    my %type = $text =~ /^# TYPE ($name) (\w+)$/mg;
    my %samples = $text =~ /^($name(?:\{.*\})?) (\S+)$/mg;
    return \%samples if !$counters;
    for my $series (keys %samples) {
        (my $base = $series) =~ s/\{.*//;
        $base =~ s/_(bucket|sum|count)$// if !$type{$base};
        delete $samples{$series} if $type{$base} eq 'gauge';
    }
    return \%samples;
}

# {name => "type label label"} of a text, a histogram's without its own label.
sub told {
    my ($text) = @_;
    my %told = $text =~ /^# TYPE ($name) (\w+)$/mg;
    for my $series ($text =~ /^($name\{.*\}) \S+$/mg) {
        my ($of, $labels) = $series =~ /^(\w+)\{(.*)\}$/;
        $of =~ s/_(bucket|sum|count)$// if !$told{$of};
        my ($type) = $told{$of} =~ /^(\w+)/;
        $told{$of} = join ' ', $type, sort grep { $_ ne 'le' } $labels =~ /(\w+)="/g;
    }
    return \%told;
}

# The same of a section of deploy/metrics.md.
sub documented {
    my ($section) = @_;
    open my $file, '<', 'deploy/metrics.md' or die $!;
    my ($inside, %rows);
    while (my $line = <$file>) {
        $inside = $1 eq $section if $line =~ /^## (.*)/;
        next if !$inside || $line !~ /^\| `(\w+)` \| (\w+) \| (.*?) \|/;
        my ($row, $type, $labels) = ($1, $2, $3);
        $rows{$row} = join ' ', $type, sort $labels =~ /`(\w+)`/g;
    }
    return \%rows;
}

1;
