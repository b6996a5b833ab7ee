import { type Message, Role } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Turn } from "../agent/agent.js";
import type { AgentEvent } from "../agent/event.js";
import { textOf } from "../task/plain.js";

/**
 * Output that earlier attempts and turns have stored. The agent runs from the start each time, without
 * yielding output that clients have already seen.
 */
export class StoredOutput {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #messages: readonly Message[];
  /** Texts of the agent's statuses. */
  #statuses: string[] = [];

  constructor({ task }: Turn) {
    this.#messages = [...(task?.history ?? []), ...(task?.status?.message === undefined ? [] : [task.status.message])];
    this.#texts = new Map(task?.artifacts.map((artifact) => [artifact.artifactId, textOf(artifact)]));
  }

  /** Takes the statuses after a message: those before it are of ended tasks that this one continues (A2A 0.1). */
  beginAt(messageId: string): void {
    const begin = this.#messages.findIndex((message) => message.messageId === messageId);
    const own = this.#messages.slice(Math.max(0, begin));
    this.#statuses = own.filter(({ role }) => role === Role.AGENT).map(textOf);
  }

  /** Returns the text of an artifact, or an empty one. */
  textOf(artifactId: string): string {
    return this.#texts.get(artifactId) ?? "";
  }

  /** Tells whether a status is stored. Each stored one counts once. Events relayed from other agents never count. */
  takes(event: AgentEvent): boolean {
    if (event.kind !== "status" || typeof event.content !== "string") return false;
    if (Object.getOwnPropertySymbols(event).length > 0) return false;
    const at = this.#statuses.indexOf(event.content);
    if (at >= 0) this.#statuses.splice(at, 1);
    return at >= 0;
  }
}
