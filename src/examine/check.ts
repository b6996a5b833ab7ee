import { create } from "@bufbuild/protobuf";
import {
  type AgentCard,
  type Message,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type Task,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient } from "../client/client.js";
import type { Binding } from "../client/discovery/interfaces.js";
import { clientError } from "../client/errors/errors.js";
import type { A2AError, Reason } from "../core/error.js";
import { newId } from "../core/ids.js";
import type { Change, Wire, WireExchange } from "./wire.js";

/** State that the checks of one interface share. */
export interface Probe {
  readonly client: A2AClient;
  readonly card: AgentCard;
  readonly binding: Binding;
  /** Text of the messages that are sent. */
  readonly text: string;
  readonly signal: AbortSignal;
  readonly wire: Wire;
  /** The task that the first message began; undefined if the agent answered with a message. */
  task?: Task;
}

/** Something that a client can check by calls. */
export interface Check {
  readonly name: string;
  /** Section of the specification of A2A. */
  readonly section: string;
  readonly requirement: string;
  /** Remedy for the agent's provider if the requirement is not met. */
  readonly mend: string;
  /** True if the specification recommends it, without requiring it. */
  readonly isAdvice?: boolean;
  /** True if older versions of the protocol do not have it. */
  readonly isNew?: boolean;
  /** True if it is about ids of tasks that the agent chooses. */
  readonly isOfAgentsIds?: boolean;
  /** The only bindings that have it. */
  readonly bindings?: readonly Binding[];
  /** Returns a fault, a reason to skip the check, or undefined if the requirement is met. */
  readonly run: (probe: Probe) => Promise<Finding>;
}

/** Result of a check: a fault, a reason to skip it, or undefined if the requirement is met. */
export type Finding = { readonly fault: string } | { readonly skipped: string } | undefined;

export const unknownId = (): string => `unknown-${newId()}`;

/** Characters of the agent's own text in a finding. */
const MAX_QUOTED = 200;

/** Returns a text of the agent for a finding. */
export function excerpt(text: string): string {
  return text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED)}…`;
}

export async function expectError(call: Promise<unknown>, ...reasons: readonly Reason[]): Promise<Finding> {
  const wanted = reasons.join(" or ");
  const error = await callError(call);
  if (error === undefined) return { fault: `the call succeeded, expected ${wanted}` };
  if (reasons.includes(error.reason)) return undefined;
  return { fault: `expected ${wanted}, got ${error.reason}: ${excerpt(error.message)}` };
}

/** Errors that say nothing about a requirement. */
const unanswered: ReadonlySet<Reason> = new Set<Reason>([
  "UNAVAILABLE",
  "DEADLINE_EXCEEDED",
  "UNAUTHENTICATED",
  "PERMISSION_DENIED",
]);

/** Returns the error of a call. @throws A2AError if the call got no answer, or was not allowed */
export async function callError(call: Promise<unknown>): Promise<A2AError | undefined> {
  try {
    await call;
    return undefined;
  } catch (thrown) {
    const error = clientError(thrown);
    if (unanswered.has(error.reason)) throw error;
    return error;
  }
}

/** Returns the exchange of a call for an unknown task, changed on its way. */
export function unknownTask({ client, wire, signal }: Probe, change?: Change): Promise<WireExchange> {
  return wire.exchange(() => client.getTask({ id: unknownId() }, { signal }), change);
}

/** Returns the first item of a stream, and leaves it. */
export async function firstOf<T>(stream: AsyncIterable<T>): Promise<T | undefined> {
  for await (const item of stream) return item;
  return undefined;
}

/** Members of a message that a check changes. */
type Changes = Partial<Pick<Message, "taskId" | "contextId" | "parts">>;

/** Returns a message that the agent answers without waiting for the task. */
export function request({ text }: Probe, changes: Changes = {}): SendMessageRequest {
  const message = {
    messageId: newId(),
    role: Role.USER,
    parts: [{ content: { case: "text" as const, value: text } }],
    ...changes,
  };
  return create(SendMessageRequestSchema, { message, configuration: { returnImmediately: true } });
}

/** Sends such a message, and returns the agent's answer. */
export function sent(probe: Probe, changes: Changes): Promise<unknown> {
  return probe.client.sendMessage(request(probe, changes), { signal: probe.signal });
}

/** Returns a check of the task that the first message began, which is skipped without one. */
export function ofBegunTask(run: (task: Task, probe: Probe) => Promise<Finding>): Check["run"] {
  return async (probe) =>
    probe.task === undefined ? { skipped: "the agent answers with messages, without tasks" } : run(probe.task, probe);
}

/** Errors by which an agent shows that it is there. */
const alive: ReadonlySet<Reason> = new Set<Reason>(["TASK_NOT_FOUND", "UNAUTHENTICATED", "PERMISSION_DENIED"]);

/** Asks for a task that does not exist. Returns why the answer does not show that the interface works. */
export async function faultOfPing(client: A2AClient, signal: AbortSignal): Promise<string | undefined> {
  try {
    await client.getTask({ id: unknownId() }, { signal });
    return "a task that does not exist was found";
  } catch (thrown) {
    const { reason, message } = clientError(thrown);
    return alive.has(reason) ? undefined : `${reason}: ${excerpt(message)}`;
  }
}

export interface Line {
  /** Empty for the card. */
  readonly binding: string;
  /** Version of the interface; empty for the card. */
  readonly version: string;
  readonly url: string;
  readonly check: string;
  readonly section: string;
  readonly requirement: string;
  readonly mend: string;
  readonly isAdvice: boolean;
  readonly result: "pass" | "fail" | "skipped";
  readonly detail: string | null;
}

/** Subject of a finding: an interface, or the card. */
export type Subject = Pick<Line, "binding" | "version" | "url">;

/** A check without its code. */
export type Rule = Pick<Check, "name" | "section" | "requirement" | "mend" | "isAdvice">;

export function lineOf(subject: Subject, rule: Rule, finding: Finding): Line {
  const { name, section, requirement, mend, isAdvice = false } = rule;
  const of = { ...subject, check: name, section, requirement, mend, isAdvice };
  if (finding === undefined) return { ...of, result: "pass", detail: null };
  if ("fault" in finding) return { ...of, result: "fail", detail: finding.fault };
  return { ...of, result: "skipped", detail: finding.skipped };
}
