import { clone, create } from "@bufbuild/protobuf";
import { type Artifact, ArtifactSchema, type Message, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";

/** The simplest fold, without optimizations: every step copies the whole task. */
export function reference(entries: readonly LogEntry[]): Task {
  return entries.reduce((task, entry) => step(clone(TaskSchema, task), entry), create(TaskSchema));
}

function step(task: Task, { event }: LogEntry): Task {
  const said = task.status?.message;
  const archived: Message[] =
    said === undefined || task.history.some((m) => m.messageId === said.messageId)
      ? task.history
      : [...task.history, said];
  switch (event.case) {
    case "created":
      return create(TaskSchema, { ...event.value, history: [...event.value.history] });
    case "message":
      return { ...task, history: [...archived, event.value] };
    case "status": {
      const metadata = { ...task.metadata, ...event.value.metadata };
      return {
        ...task,
        history: archived,
        ...(event.value.status && { status: event.value.status }),
        ...(Object.keys(metadata).length > 0 && { metadata }),
      };
    }
    default: {
      const piece = event.case === "artifact" ? event.value.artifact : undefined;
      if (piece === undefined || event.case !== "artifact") return task;
      const known = task.artifacts.find((a) => a.artifactId === piece.artifactId);
      if (known === undefined) return { ...task, artifacts: [...task.artifacts, piece] };
      const next = event.value.append ? joined(known, piece) : piece;
      return { ...task, artifacts: task.artifacts.map((a) => (a === known ? next : a)) };
    }
  }
}

function joined(known: Artifact, piece: Artifact): Artifact {
  return create(ArtifactSchema, {
    artifactId: known.artifactId,
    name: piece.name || known.name,
    description: piece.description || known.description,
    parts: [...known.parts, ...piece.parts],
    extensions: [...new Set([...known.extensions, ...piece.extensions])],
    ...(known.metadata || piece.metadata ? { metadata: { ...known.metadata, ...piece.metadata } } : {}),
  });
}
