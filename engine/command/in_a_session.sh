# shellcheck shell=sh
# Runs one command with the account's login shell in a session of its own, and ends that session when the
# connection that wants it is gone. $1: the command, awkward letters written as \0ooo.
command=$(printf '%b.' "$1")
command=${command%.}
set -- "${SHELL:-/bin/sh}" -c "$command"
if command -v setsid >/dev/null 2>&1; then set -- setsid "$@"; fi

exec 3<&0
"$@" <&3 3<&- &
child=$!
exec 3<&- </dev/null

end() {
    kill -s TERM -- "-$child" 2>/dev/null || kill -s TERM "$child" 2>/dev/null
    seconds=0
    while kill -s 0 -- "-$child" 2>/dev/null && [ "$seconds" -lt 5 ]; do
        sleep 1
        seconds=$((seconds + 1))
    done
    kill -s KILL -- "-$child" 2>/dev/null || kill -s KILL "$child" 2>/dev/null
}

# The server's process for this connection is our parent. Where neither way of looking works, nobody watches.
if kill -s 0 "$PPID" 2>/dev/null; then
    connected() { kill -s 0 "$PPID" 2>/dev/null; }
elif [ -d "/proc/$PPID" ]; then
    connected() { [ -d "/proc/$PPID" ]; }
else
    connected() { true; }
fi
(
    exec >/dev/null 2>&1
    while kill -s 0 "$child"; do
        if ! connected; then
            end
            exit
        fi
        sleep 1
    done
) &
watcher=$!

wait "$child"
code=$?
kill "$watcher" 2>/dev/null
exit "$code"
