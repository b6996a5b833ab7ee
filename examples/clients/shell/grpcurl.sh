#!/usr/bin/env bash
# Calls an agent over gRPC with grpcurl, which asks the server for the contract: ./grpcurl.sh localhost:50051
# Needs grpcurl, and jq for what it shows. With TOKEN in the environment it shows that token with each call.
set -euo pipefail

address=$1
flags=(-plaintext -emit-defaults=false -max-time 30)
[[ -n "${TOKEN:-}" ]] && flags+=(-H "authorization: Bearer $TOKEN")

# call METHOD REQUEST [FLAGS]
call() {
  local method=$1 request=$2
  shift 2
  grpcurl "${flags[@]}" "$@" -d "$request" "$address" "lf.a2a.v1.A2AService/$method"
}

# A message of the user, with what is said of it behind the text.
say() {
  jq -n --arg id "$RANDOM$RANDOM$RANDOM" --arg text "$1" --argjson more "${2:-null}" \
    '{message: {messageId: $id, role: "ROLE_USER", parts: [{text: $text}]}} + ($more // {})'
}

# The text of the artifacts that a stream brings.
text() {
  jq -j '.artifactUpdate.artifact.parts[]?.text // empty'
}

explained() {
  jq -r '[.details[] | .reason // ([.fieldViolations[]?.field] | sort | .[])] | join(" ")'
}

task=$(call SendMessage "$(say 'echo hello')" | jq .task)
echo "send: $(jq -r '.status.state + " " + .artifacts[0].parts[0].text' <<<"$task")"
echo "stream: $(call SendStreamingMessage "$(say 'stream 3 4')" | text)"
echo "get: $(call GetTask "$(jq '{id}' <<<"$task")" | jq -r .status.state)"
echo "list: $(call ListTasks "$(jq '{contextId}' <<<"$task")" | jq .totalSize)"

# Reads a stream up to its first piece, and goes on where it was.
resume=urn:parley:ext:resume:v1
first=$(call SendStreamingMessage "$(say 'stream 4 4 100')" -H "a2a-extensions: $resume" \
  | jq -c --unbuffered 'select(.artifactUpdate)' | head -n 1 || true)
seen=$(jq --arg uri "$resume" '.artifactUpdate.metadata[$uri].generation' <<<"$first")
rest=$(call SubscribeToTask "$(jq '{id: .artifactUpdate.taskId}' <<<"$first")" \
  -H "a2a-extensions: $resume" -H "parley-after-generation: $seen" | text)
echo "resume: $(text <<<"$first")$rest"

# Cancels a task that somebody subscribes to.
id=$(call SendMessage "$(say 'wait 20000' '{"configuration":{"returnImmediately":true}}')" | jq .task.id)
exec 3< <(call SubscribeToTask "{\"id\":$id}")
read -r _ <&3
call CancelTask "{\"id\":$id}" >/dev/null
echo "cancel: $({ echo '{'; cat <&3; } | jq -r '.statusUpdate.status.state // empty' | tail -n 1)"

echo "error: $(call GetTask '{"id":"nobody"}' -format-error 2>&1 | explained)"
echo "invalid: $(call SendMessage '{"message":{}}' -format-error 2>&1 | explained)"
echo "late: $(call SendMessage "$(say 'wait 20000')" -max-time 0.3 2>&1 | sed -n 's/^ *Code: *//p')"
