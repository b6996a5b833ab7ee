import { randomUUID } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { FirstPythonClient, javaScriptHost, pythonHost } from "../../../test/version/v0.1/first-hosts.js";
import { callers, type SeenArtifact, type SeenTask, type Served, streamIn, taskIn } from "./callers.js";

/** A message of a user, and what the agent has to answer. */
export interface Exchange {
  readonly says: string;
  /** In the words of 0.3. Default: completed. */
  readonly state?: string;
  /** Text of the status. */
  readonly text?: string;
  /** Texts of the artifacts, by name. */
  readonly artifacts?: Readonly<Record<string, string>>;
  /** Texts of statuses on the way, which a stream shows. */
  readonly progress?: readonly string[];
}

/**
 * A conversation in one context. A message goes to the task of the one before it if that waits for an answer;
 * otherwise it begins a new task.
 */
export interface Talk {
  readonly title: string;
  readonly exchanges: readonly Exchange[];
}

/** Has each conversation over every binding and version, sent and streamed, and with the hosts of the first repository. */
export function describeTalks(served: () => Served, talks: readonly Talk[]): void {
  describeHosts(served, talks);
  describe.each(callers.map((caller) => [caller.name, caller] as const))("a client of %s", (_, caller) => {
    for (const { title, exchanges } of talks) {
      it(`${title}, sent`, async () => {
        const contextId = randomUUID();
        let taskId: string | undefined;
        for (const exchange of exchanges) {
          const task = await caller.send(served(), { text: exchange.says, contextId, taskId });
          expectTask(task, exchange, contextId);
          taskId = isWaiting(task.state) ? task.id : undefined;
        }
      });

      it(`${title}, streamed`, async () => {
        const contextId = randomUUID();
        let taskId: string | undefined;
        for (const { says, state = "completed", text, artifacts, progress } of exchanges) {
          const { statuses, pieces, ...stream } = await caller.stream(served(), { text: says, contextId, taskId });
          expect(statuses.at(-1), says).toEqual({ state, text: text ?? expect.any(String) });
          if (progress !== undefined) {
            const working = statuses.filter((status) => status.state === "working" && status.text !== "");
            expect(
              working.map((status) => status.text),
              says,
            ).toEqual(progress);
          }
          if (artifacts !== undefined) expect(joined(pieces), says).toEqual(artifacts);
          taskId = isWaiting(state) ? stream.taskId : undefined;
        }
      });
    }
  });
}

/**
 * The host in Python begins a task of its session for each message, unless one waits for an answer; it fails at answers
 * that its types do not allow. The host in JavaScript sends every message to one task, also after its end.
 */
function describeHosts(served: () => Served, talks: readonly Talk[]): void {
  it.each(talks.map((talk) => [talk.title, talk] as const))("the first Python host: %s", async (_, { exchanges }) => {
    const session = randomUUID();
    const client = await FirstPythonClient.resolve(served().url);
    const printed = await pythonHost(
      client,
      exchanges.map(({ says }) => says),
      { session },
    );
    for (const [i, { task }] of printed.entries()) expectTask(taskIn(task as JsonObject), exchanges[i], session);
  });

  it.each(talks.map((talk) => [talk.title, talk] as const))(
    "the first JavaScript host: %s",
    async (_, { exchanges }) => {
      const answers = await javaScriptHost(
        served().url,
        exchanges.map(({ says }) => says),
      );
      expect(new Set(answers.flat().map(({ id }) => id)).size).toBe(1);
      for (const [i, events] of answers.entries()) {
        const { statuses, pieces } = streamIn(events as JsonObject[]);
        const { says, state = "completed", text, artifacts } = exchanges[i] as Exchange;
        expect(statuses.at(-1), says).toEqual({ state, text: text ?? expect.any(String) });
        if (artifacts !== undefined) expect(joined(pieces), says).toEqual(artifacts);
      }
    },
  );
}

function expectTask(task: SeenTask, exchange: Exchange | undefined, contextId: string): void {
  const { says, state = "completed", text, artifacts } = exchange as Exchange;
  expect([task.contextId, task.state], says).toEqual([contextId, state]);
  if (text !== undefined) expect(task.text, says).toBe(text);
  if (artifacts === undefined) return;
  expect(Object.fromEntries(task.artifacts.map(({ name, text }) => [name, text])), says).toEqual(artifacts);
}

const isWaiting = (state: string): boolean => state === "input-required" || state === "auth-required";

/** Texts of artifacts by name, each joined of its pieces. */
function joined(pieces: readonly SeenArtifact[]): Record<string, string> {
  const names = new Map(pieces.toReversed().map(({ id, name }) => [id, name]));
  const texts: Record<string, string> = {};
  for (const { id, text } of pieces) {
    const name = names.get(id) ?? "";
    texts[name] = (texts[name] ?? "") + text;
  }
  return texts;
}
