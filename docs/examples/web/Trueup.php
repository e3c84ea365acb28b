<?php

declare(strict_types=1);

/** The host cannot be asked, or its answer not read. Nothing is lost: its next sweep reads the commit too. */
final class TrueupException extends RuntimeException
{
}

/**
 * Asks the host for a run, and tells when what was committed before is live. To use it copy this one file; it needs PHP 8.1 or
 * newer and nothing else. docs/web-adapter.md says when to call what, and why in this order.
 */
final class Trueup
{
    private const NAME = '/^[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}$/D';
    private const TICKET = '/^([A-Z2-7]{10}):([0-9]{1,15})$/D';

    private readonly string $spool; // the folder that the host watches
    private readonly string $outbox; // the one in which it answers

    public function __construct(?string $spool = null, ?string $outbox = null)
    {
        $this->spool = $spool ?? (getenv('TRUEUP_SPOOL') ?: '/spool');
        $this->outbox = $outbox ?? (getenv('TRUEUP_OUTBOX') ?: '/outbox');
    }

    /** Asks for a run, for everything or for the named targets alone, and returns the ticket. Call it after the commit. */
    public function request(string ...$targets): string
    {
        foreach ($targets as $name) {
            if (!preg_match(self::NAME, $name)) {
                $rule = 'a name has 1 to 200 letters, digits or any of . _ : @ - and begins with a letter or digit';
                throw new InvalidArgumentException("target '$name': $rule");
            }
        }
        // Before the touch: a number read after it can be that of the very run it asked for, and only a later one would cover it.
        $status = $this->read();
        $requests = "$this->spool/requests";
        clearstatcache(); // PHP remembers what stood there
        if ($targets && (is_link($requests) || !is_dir($requests))) {
            throw new TrueupException("touching in the spool, which is to be mounted writable: $requests is no folder");
        }
        foreach ($targets ?: [null] as $name) {
            self::touch($name === null ? "$this->spool/sentinel" : "$requests/$name");
        }
        return "{$status['epoch']}:{$status['claims']}";
    }

    /**
     * Makes the file, and follows no link. One that is there asks as well, whoever made it; the host may take it between the two
     * looks, hence two tries.
     */
    private static function touch(string $path): void
    {
        for ($try = 1; $try <= 2; $try++) {
            clearstatcache();
            if (($file = @fopen($path, 'x')) !== false) {
                fclose($file);
                return;
            }
            $why = error_get_last()['message'] ?? 'refused';
            if (is_link($path) || file_exists($path)) {
                return;
            }
        }
        throw new TrueupException("touching in the spool, which is to be mounted writable: $why");
    }

    /** Tells whether everything that was committed before the request is live: everywhere, or at least in the named targets. */
    public function covered(string $ticket, string ...$targets): bool
    {
        return $this->state($ticket, ...$targets) === 'live';
    }

    /**
     * The word to show the user: asked, waiting (for the time between two runs to be over), running, failing (it is tried again)
     * or live.
     */
    public function state(string $ticket, string ...$targets): string
    {
        // Any other epoch would count as an older one, which every success covers.
        if (!preg_match(self::TICKET, $ticket, $parts)) {
            throw new InvalidArgumentException("ticket '$ticket': want EPOCH:N, as request returns it");
        }
        $status = $this->read();
        // Under another epoch the host's numbers began anew: any success since covers what was asked before.
        $least = $parts[1] === $status['epoch'] ? (int) $parts[2] : 0;
        // A target that is not shown has settled nothing.
        $own = array_map(fn ($name) => $status['targets'][$name]['settled'] ?? 0, $targets);
        $own = array_map(fn ($settled) => is_int($settled) ? $settled : 0, $own);
        if ($status['settled'] > $least || $own && min($own) > $least) {
            return 'live';
        }
        return $status['state'] === 'idle' ? 'asked' : $status['state'];
    }

    /** What the host shows. The file is replaced, never written to, so that it is always whole. */
    private function read(): array
    {
        $path = "$this->outbox/status.json";
        if (($text = @file_get_contents($path)) === false) {
            $why = error_get_last()['message'] ?? $path;
            throw new TrueupException("reading the outbox, which is to be mounted from the host: $why");
        }
        $status = json_decode($text, true);
        if (is_int($status['version'] ?? null) && $status['version'] > 1) {
            $hint = "1 is known here; take the adapter of the host's trueup";
            throw new TrueupException("reading $path: it is of version {$status['version']}, and $hint");
        }
        [$epoch, $state] = [$status['epoch'] ?? null, $status['state'] ?? null];
        $words = is_string($epoch) && is_string($state);
        if (($status['version'] ?? 0) !== 1 || !$words || !is_int($status['claims'] ?? null) || !is_int($status['settled'] ?? null)) {
            throw new TrueupException("reading $path: it is no JSON, or version, epoch, claims, settled or state is missing");
        }
        return $status;
    }
}
