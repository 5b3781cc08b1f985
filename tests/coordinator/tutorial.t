#!/usr/bin/perl
# Runs the commands of coordinator/TUTORIAL.md, one after the other, and compares what they print with the page: words must
# be equal; numbers, times, this machine's target, the order of rows and the width of columns may differ. `make tutorial` writes the texts
# anew (--write).
use strict;
use warnings;
use Cwd qw(abs_path);
use lib 'tests/support';
use ScratchProgram qw($program $folder write_file read_file);
use Test::More;

my $page = 'coordinator/TUTORIAL.md';
my $target = 'cpu-skylake-avx512_2'; # the page's
my $here;                            # this machine's, once `tune` said it
my $writes = grep { $_ eq '--write' } @ARGV;

mkdir "$folder/bin";
mkdir "$folder/work";
symlink abs_path($program), "$folder/bin/skipjack";
$ENV{PATH} = "$folder/bin:$ENV{PATH}";

# Returns a command's standard output and its status.
sub shell {
    my ($command) = @_;
    $command =~ s/\Q$target\E/$here/g if defined $here;
    write_file("$folder/command.sh", "cd '$folder/work' || exit\n$command\n");
    my $output = `bash '$folder/command.sh' 2>'$folder/errors'`;
    my $status = $? >> 8;
    $here = $1 if !defined $here && $output =~ /^Campaign \d+ \S+ on (\S+), /m;
    $output =~ s/SKIPJACK_HOME=\S+ //g;
    $output =~ s/(\(commit \w+)-dirty/$1/;
    return ($output, $status);
}

# A text without what differs between machines and runs.
sub words {
    my ($text) = @_;
    $text =~ s/^The device drifted while .*?(?:\n\n|\z)//msg; # only where it did
    $text =~ s/^Dropped .*\n//mg;                              # only where upkeep found something
    $text =~ s/^.*\bunsure\b.*\n//mg;
    $text =~ s/^ +\d+ unstable\n//mg;
    $text =~ s/^(?:\d+ of \d+ winners were measured a second time|known%:).*\n//mg; # on a busy machine none has a time
    $text =~ s/ \(its round drifted by [\d.]+\)//g;
    $text =~ s/\Q$here\E/$target/g if defined $here;
    $text =~ s/\Q$target\E/TARGET/g;
    $text =~ s/\(commit \S+\)/(commit)/;
    $text =~ s/\b[0-9a-f]{12,}\b/HASH/g;
    $text =~ s/\d+(?:[.,]\d+)*(?:e[-+]\d+)?/0/g;
    $text =~ s/\b0 (?:bytes|[kM]i?B|min 0 s|m?s|µs|h)\b/0/g;
    $text =~ s/(?<=\s)-(?=\s)/0/g;
    $text =~ s/[ \t]+/ /g;
    $text =~ s/ $//mg;
    return join "\n", sort grep { $_ ne "" } split /\n/, $text; # rows are sorted by times
}

my ($written, $commands) = ('', 0);
for my $part (split /^(```(?:console|csv [\w.]+)\n.*?^```\n)/ms, read_file($page)) {
    if ($part =~ /^```csv (\S+)\n(.*)^```\n/ms) {
        write_file("$folder/work/$1", $2);
    } elsif ($part =~ s/^```console\n(.*)^```\n//ms) {
        my $new = '';
        for my $step (split /^(?=\$ )/m, $1) {
            my ($command, $expected) = $step =~ /^\$ (.*?)\n(.*)/s;
            my ($output, $status) = shell($command);
            is $status, 0, $command or diag read_file("$folder/errors");
            is words($output), words($expected), 'prints what the page shows' if !$writes;
            $output =~ s/^\n+//;
            $new .= "\$ $command\n$output";
            $commands++;
        }
        $part = "```console\n$new```\n";
    }
    $written .= $part;
}
cmp_ok $commands, '>=', 20, 'the page has commands';
write_file($page, $written) if $writes;
done_testing;
