import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { MessageSchema, type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { TurnAborter } from "../../src/agent/abort.js";
import { type Turn, turnWith } from "../../src/agent/agent.js";
import { makeTurn } from "../../src/agent/turn.js";
import type { TurnRequest } from "../../src/agent/turn-request.js";
import { anonymous } from "../../src/core/call.js";

const part = (value: string) => ({ content: { case: "text", value } as const });

/** A turn with the objects that it was made from. */
function made(): { turn: Turn; request: TurnRequest; task: Task; referenced: Task } {
  const message = create(MessageSchema, { messageId: "m2", taskId: "t", contextId: "c", parts: [part("hello")] });
  const earlier = create(MessageSchema, { messageId: "m1", parts: [part("earlier")] });
  const task = create(TaskSchema, { id: "t", history: [earlier, message], artifacts: [{ parts: [part("made")] }] });
  const referenced = create(TaskSchema, { id: "other", history: [earlier] });
  const request: TurnRequest = {
    taskId: "t",
    message,
    position: 2,
    attempt: 1,
    caller: { owner: "me", authenticated: true, scopes: ["read"], claims: {} },
    tenant: "",
    extensions: new Set(["urn:a"]),
    acceptedOutputModes: ["text/plain"],
    metadata: { plan: { name: "gold" } },
    traceParent: "",
    traceState: "",
  };
  const source = {
    referencedTasks: async () => [referenced],
    relayed: async () => [],
    sending: async () => {},
    contextBefore: async () => undefined,
    isOutage: () => false,
    messageAt: async () => message,
    late: () => {},
    question: async () => undefined,
    conversation: () => {
      throw new Error("This turn has no conversation.");
    },
  };
  return { turn: makeTurn(request, { task, aborter: new TurnAborter(), source }), request, task, referenced };
}

/** Changes every object that an agent can reach. */
async function vandalise(turn: Turn): Promise<void> {
  const wreck = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const inner of Object.values(value)) wreck(inner);
    if (value instanceof Set) value.add("wrecked");
    else if (Array.isArray(value)) value.push("wrecked");
    else if (!Object.isFrozen(value)) Object.assign(value, { value: "wrecked", owner: "wrecked", name: "wrecked" });
  };
  const { message, task, history, caller, extensions, acceptedOutputModes, metadata } = turn;
  for (const each of [message, task, history, caller, extensions, acceptedOutputModes, metadata]) wreck(each);
  wreck(await turn.referencedTasks());
}

describe("a turn", () => {
  it("shares nothing that an agent could change", async () => {
    const { turn, request, task, referenced } = made();
    const before = structuredClone({ ...request, task, referenced });
    await vandalise(turn);
    expect(structuredClone({ ...request, task, referenced })).toEqual(before);
  });

  it("cannot change the anonymous caller of other turns", () => {
    expect(() => Object.assign(anonymous, { owner: "mallory" })).toThrow(TypeError);
    expect(() => (anonymous.scopes as string[]).push("all")).toThrow(TypeError);
  });

  it("gives the same copy each time", () => {
    const { turn } = made();
    for (const name of ["message", "task", "metadata", "caller", "extensions", "data"] as const) {
      expect(turn[name]).toBe(turn[name]);
    }
    expect(turn.history.map(({ messageId }) => messageId)).toEqual(["m1"]);
  });

  it("works behind a proxy, below another object and taken apart", async () => {
    const { turn } = made();
    const { referencedTasks } = turn;
    expect((await referencedTasks()).map(({ id }) => id)).toEqual(["other"]);
    for (const view of [new Proxy(turn, {}), Object.create(turn) as Turn]) {
      expect([view.message.messageId, view.task?.id, view.signal.aborted]).toEqual(["m2", "t", false]);
    }
  });

  it("can be handed on with other values", () => {
    const { turn } = made();
    const other = turnWith(turn, { text: "in other words" });
    expect([other.text, other.message.messageId, other.caller.owner]).toEqual(["in other words", "m2", "me"]);
    expect(other.signal).toBe(turn.signal);
    expect(turn.text).toBe("hello");
  });
});
