import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

const EXTENSION = "urn:parley:ext:delegation:v1";

/** Most agents that an event may have passed. */
const MAX_ORIGINS = 16;

/** Source of a relayed message or artifact (docs/extensions/delegation.md). */
export interface Origin {
  readonly agent: string;
  readonly taskId: string | undefined;
  /** Source from which that agent relayed it. */
  readonly origin: Origin | undefined;
}

/** Reads the origin in the metadata of a message or artifact. They are claims of an agent. */
export function originIn(metadata: JsonObject | undefined): Origin | undefined {
  return read(metadata?.[EXTENSION], 0);
}

function read(value: JsonValue | undefined, depth: number): Origin | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value) || depth > MAX_ORIGINS) return undefined;
  const { agent, taskId, origin } = value;
  if (typeof agent !== "string") return undefined;
  return {
    agent: agent.slice(0, 200),
    taskId: typeof taskId === "string" ? taskId.slice(0, 200) : undefined,
    origin: read(origin, depth + 1),
  };
}
