#!/usr/bin/env bash
# Calls an agent over HTTP+JSON with curl: ./curl.sh http://localhost:8080
# Needs curl, and jq for what it shows. With TOKEN in the environment it shows that token with each call.
set -euo pipefail

agent=${1%/}
flags=(-sS --max-time 30 -H 'content-type: application/json')
[[ -n "${TOKEN:-}" ]] && flags+=(-H "authorization: Bearer $TOKEN")

# A message of the user, with what is said of it behind the text.
say() {
  jq -n --arg id "$(uuidgen 2>/dev/null || echo "$RANDOM$RANDOM$RANDOM")" --arg text "$1" --argjson more "${2:-null}" \
    '{message: {messageId: $id, role: "ROLE_USER", parts: [{text: $text}]}} + ($more // {})'
}

# POSTs what is on standard input.
post() {
  local path=$1
  shift
  curl "${flags[@]}" "$@" -d @- "$agent$path"
}

get() {
  curl "${flags[@]}" "$agent$1"
}

# The text of the artifacts that a stream brings.
text() {
  sed -n 's/^data: //p' | jq -j '.artifactUpdate.artifact.parts[]?.text // empty'
}

explained() {
  jq -r '.error | [.status] + [.details[] | .reason // ([.fieldViolations[]?.field] | sort | .[])] | join(" ")'
}

task=$(say 'echo hello' | post /message:send | jq .task)
echo "send: $(jq -r '.status.state + " " + .artifacts[0].parts[0].text' <<<"$task")"
echo "stream: $(say 'stream 3 4' | post /message:stream -N | text)"
echo "get: $(get "/tasks/$(jq -r .id <<<"$task")" | jq -r .status.state)"
echo "list: $(get "/tasks?contextId=$(jq -r .contextId <<<"$task")" | jq .totalSize)"

# Reads a stream up to its first piece, and goes on where it was: the id of an event says where that is.
first=$(say 'stream 4 4 100' | post /message:stream -N | grep -m1 -B1 '^data: {"artifactUpdate"' || true)
seen=$(sed -n 's/^id: //p' <<<"$first")
id=$(sed -n 's/^data: //p' <<<"$first" | jq -r .artifactUpdate.taskId)
rest=$(curl "${flags[@]}" -N -H "Last-Event-ID: $seen" "$agent/tasks/$id:subscribe" | text)
echo "resume: $(text <<<"$first")$rest"

# Cancels a task that somebody subscribes to.
id=$(say 'wait 20000' '{"configuration":{"returnImmediately":true}}' | post /message:send | jq -r .task.id)
exec 3< <(curl "${flags[@]}" -N "$agent/tasks/$id:subscribe")
read -r _ <&3
post "/tasks/$id:cancel" >/dev/null <<<'{}'
echo "cancel: $(sed -n 's/^data: //p' <&3 | jq -r '.statusUpdate.status.state // empty' | tail -n 1)"

echo "error: $(get /tasks/nobody | explained)"
echo "invalid: $(post /message:send <<<'{"message":{}}' | explained)"
echo "late: $(say 'wait 20000' | post /message:send --max-time 0.3 2>/dev/null || echo "curl ended with $?")"
