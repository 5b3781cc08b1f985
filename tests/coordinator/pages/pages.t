#!/usr/bin/perl
# The man pages and the completion for bash that the program makes of its own commands: every command, verb and option
# has its place in them, man and mandoc read the pages without a warning, and a real bash completes command lines.
use strict;
use warnings;
use lib 'tests/support';
use ScratchProgram qw($program $folder run);
use JSON::PP qw(decode_json);
use Test::More;

sub slurp {
    my ($path) = @_;
    open my $file, '<:encoding(UTF-8)', $path or return undef;
    local $/;
    return scalar <$file>;
}

my (undef, $errors, $status) = run('pages', '--man', "$folder/man");
is $status, 0, 'the man pages are written' or diag $errors;
my ($completion) = run('pages');
open my $file, '>', "$folder/completion" or die $!;
print $file slurp('coordinator/pages/completion.bash'), $completion;
close $file;

# Each command and verb as the program describes it, by its name.
my %described;
sub describe {
    my ($name) = @_;
    my ($output) = run(split(/ /, $name), '--describe');
    my $own = decode_json($output);
    $described{$name} = $own;
    describe($name eq '' ? $_->{name} : "$name $_->{name}") for @{$own->{commands} // $own->{verbs} // []};
}
describe('');
cmp_ok scalar(keys %described), '>=', 50, 'commands and verbs describe themselves';

my (@lost, @foreign);
for my $name (sort keys %described) {
    my $page = join '-', 'skipjack', split / /, $name;
    my $text = slurp("$folder/man/$page.1");
    push @lost, $page if !defined $text;
    $text =~ s/\\-/-/g if defined $text;
    for my $option (@{$described{$name}{options} // []}) {
        next if !defined $option->{long};
        push @lost, "$page --$option->{long}" if !defined $text || index($text, "--$option->{long}\\fR") < 0;
    }
    for my $verb (@{$described{$name}{commands} // $described{$name}{verbs} // []}) {
        my $other = $name eq '' ? "skipjack-$verb->{name}" : "$page-$verb->{name}";
        push @lost, "$page: $other" if !defined $text || index($text, "$other (1)") < 0;
    }
}
is_deeply \@lost, [], 'every command, verb and option has its place in a man page';
is scalar(my @pages = glob("$folder/man/*.1")), scalar(keys %described), 'and nothing else has a page';
like slurp("$folder/man/skipjack.1"), qr/SKIPJACK_DB\b.*EXIT STATUS.*not done/s, 'variables and exit statuses are in skipjack.1';

SKIP: {
    skip 'mandoc is not installed', 1 if system 'command -v mandoc >/dev/null 2>&1';
    is `mandoc -T lint -W warning $folder/man/*.1 2>&1 | grep -v 'missing date'`, '', 'mandoc has nothing to warn of';
}
SKIP: {
    skip 'man is not installed', 1
        if system "command -v man >/dev/null 2>&1 && MANPAGER=cat man -l $folder/man/skipjack.1 >/dev/null 2>&1";
    my $warnings = join '', map { `LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l '$_' 2>&1 >/dev/null` } @pages;
    is $warnings, '', 'nor has man';
}

# Pages that list command lines name commands and options that exist.
for my $page ('README.md', 'coordinator/README.md', 'coordinator/FROM_MITUNA.md', 'coordinator/TUTORIAL.md',
    'deploy/CHANGELOG.md') {
    my $text = slurp($page);
    my @wrong;
    for my $line ($text =~ /`(skipjack [^`]*)`/g, $text =~ /^(?:\$ )?(skipjack [a-z][^\n]*)/mg) {
        $line =~ s/ #.*//;
        my ($name, @words) = ('', split / /, $line);
        shift @words;
        while (@words) {
            my $longer = $name eq '' ? $words[0] : "$name $words[0]";
            last if $words[0] eq '' || !$described{$longer};
            $name = $longer;
            shift @words;
        }
        my %known = map { ("--$_->{long}" => 1) } grep { defined $_->{long} } @{$described{$name}{options} // []};
        push @wrong, $line if $name eq '' && ($words[0] // '') =~ /^[a-z]/ && $words[0] ne 'help';
        push @wrong, "$line: $_" for grep { !$known{$_} && $name ne '' && $_ ne '--help' }
            map { /^(--[a-z-]+)/ ? $1 : () } @words;
    }
    is_deeply \@wrong, [], "$page names commands and options that exist";
}

# Links between pages lead to files that exist.
my @broken;
for my $page (split /\n/, `find . -name '*.md' -not -path './build/*' -not -path './.git/*'`) {
    my ($below) = $page =~ m{^(.*)/};
    push @broken, "$page: $_" for grep { !-e "$below/$_" } grep { !/^[a-z]+:/ && !/^#/ }
        slurp($page) =~ /\]\(([^)#\s]+)/g;
}
is_deeply \@broken, [], 'links between pages lead to files';

# Returns the completions that bash offers for a command line whose last word is being typed.
sub complete {
    my @words = @_;
    my $quoted = join ' ', map { my $word = $_; $word =~ s/'/'\\''/g; "'$word'" } @words;
    open my $script, '>', "$folder/complete.sh" or die $!;
    print $script "cd '$folder/typed' && PATH='$folder/bin':\$PATH && source '$folder/completion'\n",
        "COMP_WORDS=($quoted) COMP_CWORD=$#words\n_skipjack_complete\nprintf '%s\\n' \"\${COMPREPLY[\@]}\"\n";
    close $script;
    return [sort grep { $_ ne '' } split /\n/, `bash --norc '$folder/complete.sh' 2>&1`];
}

SKIP: {
    skip 'bash is not installed', 1 if system 'command -v bash >/dev/null 2>&1';
    mkdir "$folder/bin";
    mkdir "$folder/typed";
    symlink $program =~ m{^/} ? $program : "$ENV{PWD}/$program", "$folder/bin/skipjack";
    open my $typed, '>', "$folder/typed/alone.csv" or die $!;
    close $typed;
    is_deeply complete('skipjack', 'ca'), ['campaign'], 'a command is completed';
    is_deeply complete('skipjack', ''), [sort map { $_->{name} } @{$described{''}{commands}}], 'all are offered';
    is_deeply complete('skipjack', 'campaign', 're'), ['remeasure', 'resume', 'retry'], 'so are verbs';
    is_deeply complete('skipjack', 'tune', '--all'), ['--all-solvers', '--allow-clamped', '--allow-drift'], 'and options';
    is_deeply complete('skipjack', 'tune', '--strategy', ''), ['annealing', 'exhaustive', 'genetic', 'local', 'model', 'prior', 'random'], 'strategies';
    is_deeply complete('skipjack', 'tune', '--strategy', '=', 'l'), ['local'], 'also behind an equals sign';
    is_deeply complete('skipjack', 'tune', '--dtype', 'FP32,FP1'), ['FP32,FP16'], 'the last one of a list';
    is_deeply complete('skipjack', 'merge', '--prefer', 'f'), ['fastest', 'first'], 'values that the help lists';
    is_deeply complete('skipjack', 'tune', 'al'), ['alexnet', 'alone.csv'], 'shipped networks beside files';
    is_deeply complete('skipjack', 'run', 'a'), ['alone.csv'], 'files alone where a command reads no lists';
    is_deeply complete('skipjack', 'report', '--target', ''), [], 'nothing where no database answers'
        or diag 'a database was started';
    is_deeply complete('skipjack', '--ver'), ['--version'], 'options in front of a command';
    run('import', 'alexnet', '--network', 'mine');
    is_deeply complete('skipjack', 'problems', '--network', 'mi'), ['mine'], 'networks in the database, while it runs';
    is_deeply complete('skipjack', 'networks', 'mi'), ['mine'], 'as arguments, too';
}
done_testing;
