import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type StreamResponse,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import type { TurnRequest } from "../../src/agent/turn-request.js";
import type { AgentRegistration } from "../../src/card/agents.js";
import { buildCard } from "../../src/card/build.js";
import { neverCanceled } from "../../src/core/async.js";
import { anonymous } from "../../src/core/call.js";
import { defaultLimits, type Limits } from "../../src/core/limits.js";
import { createEngine, type Engine, type EngineOptions, type SendCommand } from "../../src/engine/engine.js";
import type { TaskHandle } from "../../src/engine/read/task-handle.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { ClientTaskNames } from "../../src/version/v0.1/task-names.js";
import { openStore } from "./stores.js";

export const scope = { tenant: "", owner: "" };

/** The turn of the message that creates the task `t`. */
export const firstTurn: TurnRequest = {
  taskId: "t",
  message: create(MessageSchema, { messageId: "m", taskId: "t", contextId: "c" }),
  position: 1,
  attempt: 1,
  caller: anonymous,
  tenant: "",
  extensions: new Set<string>(),
  acceptedOutputModes: [],
  metadata: {},
  traceParent: "",
  traceState: "",
};

/** An agent as it is registered with the engine. */
export function serve(agent: Omit<Agent, "card">): AgentRegistration {
  const card = { name: "Test", description: "An agent under test.", version: "1.0.0", skills: [] };
  const wired = { pushNotifications: false, extendedAgentCard: false, extensions: [] };
  return { tenant: "", agent: { card, ...agent }, card: buildCard(card, wired) };
}

/** An engine over a store, with the calls of a client. */
export class Bench {
  readonly store: TaskStore;
  readonly engine: Engine;
  readonly served: AgentRegistration;
  readonly logged: { facts: object; message: string }[] = [];
  #messages = 0;

  constructor(
    agent: Omit<Agent, "card">,
    { maxReopens = 0, ...options }: Partial<EngineOptions> & { limits?: Limits; maxReopens?: number } = {},
    store: TaskStore = openStore(),
  ) {
    this.store = store;
    this.served = serve(agent);
    const keep = (facts: object, message: string): void => void this.logged.push({ facts, message });
    const logger = { debug: keep, info: keep, warn: keep, error: keep };
    const names = new ClientTaskNames(maxReopens, options.retentionMs === undefined);
    this.engine = createEngine({ store, agentOf: () => this.served, logger, names, ...options });
  }

  order(
    text: string,
    more: Partial<SendCommand> & { message?: MessageInitShape<typeof MessageSchema> } = {},
  ): SendCommand {
    const { message, ...order } = more;
    return {
      served: this.served,
      request: this.request(text, message),
      caller: anonymous,
      ...scope,
      extensions: new Set(),
      traceParent: "",
      client: new AbortController(),
      ...order,
    };
  }

  request(text: string, message: MessageInitShape<typeof MessageSchema> = {}): SendMessageRequest {
    return create(SendMessageRequestSchema, {
      message: {
        messageId: `m${++this.#messages}`,
        role: Role.USER,
        parts: [{ content: { case: "text", value: text } }],
        ...message,
      },
    });
  }

  /** Sends a message. Returns a handle of its task, which the test has to release. */
  async send(text: string, more: Parameters<Bench["order"]>[1] = {}): Promise<TaskHandle> {
    const sent = await this.engine.send(this.order(text, { capture: {}, ...more }));
    if (sent.kind === "message") throw new Error("a task was expected");
    return sent.task;
  }

  async reply(text: string): Promise<Message> {
    const sent = await this.engine.send(this.order(text));
    if (sent.kind !== "message") throw new Error("a message was expected");
    return sent.message;
  }
}

/** All events of a stream, from the acceptance of the message on. */
export async function story(held: TaskHandle): Promise<string[]> {
  const told: string[] = [];
  if (held.accepted === undefined) throw new Error("nothing was captured");
  for await (const response of held.events(held.accepted, neverCanceled)) told.push(tell(response));
  return told;
}

/** An event in short form. */
export function tell({ payload }: StreamResponse): string {
  if (payload.case === "statusUpdate") {
    const said = payload.value.status?.message?.parts[0]?.content.value;
    const state = TaskState[payload.value.status?.state ?? 0] ?? "?";
    return said === undefined ? state : `${state} ${String(said)}`;
  }
  if (payload.case === "artifactUpdate") {
    const texts = payload.value.artifact?.parts.map((part) => String(part.content.value)).join("+");
    return `${payload.value.append ? "append" : "artifact"} ${texts}${payload.value.lastChunk ? " last" : ""}`;
  }
  return payload.case ?? "nothing";
}

/** Waits until the task has ended or waits for its client. Returns its state. */
export async function settle(held: TaskHandle): Promise<string> {
  await held.whenIdle(neverCanceled, 10_000);
  return TaskState[held.now().task.status?.state ?? 0] ?? "?";
}

/** A promise that the test resolves. */
export function gate(): { readonly opened: Promise<void>; open: () => void } {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

export const quick: Limits = { ...defaultLimits, cancelGraceMs: 50 };
