#!/usr/bin/perl
# Alert rules without Prometheus: they are YAML of the form that it reads, each metric in them is one that
# deploy/metrics.md describes and the program makes, with those labels, and each alert has its paragraph
# in the guide.
use strict;
use warnings;
use Test::More;

eval { require YAML::XS; 1 } or plan skip_all => 'YAML::XS is not installed';

sub read_file {
    open my $file, '<', $_[0] or die "$_[0]: $!";
    local $/;
    return scalar <$file>;
}

my %described;
for (split /\n/, read_file('deploy/metrics.md')) {
    my ($name, $type, $labels) = /^\| `(skipjack_\w+)` \| (\w+) \|([^|]*)\|/ or next;
    $described{$name} = {type => $type, labels => {map { $_ => 1 } $labels =~ /`(\w+)`/g}};
}
cmp_ok scalar(keys %described), '>', 20, 'metrics are described';

# The metrics' names in the program's tables.
my $sources = join '', map { read_file($_) } glob('worker/agent/*.c worker/agent/*/*.c coordinator/serve/*.c');
my %made = map { $_ => 1 } $sources =~ /"(skipjack_[a-z_]+)"/g;

my $rules = YAML::XS::LoadFile('deploy/prometheus/skipjack.rules.yml');
my $guide = read_file('deploy/OPERATIONS.md');
is join(' ', sort keys %$rules), 'groups', 'rules are groups alone';
my %seen;
for my $group (@{$rules->{groups}}) {
    like $group->{name}, qr/^skipjack-\w+$/, 'a group has a name';
    for my $rule (@{$group->{rules}}) {
        my $alert = $rule->{alert} // '';
        my @wrong = grep { !/^(alert|expr|for|labels|annotations)$/ } keys %$rule;
        ok $alert =~ /^Skipjack\w+$/ && !$seen{$alert}++ && !@wrong, "$alert is an alert";
        like $rule->{for} // '1m', qr/^[0-9]+[mh]$/, 'and says for how long';
        like $rule->{labels}{severity}, qr/^(page|warn)$/, 'how bad it is';
        ok length $rule->{annotations}{summary} // '', 'and what it means';
        like $guide, qr/^- \*\*\Q$alert\E\.\*\* \S/m, 'the guide says what to do';
        my $expr = $rule->{expr};
        is +($expr =~ tr/(//), ($expr =~ tr/)//), 'its brackets match';
        while ($expr =~ /(skipjack_\w+)(?:\{(.*?)\})?/g) {
            my ($metric, $labels) = ($1, $2 // '');
            ok $described{$metric}, "$metric is described" or next;
            ok $made{$metric}, "and the program makes it";
            my @unknown = grep { !$described{$metric}{labels}{$_} } $labels =~ /(\w+)\s*[=!]/g;
            is "@unknown", '', 'with these labels';
        }
        while ($expr =~ /(increase|rate)\((skipjack_\w+)/g) {
            is $described{$2}{type}, 'counter', "$1 is of a counter";
        }
        while ($rule->{annotations}{summary} =~ /\$labels\.(\w+)/g) {
            my $label = $1;
            ok $label eq 'instance' || (grep { $described{$_}{labels}{$label} } $expr =~ /(skipjack_\w+)/g),
                "its summary has $label";
        }
    }
}
my %alerts = map { $_ => 1 } $guide =~ /^- \*\*(Skipjack\w+)\.\*\*/mg;
is join(' ', grep { !$seen{$_} } sort keys %alerts), '', 'the guide speaks of no other alert';

done_testing;
