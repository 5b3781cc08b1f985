# What scripts that run the program share: a folder and a home of their own, whose database ends with them, and what
# the program says. Where it is not built the script is skipped.
package ScratchProgram;
use strict;
use warnings;
use Exporter 'import';
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Test::More;
our @EXPORT_OK = qw($program $folder run json_of);

our $program = $ENV{SKIPJACK} // 'build/skipjack';
-x $program or plan skip_all => "$program is not built";

# Not in a folder that only root may enter: as root PostgreSQL runs as another user.
our $folder = tempdir('skipjack-test-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
$ENV{SKIPJACK_HOME} = "$folder/home";
delete $ENV{SKIPJACK_DB};
END { system "'$program' db stop >/dev/null 2>&1" if $program && -x $program; }

# Standard output, standard error, exit status.
sub run {
    my $output = `timeout 600 '$program' @_ 2>'$folder/errors'`;
    my $status = $? >> 8;
    open my $file, '<', "$folder/errors" or die $!;
    local $/;
    return ($output, scalar(<$file>) // '', $status);
}

# What it prints with --json.
sub json_of {
    my ($output, $errors, $status) = run(@_, '--json');
    is $status, 0, "'@_' ends with 0" or diag $errors;
    return decode_json($output);
}

1;
