#!/usr/bin/perl
# Listens to the events of `serve` with many connections at once, until SIGTERM. Then prints how many still listen, and
# how many bytes and events came.
# usage: listeners.pl ADDRESS:PORT COUNT
use strict;
use warnings;
use IO::Poll qw(POLLIN POLLHUP);
use IO::Socket::INET;

my ($peer, $count) = @ARGV;
my ($bytes, $events, $done) = (0, 0, 0);
$SIG{TERM} = sub { $done = 1 };
my $poll = IO::Poll->new;
for (1 .. $count) {
    my $socket = IO::Socket::INET->new(PeerAddr => $peer, Timeout => 10) or die "connection $_: $!";
    syswrite $socket, "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    $poll->mask($socket => POLLIN);
}
$| = 1;
print "listening\n";
while (!$done) {
    $poll->poll(1);
    for my $socket ($poll->handles(POLLIN | POLLHUP)) {
        my $got = sysread $socket, my $block, 65536;
        if (!$got) {
            $poll->remove($socket);
            next;
        }
        $bytes += $got;
        $events += () = $block =~ /^event: /mg;
    }
}
printf "%d listeners, %d events, %.1f MB\n", scalar $poll->handles, $events, $bytes / 1e6;
