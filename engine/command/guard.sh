# shellcheck shell=sh
# Ends process groups when whoever started them is gone: it holds our standard input open while it lives.
# Lines read: "+GROUP" has started, "-GROUP" has ended.
groups=" "
while read -r line; do
    group=${line#?}
    case $line in
    +*) groups="$groups$group " ;;
    -*) case $groups in *" $group "*) groups="${groups%% "$group" *} ${groups#* "$group" }" ;; esac ;;
    esac
done

lives() {
    for group in $groups; do
        if kill -s 0 -- "-$group" 2>/dev/null; then return 0; fi
    done
    return 1
}

send() {
    for group in $groups; do kill -s "$1" -- "-$group" 2>/dev/null; done
}

send TERM
seconds=0
while lives && [ "$seconds" -lt 5 ]; do
    sleep 1
    seconds=$((seconds + 1))
done
send KILL
