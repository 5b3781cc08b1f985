#!/usr/bin/perl
# usage: check_skips.pl PROGRAM
#
# Copies a test program's TAP from standard input. "Bail out!", at which prove would end all other tests too,
# becomes a failed test. Under CI=true a skip that no row of tests/skips allows becomes a failed test too. A failed
# test, and the last comments before it, are repeated on standard error, since prove shows its number alone.
use strict;
use warnings;

my ($program) = @ARGV;
my $table = $0 =~ s{[^/]*$}{../skips}r;
my @allowed; # reasons that CI accepts from this program, as patterns

if (($ENV{CI} // '') eq 'true') {
    open my $rows, '<', $table or die "cannot read $table: $!\n";
    while (<$rows>) {
        next if /^#|^\s*$/;
        my ($programs, $reason, $why) = split / \| /;
        die "$table, line $.: a row is PROGRAMS | REASON | WHY\n" unless $why;
        push @allowed, qr/$reason/ if $program =~ /(^|\/)(?:$programs)$/;
    }
}

my $comments_shown = 8;
my @comments; # since the last test

$| = 1;
while (my $line = <STDIN>) {
    $line =~ s/^Bail out!/not ok - $&/;
    if (($ENV{CI} // '') eq 'true' && $line =~ /^(ok\b.*?|1\.\.0)\s*#\s*skip\S*\s*(.*)/i) {
        my ($test, $reason) = ($1, $2);
        if (!grep { $reason =~ $_ } @allowed) {
            $line = $test eq '1..0' ? "not ok 1\n1..1\n" : "not $test\n";
            print STDERR "# $program skips a test, and tests/skips does not allow it: $reason\n";
        }
    }
    print $line;
    if ($line =~ /^\s*#/) {
        push @comments, $line;
        shift @comments if @comments > $comments_shown;
    } elsif ($line =~ /^(?:not )?ok\b/) {
        print STDERR @comments, "# $program: $line" if $line =~ /^not ok\b(?!.*#\s*TODO)/i;
        @comments = ();
    }
}
