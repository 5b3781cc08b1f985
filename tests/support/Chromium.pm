# A headless Chromium for tests of web pages, driven by the DevTools protocol over two pipes (file descriptors 3 and 4 of
# the browser): JSON messages, each ended by a NUL byte. It takes no port.
# https://chromedevtools.github.io/devtools-protocol/
package Chromium;
use strict;
use warnings;
use IO::Handle;
use IO::Select;
use JSON::PP;
use MIME::Base64 qw(decode_base64);
use Patience qw($patience);
use POSIX qw(WNOHANG);
use Time::HiRes qw(sleep time);

my $json = JSON::PP->new->utf8->allow_nonref;

# The path of the browser, or undef where none is installed.
sub program {
    for my $name (qw(chromium chromium-browser google-chrome)) {
        for my $folder (split /:/, $ENV{PATH}) {
            return "$folder/$name" if -x "$folder/$name";
        }
    }
    return;
}

# Starts the browser with a profile in the folder, and opens a page. As root Chromium runs without its sandbox: it only
# loads pages of this machine.
sub start {
    my ($class, $folder) = @_;
    pipe my $commands_read, my $commands_write or die $!;
    pipe my $answers_read, my $answers_write or die $!;
    my $pid = fork // die $!;
    if (!$pid) {
        setpgrp;
        open STDOUT, '>', "$folder/chromium.log" or die $!;
        open STDERR, '>&', \*STDOUT or die $!;
        # First out of the way of 3 and 4, then there; dup2 leaves them open over exec.
        my ($in, $out) = map { POSIX::dup2(fileno $_->[0], $_->[1]) } [$commands_read, 60], [$answers_write, 61];
        POSIX::dup2($in, 3);
        POSIX::dup2($out, 4);
        POSIX::close($_) for 60, 61;
        $ENV{HOME} = $folder;
        no warnings 'exec';
        exec program(), '--headless=new', '--remote-debugging-pipe', "--user-data-dir=$folder/profile",
            ($> == 0 ? '--no-sandbox' : ()), qw(--disable-gpu --disable-dev-shm-usage --no-first-run --disable-extensions
            --disable-background-networking --disable-component-update --disable-sync --no-default-browser-check
            --renderer-process-limit=1 --js-flags=--max-old-space-size=256 --hide-scrollbars --lang=en-US
            --no-proxy-server --force-color-profile=srgb),
            '--disable-features=Translate,MediaRouter,OptimizationHints', 'about:blank';
        POSIX::_exit(127);
    }
    close $commands_read;
    close $answers_write;
    $commands_write->autoflush(1);
    binmode $_ for $commands_write, $answers_read;
    my $self = bless {pid => $pid, owner => $$, to => $commands_write, from => $answers_read, text => '', last => 0,
        answers => {}, problems => [], requests => [], downloads => []}, $class;
    my ($target) = grep { $_->{type} eq 'page' } @{$self->call_browser('Target.getTargets')->{targetInfos}};
    $target //= $self->call_browser('Target.createTarget', url => 'about:blank');
    $self->{session} = $self->call_browser('Target.attachToTarget', targetId => $target->{targetId}, flatten => \1)->{sessionId};
    $self->call("$_.enable") for qw(Page Runtime Log Network Audits Accessibility DOM);
    return $self;
}

# Ends the browser, at the latest after some seconds by a signal to its own process group.
sub stop {
    my ($self) = @_;
    my $pid = delete $self->{pid} or return;
    return if $self->{owner} != $$;
    local $SIG{PIPE} = 'IGNORE';
    syswrite $self->{to}, qq({"id":0,"method":"Browser.close"}\0);
    for (my $end = time + 5; time < $end; sleep 0.05) {
        return if waitpid($pid, WNOHANG) == $pid;
    }
    kill 'KILL', -$pid;
    waitpid $pid, 0;
}

sub DESTROY {
    my ($self) = @_;
    local ($?, $@, $!);
    $self->stop;
}

# ---- The protocol.

# Calls a method of the page; its result. Dies with the browser's words where it refuses.
sub call {
    my ($self, $method, %parameters) = @_;
    return $self->_send({method => $method, params => \%parameters, sessionId => $self->{session}});
}

sub call_browser {
    my ($self, $method, %parameters) = @_;
    return $self->_send({method => $method, params => \%parameters});
}

sub _send {
    my ($self, $message) = @_;
    my $id = $message->{id} = ++$self->{last};
    local $SIG{PIPE} = 'IGNORE';
    print {$self->{to}} $json->encode($message), "\0" or die "Chromium has gone: $!";
    for (my $end = time + $patience; time < $end;) {
        if (my $answer = delete $self->{answers}{$id}) {
            die "$message->{method}: $answer->{error}{message}" if $answer->{error};
            return $answer->{result};
        }
        $self->_read($end - time);
    }
    die "$message->{method}: no answer within $patience s";
}

sub _read {
    my ($self, $seconds) = @_;
    return if !IO::Select->new($self->{from})->can_read($seconds);
    sysread $self->{from}, $self->{text}, 1 << 20, length $self->{text} or die 'Chromium has ended';
    while ((my $end = index $self->{text}, "\0") >= 0) {
        my $text = substr $self->{text}, 0, $end;
        substr($self->{text}, 0, $end + 1) = '';
        # Images are long; JSON::PP reads long strings slowly.
        my $message = $text =~ /\A\{"id":(\d+),"result":\{"data":"([^"\\]*)"\}/
            ? {id => $1, result => {data => $2}} : $json->decode($text);
        if ($message->{id}) { $self->{answers}{$message->{id}} = $message }
        else { $self->_note($message->{method} // '', $message->{params} // {}) }
    }
}

# Keeps what tests ask for: errors of every kind, and the addresses that the page asked.
sub _note {
    my ($self, $method, $event) = @_;
    if ($method eq 'Runtime.exceptionThrown') {
        my $details = $event->{exceptionDetails};
        push @{$self->{problems}}, join ' ', 'exception:', $details->{exception}{description} // $details->{text};
    } elsif ($method eq 'Runtime.consoleAPICalled' && $event->{type} =~ /^(error|warning|assert)$/) {
        push @{$self->{problems}}, join ' ', "console $1:", map { $_->{value} // $_->{description} // '?' } @{$event->{args}};
    } elsif ($method eq 'Log.entryAdded' && $event->{entry}{level} =~ /^(error|warning)$/) {
        push @{$self->{problems}}, join ' ', "log $1:", $event->{entry}{text}, $event->{entry}{url} // '';
    } elsif ($method eq 'Audits.issueAdded' && $event->{issue}{code} eq 'ContentSecurityPolicyIssue') {
        push @{$self->{problems}}, 'CSP: ' . $json->encode($event->{issue}{details});
    } elsif ($method eq 'Network.requestWillBeSent') {
        push @{$self->{requests}}, $event->{request}{url};
    }
}

# Errors, warnings and violations of the content security policy since the last call.
sub problems { my ($self) = @_; $self->eval('0'); return splice @{$self->{problems}} }
# All addresses asked since the beginning.
sub requests { my ($self) = @_; return @{$self->{requests}} }

# ---- The page.

# The value of an expression of JavaScript; a promise is waited for.
sub eval {
    my ($self, $expression) = @_;
    my $answer = $self->call('Runtime.evaluate', expression => $expression, returnByValue => \1, awaitPromise => \1);
    die "$expression: " . ($answer->{exceptionDetails}{exception}{description} // $answer->{exceptionDetails}{text})
        if $answer->{exceptionDetails};
    return $answer->{result}{value};
}

sub quote { my ($text) = @_; return JSON::PP->new->ascii->allow_nonref->encode("$text") }

# Loads an address; returns when the document has been read.
sub goto {
    my ($self, $url) = @_;
    my $answer = $self->call('Page.navigate', url => $url);
    return $answer->{errorText} if $answer->{errorText};
    $self->until('document.readyState === "complete"');
    return;
}

# Polls until the expression is true; its value, or undef when the time is over.
sub until {
    my ($self, $expression) = @_;
    for (my $end = time + $patience; time < $end; sleep 0.03) {
        my $value = eval { $self->eval($expression) };
        return $value if $value;
    }
    return;
}

# The text that a reader sees in the element, '' where there is none.
sub text {
    my ($self, $selector) = @_;
    return $self->eval('(document.querySelector(' . quote($selector) . ') || {innerText: ""}).innerText');
}

# Clicks at the middle of the element, as a mouse does.
sub click {
    my ($self, $selector) = @_;
    my $at = $self->eval('(() => { const e = document.querySelector(' . quote($selector) . '); if (!e) return null;'
        . 'e.scrollIntoView({block: "center", behavior: "instant"}); const r = e.getBoundingClientRect();'
        . 'return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()') or die "click: there is no $selector";
    $self->call('Input.dispatchMouseEvent', type => $_, x => $at->{x} + 0, y => $at->{y} + 0, button => 'left', clickCount => 1)
        for qw(mousePressed mouseReleased);
}

my %keys = (Tab => 9, Enter => 13, Escape => 27, ' ' => 32, ArrowLeft => 37, ArrowUp => 38, ArrowRight => 39, ArrowDown => 40,
    Home => 36, End => 35);

# Presses a key; with a true second argument Shift is held.
sub press {
    my ($self, $key, $shift) = @_;
    my %event = (key => $key, code => $key eq ' ' ? 'Space' : $key, windowsVirtualKeyCode => $keys{$key}, modifiers => $shift ? 8 : 0);
    $event{text} = "\r" if $key eq 'Enter';
    $event{text} = ' ' if $key eq ' ';
    $self->call('Input.dispatchKeyEvent', type => $event{text} ? 'keyDown' : 'rawKeyDown', %event);
    delete $event{text};
    $self->call('Input.dispatchKeyEvent', type => 'keyUp', %event);
}

# Types into the focused element.
sub type { my ($self, $text) = @_; $self->call('Input.insertText', text => $text) }

# The window's width and height in pixels, and what the user prefers: 'light' or 'dark', reduced motion.
sub window {
    my ($self, $width, $height, $scheme, $reduced) = @_;
    $self->call('Emulation.setDeviceMetricsOverride', width => $width + 0, height => $height + 0, deviceScaleFactor => 1,
        mobile => $width < 600 ? \1 : \0);
    $self->call('Emulation.setEmulatedMedia', features => [{name => 'prefers-color-scheme', value => $scheme // 'light'},
        {name => 'prefers-reduced-motion', value => $reduced ? 'reduce' : 'no-preference'}]);
}

# Writes what the window shows as a PNG file.
sub screenshot {
    my ($self, $path) = @_;
    open my $file, '>:raw', $path or die "$path: $!";
    print $file decode_base64($self->call('Page.captureScreenshot', format => 'png', optimizeForSpeed => \0)->{data});
    close $file or die "$path: $!";
}

# What a screen reader is given: a list of {role, name, ...}, without ignored nodes.
sub accessible {
    my ($self) = @_;
    return map { {role => $_->{role}{value} // '', name => $_->{name}{value} // '', node => $_->{backendDOMNodeId}} }
        grep { !$_->{ignored} } @{$self->call('Accessibility.getFullAXTree')->{nodes}};
}

1;
