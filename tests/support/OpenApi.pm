# What tests of the API share: a client that keeps headers apart, and values checked against openapi.json's schemas.
package OpenApi;
use strict;
use warnings;
use B ();
use Exporter 'import';
use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use Patience qw($patience);
our @EXPORT_OK = qw(call document misfits operations resolve);

my $json = JSON::PP->new->utf8;
my $document;

sub document {
    return $document //= do {
        open my $file, '<', 'coordinator/serve/openapi.json' or die $!;
        local $/;
        $json->decode(scalar <$file>);
    };
}

# A request: (method, path, headers, body). Its answer: {status, headers (small letters), body}; undef where nobody answers.
sub call {
    my ($at, $method, $path, $headers, $body) = @_;
    my ($peer) = $at =~ m{^http://(\S+)$} or return;
    my $socket = IO::Socket::INET->new(PeerAddr => $peer, Timeout => $patience) or return;
    my %headers = (Host => 'localhost', Connection => 'close', %{$headers // {}});
    $headers{'Content-Length'} //= length $body if defined $body;
    my $request = "$method $path HTTP/1.1\r\n" . join('', map { "$_: $headers{$_}\r\n" } sort keys %headers) . "\r\n" . ($body // '');
    syswrite $socket, $request;
    my $answer = '';
    while (IO::Select->new($socket)->can_read($patience)) {
        sysread($socket, $answer, 65536, length $answer) or last;
    }
    my ($status, $head, $rest) = $answer =~ m{^HTTP/1\.1 (\d+) [^\r]*\r\n(.*?\r\n)\r\n(.*)$}s or return;
    my %got = map { /^([^:]+): *(.*)$/ ? (lc $1, $2) : () } split /\r\n/, $head;
    return {status => $status, headers => \%got, body => $rest, json => scalar(eval { $json->decode($rest) })};
}

# Each operation: [method, path, object].
sub operations {
    my $paths = document()->{paths};
    return map { my $path = $_; map { [uc $_, $path, $paths->{$path}{$_}] } sort keys %{$paths->{$path}} } sort keys %$paths;
}

# What a "$ref" means.
sub resolve {
    my ($value) = @_;
    my $place = ref $value eq 'HASH' ? $value->{'$ref'} : undef;
    return $value if !defined $place;
    my $found = document();
    $found = $found->{$_} for split m{/}, $place =~ s{^#/}{}r;
    return $found;
}

sub type_of {
    my ($value) = @_;
    return 'null' if !defined $value;
    return 'boolean' if JSON::PP::is_bool($value);
    return 'object' if ref $value eq 'HASH';
    return 'array' if ref $value eq 'ARRAY';
    my $flags = B::svref_2object(\$value)->FLAGS;
    return 'string' if $flags & B::SVf_POK;
    return $value == int $value ? 'integer' : 'number';
}

# Everything in which the value does not fit the schema: "place: what".
sub misfits {
    my ($schema, $value, $place) = @_;
    $schema = resolve($schema);
    $place //= '';
    if (my $any = $schema->{anyOf}) {
        my @each = map { [misfits($_, $value, $place)] } @$any;
        return (grep { !@$_ } @each) ? () : @{$each[0]};
    }
    my $type = type_of($value);
    if (defined(my $wanted = $schema->{type})) {
        my @types = ref $wanted ? @$wanted : ($wanted);
        return "$place: is of type $type" if !grep { $_ eq $type || ($_ eq 'number' && $type eq 'integer') } @types;
    }
    return "$place: '$value' is none of its values" if $schema->{enum} && defined $value && !grep { $_ eq $value } @{$schema->{enum}};
    if ($type eq 'array') {
        return map { misfits($schema->{items}, $value->[$_], "$place\[$_]") } $schema->{items} ? 0 .. $#$value : ();
    }
    return if $type ne 'object';
    my @wrong = map { "$place: has no $_" } grep { !exists $value->{$_} } @{$schema->{required} // []};
    for my $name (sort keys %$value) {
        my $own = ($schema->{properties} // {})->{$name} // $schema->{additionalProperties};
        push @wrong, "$place: has a $name" if defined $own && !ref $own && !$own || JSON::PP::is_bool($own) && !$own;
        push @wrong, misfits($own, $value->{$name}, "$place.$name") if ref $own eq 'HASH';
    }
    return @wrong;
}

1;
