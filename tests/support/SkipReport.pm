# prove's usual output, with a list of the skipped tests and their reasons above the summary.
# Used by: PERL5LIB=tests/support prove --formatter SkipReport.
package SkipReport;
use strict;
use warnings;
use TAP::Formatter::Console;
use TAP::Formatter::File;

# A terminal gets progress on one line; a log gets one line a program.
our @ISA = (-t STDOUT ? 'TAP::Formatter::Console' : 'TAP::Formatter::File');

my (%count, %whole); # {program}{reason}: skipped tests; programs that ran no test at all

sub open_test {
    my ($self, $program, $parser) = @_;
    $parser->callback(test => sub {
        my ($test) = @_;
        $count{$program}{$test->explanation || 'no reason given'}++ if $test->has_skip;
    });
    $parser->callback(plan => sub {
        my ($plan) = @_;
        $whole{$program}{$plan->explanation || 'no reason given'}++ if $plan->has_skip;
    });
    return $self->SUPER::open_test($program, $parser);
}

sub summary {
    my ($self, @arguments) = @_;
    if (%count || %whole) {
        $self->_output("\nSkipped, and why\n----------------\n");
        for my $program (sort keys %{{%count, %whole}}) {
            $self->_output("$program: all: $_\n") for sort keys %{$whole{$program} // {}};
            $self->_output("$program: $count{$program}{$_}: $_\n") for sort keys %{$count{$program} // {}};
        }
        $self->_output("\n");
    }
    return $self->SUPER::summary(@arguments);
}

1;
