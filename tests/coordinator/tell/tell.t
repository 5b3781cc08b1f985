#!/usr/bin/perl
# `skipjack tell` and `serve`: a message that waits is listed without its secret part, sent by either, and can be made
# due again or dropped.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use Test::More;
use Time::HiRes qw(time);
use lib 'tests/support';
use ScratchProgram qw($program $folder $patience read_file write_file);

my $receiver = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') or die $!;
my $port = $receiver->sockport;
my @serves;
END { kill 'KILL', @serves if @serves }

# Puts a message into the outbox, as a night does.
sub keep {
    my ($id, $topic) = @_;
    write_file("$folder/keep.sql", "SELECT skipjack.keep_message(repeat('$id', 16), '$topic', "
            . "'http://127.0.0.1:$port/...', 'http://127.0.0.1:$port/SECRETPART/$topic', '', '{\"text\":\"hi\"}');\n");
    is system("'$program' db psql -q -v ON_ERROR_STOP=1 -f '$folder/keep.sql' >'$folder/psql.log' 2>&1"), 0,
        "a message about $topic" or diag read_file("$folder/psql.log");
}

# Runs `skipjack tell` and answers one request with the status, if one comes. Returns the exit status, the output and the
# request's first line.
sub skipjack_tell {
    my ($status, @words) = @_;
    my $pid = fork // die $!;
    if (!$pid) {
        open STDOUT, '>', "$folder/out" or die $!;
        open STDERR, '>', "$folder/err" or die $!;
        exec $program, 'tell', @words;
    }
    my $request = $status ? answer($status) : '';
    waitpid $pid, 0;
    return ($? >> 8, read_file("$folder/out") . read_file("$folder/err"), $request);
}

sub answer {
    my ($status) = @_;
    my $end = time + $patience;
    IO::Select->new($receiver)->can_read($end - time) or return '';
    my $peer = $receiver->accept or return '';
    my ($first, $length) = ('', 0);
    while (defined(my $line = <$peer>)) {
        $first ||= $line;
        $length = $1 if $line =~ /^content-length: (\d+)/i;
        last if $line =~ /^\r?\n$/;
    }
    read $peer, (my $body), $length;
    print $peer "HTTP/1.1 $status x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    close $peer;
    return $first;
}

keep('0a', 'one');
my ($exit, $text, $request) = skipjack_tell(0, 'list');
is $exit, 0, 'tell list';
like $text, qr{waiting\s+one\s+http://127\.0\.0\.1:$port/\.\.\.}, 'shows what waits';
unlike $text, qr/SECRETPART/, 'without the secret part of the URL';

($exit, $text, $request) = skipjack_tell(400, 'send');
is $exit, 1, 'tell send fails for a refused message';
like $text, qr/0 delivered, 1 given up, 0 waiting/, 'and says so';
like $request, qr{^POST /SECRETPART/one }, 'which was sent to its URL';
unlike $text, qr/SECRETPART/, 'of which the log has no secret part';

($exit, $text) = skipjack_tell(0, 'retry');
is $exit, 0, 'tell retry';
like $text, qr/1 messages are due now/, 'makes it due';
my $pid = fork // die $!;
if (!$pid) {
    open STDERR, '>', "$folder/serve.log" or die $!;
    exec $program, 'serve', '--listen', '0', '--upkeep', '0', '--tell', '1';
}
push @serves, $pid;
like answer(200), qr{^POST /SECRETPART/one }, 'serve delivers it';
kill 'TERM', $pid;
waitpid $pid, 0;
@serves = ();
is $?, 0, 'serve ends';
unlike read_file("$folder/serve.log"), qr/SECRETPART/, 'its log has no secret part';

keep('0b', 'two');
($exit, $text) = skipjack_tell(0, 'drop', '--dry-run', '2');
like $text, qr/1 messages/, 'tell drop --dry-run says what would go';
($exit, $text) = skipjack_tell(0, 'drop', '--yes', '2');
is $exit, 0, 'tell drop' or diag $text;
($exit, $text) = skipjack_tell(0, 'list');
unlike $text, qr/two/, 'drops the message';
($exit, $text) = skipjack_tell(0, 'list', '--all', '--json');
like $text, qr/"dropped"/, 'which tell list --all still shows';
($exit, $text) = skipjack_tell(0, 'retry', '2');
is $exit, 1, 'a dropped message is not sent again';
($exit, $text) = skipjack_tell(0, 'retry', 'x');
is $exit, 2, 'an id is a number';
done_testing;
