#!/usr/bin/perl
# Checks the manifests without a cluster: each is YAML; each field exists in its kind (by the API's reference,
# https://kubernetes.io/docs/reference/kubernetes-api/) and has the right type; every object that a manifest refers to
# exists; and the program knows every option that a manifest passes.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

my $program = $ENV{SKIPJACK} // 'build/skipjack';
-x $program or plan skip_all => "$program is not built";
eval { require YAML::XS; 1 } or plan skip_all => 'YAML::XS is not installed';

# ---- The allowed fields. A value is a type (a pattern of its text), a list with its elements' type, 'map' to a type,
# or the name of another row.

my $quantity = qr/^[0-9.]+(m|[KMGT]i?)?$/;
my $number = qr/^[0-9]+$/;
my $flag = qr/^(1|true|)$/;
my $text = qr/./s;
my $name = qr/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
my %texts = (map => $text);
my %fields = (
    metadata => {name => $name, labels => \%texts},
    ref => {name => $name, key => $text},
    source => {secretKeyRef => 'ref', configMapKeyRef => 'ref'},
    env => {name => qr/^[A-Z_]+$/, value => $text, valueFrom => 'source'},
    mount => {name => $name, mountPath => qr{^/}, readOnly => $flag},
    exec => {command => [$text]},
    get => {path => qr{^/(health|metrics)$}, port => $name},
    port => {name => $name, containerPort => $number},
    probe => {exec => 'exec', httpGet => 'get', periodSeconds => $number, timeoutSeconds => $number,
        failureThreshold => $number},
    resources => {requests => {map => $quantity}, limits => {map => $quantity}},
    confined => {allowPrivilegeEscalation => $flag, readOnlyRootFilesystem => $flag,
        capabilities => {drop => [$text]}},
    container => {name => $name, image => $text, command => [$text], args => [$text], env => ['env'],
        volumeMounts => ['mount'], ports => ['port'], startupProbe => 'probe',
        livenessProbe => 'probe', readinessProbe => 'probe', resources => 'resources',
        securityContext => 'confined'},
    volume => {name => $name, emptyDir => {}, configMap => {name => $name},
        persistentVolumeClaim => {claimName => $name}, secret => {secretName => $name, defaultMode => $number}},
    pod => {automountServiceAccountToken => $flag, terminationGracePeriodSeconds => $number,
        restartPolicy => qr/^(Never|OnFailure|Always)$/, containers => ['container'],
        volumes => ['volume'], securityContext => {runAsNonRoot => $flag, runAsUser => $number,
            runAsGroup => $number, fsGroup => $number, seccompProfile => {type => qr/^RuntimeDefault$/}}},
    template => {metadata => 'metadata', spec => 'pod'},
    job => {parallelism => $number, completions => $number, backoffLimit => $number,
        template => 'template', podFailurePolicy => {rules => [{action => qr/^(FailJob|Ignore|Count)$/,
            onExitCodes => {operator => qr/^(In|NotIn)$/, values => [$number]},
            onPodConditions => [{type => qr/^DisruptionTarget$/}]}]}},
    deployment => {replicas => $number, selector => {matchLabels => \%texts}, template => 'template',
        strategy => {type => qr/^RollingUpdate$/, rollingUpdate =>
            {maxSurge => $number, maxUnavailable => $number}}},
    cron => {schedule => qr/^(\S+ ){4}\S+$/, timeZone => $text, startingDeadlineSeconds => $number, concurrencyPolicy => qr/^(Allow|Forbid|Replace)$/,
        jobTemplate => {spec => 'job'}},
);
my %kinds = (
    'v1 Secret' => {type => $text, stringData => \%texts},
    'v1 ConfigMap' => {data => \%texts},
    'apps/v1 Deployment' => {spec => 'deployment'},
    'v1 PersistentVolumeClaim' => {spec => {accessModes => [qr/^ReadWrite(Once|Many)$/],
        resources => {requests => {map => $quantity}}}},
    'batch/v1 Job' => {spec => 'job'},
    'batch/v1 CronJob' => {spec => 'cron'},
);

# Returns every place where a value does not have its type.
sub faults {
    my ($value, $type, $at) = @_;
    $type = $fields{$type} if !ref $type;
    if (ref $type eq 'Regexp') {
        return ref $value || !defined $value || $value !~ $type ? "$at is wrong" : ();
    }
    if (ref $type eq 'ARRAY') {
        return "$at is no list" if ref $value ne 'ARRAY';
        return map { faults($value->[$_], $type->[0], "$at\[$_]") } 0 .. $#$value;
    }
    return "$at is no map" if ref $value ne 'HASH';
    return map {
        my $inner = $type->{map} // $type->{$_};
        $inner ? faults($value->{$_}, $inner, "$at.$_") : "$at.$_ is unknown"
    } sort keys %$value;
}

my (@objects, %secrets, %maps, %claims);
for my $file (glob 'deploy/kubernetes/*.yaml') {
    my @documents = eval { YAML::XS::LoadFile($file) };
    ok @documents, "$file is YAML" or diag $@;
    for my $object (@documents) {
        my $kind = "$object->{apiVersion} $object->{kind}";
        my $type = $kinds{$kind};
        ok $type, "$file: $kind is known" or next;
        my @faults = faults($object, {%$type, apiVersion => $text, kind => $text, metadata => 'metadata'}, $kind);
        is "@faults", '', "$file: $kind has the fields of its kind";
        $secrets{$object->{metadata}{name}} = $object->{stringData} if $object->{kind} eq 'Secret';
        $maps{$object->{metadata}{name}} = $object->{data} if $object->{kind} eq 'ConfigMap';
        $claims{$object->{metadata}{name}} = 1 if $object->{kind} eq 'PersistentVolumeClaim';
        push @objects, {file => $file, object => $object};
    }
}
is join('; ', faults({spec => {replica => 1}}, {spec => 'deployment'}, 'x')), 'x.spec.replica is unknown',
    'a misspelt field would be found';

# ---- Each pod is confined, and the objects that it refers to exist.

sub pod_template {
    my ($object) = @_;
    my $spec = $object->{spec} or return;
    $spec = $spec->{jobTemplate}{spec} if $spec->{jobTemplate};
    return $spec->{template};
}

# Returns the options that a command's help lists.
sub options {
    my (@command) = @_;
    return map { $_ => 1 } qx('$program' @command --help) =~ /(--[a-z-]+)/g;
}

# Returns every `skipjack COMMAND...` that a container runs, from its arguments or its script.
sub commands {
    my ($container) = @_;
    return [@{$container->{args}}] if !$container->{command};
    my $script = join(' ', @{$container->{args}}) =~ s/[;|]|&&/\n/gr;
    return map { [split] } $script =~ /skipjack (.*)/g;
}

for my $entry (@objects) {
    my $template = pod_template($entry->{object}) or next;
    my ($file, $pod) = ($entry->{file}, $template->{spec});
    ok $pod->{securityContext}{runAsNonRoot}, "$file: not root";
    my %volumes = map { $_->{name} => $_ } @{$pod->{volumes}};
    for my $container (@{$pod->{containers}}) {
        my $confined = $container->{securityContext};
        ok !$confined->{allowPrivilegeEscalation} && $confined->{readOnlyRootFilesystem}, "$file: confined";
        my @missing = grep { !$volumes{$_} } map { $_->{name} } @{$container->{volumeMounts}};
        push @missing, grep { my $map = $_->{configMap}; $map && !$maps{$map->{name}} } values %volumes;
        push @missing, map { $_->{name} } grep { my $claim = $_->{persistentVolumeClaim};
            $claim && !$claims{$claim->{claimName}} } values %volumes;
        push @missing, map { $_->{name} } grep { my $secret = $_->{secret};
            $secret && !$secrets{$secret->{secretName}} } values %volumes;
        for my $reference (grep { $_ } map { $_->{valueFrom}{secretKeyRef} } @{$container->{env}}) {
            push @missing, $reference->{key} if !defined $secrets{$reference->{name}}{$reference->{key}};
        }
        is "@missing", '', "$file: what it refers to is there";
        my %ports = map { $_->{name} => $_->{containerPort} } @{$container->{ports} // []};
        for my $probe (grep { $_ } @$container{qw(startupProbe readinessProbe livenessProbe)}) {
            my $at = $ports{$probe->{httpGet}{port}} // 'nowhere';
            ok scalar(grep { /^0\.0\.0\.0:$at$/ } @{$container->{args}}), "$file: it serves what probes ask for at $at";
        }
        for my $command (commands($container)) {
            my @words = grep { /^[a-z]+$/ } @$command[0 .. ($command->[0] =~ /^(campaign|db)$/ ? 1 : 0)];
            my %known = options($command->[0] eq 'db' ? 'db' : @words);
            is join(' ', grep { /^--/ && !$known{$_} } @$command), '', "$file: skipjack @words takes its options";
            is scalar(keys %known) > 0 ? 1 : 0, 1, "$file: and is there";
        }
    }
    my $selector = $entry->{object}{spec}{selector} or next;
    is_deeply $selector->{matchLabels}, $template->{metadata}{labels}, "$file: it finds its own pods";
}

# ---- The night's description is valid for the program.

my $folder = tempdir('skipjack-nightly-XXXXXX', TMPDIR => 1, CLEANUP => 1);
open my $file, '>', "$folder/nightly.json" or die $!;
print $file $maps{'skipjack-nightly'}{'nightly.json'};
close $file;
$ENV{SKIPJACK_DB} = 'postgresql://nobody@127.0.0.1:1/none';
like qx('$program' run '$folder/nightly.json' 2>&1), qr/connect/, 'the night fails for its database alone';
done_testing;
