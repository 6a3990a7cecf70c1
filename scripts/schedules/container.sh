#!/bin/sh
# Reindex all projects of a container once a day, as its main process: no cron in the image is needed.
#   docker run -v /srv/projects:/projects -e INDEXER_PROJECTS_DIR=/projects IMAGE scripts/schedules/container.sh
# HOURS between two runs (24); SPREAD: up to so many seconds are waited before each (1800).
set -u
hours=${HOURS:-24}
spread=${SPREAD:-1800}
trap 'kill "$!" 2>/dev/null; exit 143' TERM INT
while :; do
    if [ "$spread" -gt 0 ]; then
        sleep "$(awk -v s="$spread" 'BEGIN { srand(); print int(rand() * s) }')" &
        wait $!
    fi
    indexer reindex --all --log-json &
    wait $!
    echo "{\"message\": \"reindex ended with code $?\"}" >&2
    [ "$hours" = 0 ] && exit 0
    sleep $((hours * 3600)) &
    wait $!
done
