<?php

// Speaks the tests' protocol for the adapter: VERB SPOOL OUTBOX ARGS on a line in, "ok VALUE" or "error MESSAGE" on a line out. "-" as the
// spool leaves the folders to the environment.
declare(strict_types=1);

require __DIR__ . '/../Trueup.php';

while (($line = fgets(STDIN)) !== false) {
    [$verb, $spool, $outbox, $args] = [...explode("\t", rtrim($line, "\n"), 4), ''];
    $args = $args === '' ? [] : explode("\t", $args);
    try {
        $answer = ($spool === '-' ? new Trueup() : new Trueup($spool, $outbox))->$verb(...$args);
        echo 'ok ', is_bool($answer) ? ($answer ? 'true' : 'false') : $answer, "\n";
    } catch (TrueupException | InvalidArgumentException $e) {
        echo 'error ', str_replace("\n", ' ', $e->getMessage()), "\n";
    }
}
